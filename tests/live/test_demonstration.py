"""The demonstration's answer, table and page from played crawls; what is refused before anything is started."""

import json

import pytest

from crawltwin.cli.main import main
from crawltwin.cli.tables.live import show_demonstration
from crawltwin.live.demo.demonstration import Calibration, Demonstration, calibrate, course
from crawltwin.live.demo.fitted import fit_record
from crawltwin.live.demo.predictions import BAR, Judged, chosen_policies, judge_all, predict
from crawltwin.live.demo.settings import WEIGHTS, DemoSettings
from crawltwin.live.measured import measure
from crawltwin.model import ThresholdPolicy
from crawltwin.model.errors import InputError
from crawltwin.pages.live_crawl.demonstration import live_report
from crawltwin.report import render
from tests.live.made_record import made_record
from tests.live.test_fitted import _solver

ALWAYS = ThresholdPolicy([4])


@pytest.fixture(scope="module")
def found():
    first = made_record(ALWAYS, 120.0, 1)
    fitted = fit_record(first, 4.0)
    recommended = ThresholdPolicy([4, 1], [2])
    policies = chosen_policies(recommended, 4, 10, 1.0)
    before, *predictions = predict(fitted, [ALWAYS, *policies], WEIGHTS, _solver)
    records = [made_record(policy, 60.0, 10 + k) for k, policy in enumerate(policies)]
    seen = [measure(record, 4.0, weights=WEIGHTS) for record in records]
    courses = [course(record, policy) for record, policy in zip([first, *records], [ALWAYS, *policies], strict=True)]
    return Demonstration(
        settings=DemoSettings(),
        calibration=Calibration(0.02, 0.1, 20_000.0),
        fitted=fitted,
        first=Judged(before, measure(first, 4.0, weights=WEIGHTS), ()),
        judged=tuple(judge_all(predictions, seen, 0.1, 0.95)),
        recommended=recommended,
        courses=tuple(courses),
        busy=1.0,
        seconds=420.0,
    )


def test_the_answer_is_plain_json(found):
    answer = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert len(answer["policies"]) == 5
    for policy in answer["policies"]:
        assert set(policy["within"]) == set(BAR)
        for name in BAR:
            row = policy["measures"][name]
            assert row["low"] <= row["value"] <= row["high"] and row["predicted"] > 0
    saved = answer["cost"]
    assert saved["saved"] == pytest.approx(saved["always"] - saved["recommended"])
    assert answer["verdict"] in ("equivalent", "different", "inconclusive")


def test_the_bar_is_what_the_table_says(found):
    answer = found.to_json()
    inside = [
        all(row["within"].values()) for row in answer["policies"] if not {"resume", "check_every"} & set(row["policy"])
    ]
    assert len(inside) == 3
    assert answer["within_bar"] == all(inside)


def test_the_page_shows_predictions_pictures_and_cost(found):
    files = render(live_report(found, "crawltwin live demo"))
    page = files["report.html"]
    for words in ("Predicted against measured", "Backlog and robots over time", "What was saved", "4,1@2"):
        assert words in page
    assert {name for name in files if name.endswith(".svg")} == {
        "figures/predicted-measured.svg",
        "figures/course-always.svg",
        "figures/course-recommended.svg",
    }


def test_every_verdict_that_is_not_equivalent_is_listed_at_the_end(found):
    open_ones = [one for judged in found.judged for one in judged.verdicts if one.word != "equivalent"]
    assert len(live_report(found, "crawltwin live demo").unconfirmed) == len(open_ones)


def test_the_table_shows_each_policy(found, capsys):
    show_demonstration(found)
    shown = capsys.readouterr().out
    for one in found.judged:
        assert one.prediction.policy.short in shown


def test_calibration_times_real_work():
    small = calibrate(1, 20_000)
    assert 0 < small.work <= small.service and small.bytes_per_second > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--minutes", "0"], "minutes must be"),
        (["--capacity", "1"], "capacity must be"),
        (["--robots", "99"], "robots must be"),
        (["--confidence", "nan"], "confidence must be"),
    ],
)
def test_wrong_options_are_refused(arguments, words, capsys):
    assert main(["live", "demo", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_all_wrong_settings_are_told_at_once():
    with pytest.raises(InputError) as caught:
        DemoSettings(minutes=-1, load=0, margin=2)
    assert len(caught.value.faults) == 3
