"""The whole road: a log in, a result and a scenario out, in the contract's shape."""

import dataclasses
import json
import math

import numpy as np
import pytest

from crawltwin.cli.main import main
from crawltwin.model import InputError, Interval, Scenario
from crawltwin.pages.fit import fit_report
from crawltwin.report import Table, render
from fitting import FitOptions, fit
from validate.logs.losses import LossAgreement, LossRow

HOSTILE = "http://a.org/<script>alert(1)</script>**x**[y](https://z)`q`"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A Heritrix log of 3,000 deliveries with a known law: hyperexponential gaps of mean 1.9 s, Erlang-2 sizes."""
    rng = np.random.default_rng(1)
    gaps = rng.exponential(np.where(rng.random(3000) < 0.1, 10.0, 1.0))
    gaps[1500] = 50_000.0
    sizes = rng.gamma(2.0, 5000.0, 3000)
    times = 1_460_000_000 + np.cumsum(gaps)
    path = tmp_path_factory.mktemp("logs") / "crawl<b>.log"
    with path.open("w") as stream:
        for t, size in zip(times, sizes, strict=True):
            stamp = np.datetime64(round(t * 1000), "ms").astype(str)
            packed = stamp.translate({ord(c): None for c in "-T:."})
            stream.write(f"{stamp}Z 200 {size:.0f} {HOSTILE} L http://a.org/ text/html #001 {packed}+0 sha1:X - -\n")
        stream.write(f"{HOSTILE} is no row\n")
    return path


@pytest.fixture(scope="module")
def result(log):
    return fit(log, options=FitOptions(repetitions=50, refits=10))


def test_what_was_read_is_told(result):
    trace = result.to_json()["trace"]
    assert trace["format"] == "heritrix"
    assert trace["rows"] == trace["deliveries"] == 3000
    assert trace["broken"] == 1
    assert trace["resolution"] == 0.001
    assert trace["cleaning"]["pauses"] == 1
    assert [s["pages"] for s in trace["cleaning"]["stretches"]] == [1500, 1500]
    assert trace["moments"]["mean_gap"]["value"] == pytest.approx(1.9, rel=0.12)
    assert trace["moments"]["mean_gap"]["low"] < 1.9 < trace["moments"]["mean_gap"]["high"]


def test_the_answer_has_the_contracts_shape(result):
    answer = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert {"trace", "batch_sizes", "candidates", "chosen"} <= set(answer)
    assert sum(answer["batch_sizes"]) == pytest.approx(1)
    for candidate in answer["candidates"]:
        assert {"name", "log_likelihood", "aic", "bic", "order"} <= set(candidate)
        assert candidate["aic"] == pytest.approx(2 * candidate["parameters"] - 2 * candidate["log_likelihood"])
        gaps = answer["trace"]["gaps"]
        assert candidate["bic"] == pytest.approx(
            candidate["parameters"] * np.log(gaps) - 2 * candidate["log_likelihood"]
        )
    assert answer["chosen"]["name"] in [candidate["name"] for candidate in answer["candidates"]]
    assert answer["chosen"]["bic"] == min(c["bic"] for c in answer["candidates"] if abs(c["mean_ratio"] - 1) <= 0.1)


def test_a_renewal_trace_is_known_for_one(result):
    """The gaps are independent and hyperexponential; the fit must have their mean and scv, and no correlation."""
    assert result.goodness.verdict in ("good", "fair")
    assert result.process.interval_moment(1) == pytest.approx(result.numbers["mean_gap"].value, rel=0.02)
    scv = 2 * (0.9 + 0.1 * 100) / 1.9**2 - 1
    assert result.process.interval_variance / result.process.interval_moment(1) ** 2 == pytest.approx(scv, rel=0.25)
    assert abs(result.process.correlation(1)) < 0.1


def test_numbers_do_not_depend_on_the_unit_or_on_the_run(log, result, tmp_path):
    again = fit(log, options=FitOptions(repetitions=50, refits=10))
    first, second = result.to_json(), again.to_json()
    for answer in (first, second):
        answer.pop("seconds")
        for entry in (*answer["candidates"], answer["chosen"]):
            entry.pop("seconds")
    assert first == second
    slow = tmp_path / "slow"
    seconds = result.log.seconds
    slow.write_text("\n".join(f"{1000 * t:.3f}" for t in seconds))
    other = fit(slow, options=FitOptions(repetitions=50, refits=10))
    assert other.chosen.name == result.chosen.name
    shift = len(result.batches.segments) * np.log(1000)
    assert other.chosen.log_likelihood == pytest.approx(result.chosen.log_likelihood - shift, rel=1e-6)
    assert other.process.page_rate == pytest.approx(result.process.page_rate / 1000, rel=1e-6)


def test_the_scenario_is_what_was_asked_for(result, tmp_path):
    scenario = result.scenario(capacity=7, robots_in_log=2, robots=4, processing_rate=1e5, obsolescence_mean=2000.0)
    assert scenario.capacity == 7
    assert scenario.arrivals.mode(2).page_rate == pytest.approx(result.process.page_rate)
    assert scenario.arrivals.mode(4).page_rate == pytest.approx(2 * result.process.page_rate)
    mean_size = np.nanmean(result.log.size)
    assert scenario.service.mean == pytest.approx(mean_size / 1e5, rel=1e-6)
    assert scenario.service.scv == pytest.approx(0.5, rel=0.1)
    assert scenario.obsolescence.mean == pytest.approx(2000)
    for name in ("s.toml", "s.json"):
        scenario.write(tmp_path / name)
        assert Scenario.read(tmp_path / name) == scenario
    assert result.scenario().service.mean * result.process.page_rate == pytest.approx(0.8)
    assert result.scenario(service_mean=3.0).service.mean == pytest.approx(3.0)
    with pytest.raises(InputError, match="processing rate and service mean must not both be given"):
        result.scenario(processing_rate=1, service_mean=1)
    with pytest.raises(InputError, match="robots must be at least those of the log"):
        result.scenario(robots_in_log=3, robots=2)


def test_options_are_checked_all_at_once():
    with pytest.raises(InputError) as caught:
        FitOptions(criterion="x", third_moment="y", max_branches=0)
    assert len(caught.value.faults) == 3


def test_the_papers_procedure_is_one_choice(log):
    result = fit(log, options=FitOptions(model="map2", methods=("poisson", "map2"), repetitions=20, refits=0))
    assert result.chosen.method == "map2"
    assert result.process.phases == 2


def test_the_report_escapes_what_the_log_says(result):
    page = render(fit_report(result))["report.html"]
    text = page.decode() if isinstance(page, bytes) else page
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert 'href="https://z"' not in text
    assert text.count("<svg") >= 7


def run(capsys, *words):
    code = main([str(word) for word in words])
    return code, *capsys.readouterr()


def test_the_command_writes_and_answers(capsys, log, tmp_path):
    out = tmp_path / "scenario.toml"
    code, output, _ = run(capsys, "fit", log, "--json", "--out", out, "--report", tmp_path / "r", "--robots", "2")
    assert code == 0
    answer = json.loads(output)
    scenario = Scenario.read(out)
    assert scenario == Scenario.from_mapping(answer["scenario"])
    assert (tmp_path / "r" / "report.html").exists()
    assert any("80%" in words for words in answer["warnings"])
    code, output, _ = run(capsys, "fit", log, "--model", "poisson")
    assert code == 0
    assert "Verdict" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.log"], "must be a readable file; got No such file"),
        (["{log}", "--pause", "-1"], "pause must be a positive number"),
        (["{log}", "--timezone", "Nowhere"], "timezone must be a name"),
        (["{log}", "--pattern", "("], "pattern must be a regular expression"),
    ],
)
def test_bad_input_is_exit_code_2_and_writes_nothing(capsys, log, tmp_path, words, message):
    out = tmp_path / "never.toml"
    code, output, errors = run(capsys, "fit", *(word.replace("{log}", str(log)) for word in words), "--out", out)
    assert code == 2
    assert output == ""
    assert message in errors
    assert "Traceback" not in errors
    assert not out.exists()


@pytest.mark.parametrize(("verdict", "count"), [("equivalent", 0), ("inconclusive", 1), ("different", 1)])
def test_losses_that_were_not_confirmed_stand_where_the_page_says_what_was_not(result, verdict, count):
    replayed = LossAgreement(20, (LossRow(0.8, 0.38, 0.31, 0.44, 0.381, 0.0349, verdict),), 1, 1000)
    told = fit_report(result, replayed=replayed).unconfirmed
    assert sum("0.3810 against 0.3800 (0.3100 to 0.4400) at load 0.8" in sentence for sentence in told) == count


def test_a_table_promises_intervals_only_where_it_has_some(result):
    def last_table(found):
        tables = [block for block in fit_report(found).every_block() if isinstance(block, Table)]
        return next(one for one in tables if one.caption.startswith("Numbers of the fitted process"))

    bare = {name: Interval(one.value, math.nan, math.nan, 0.95) for name, one in result.model_numbers.items()}
    assert "refits" in last_table(result).caption
    table = last_table(dataclasses.replace(result, model_numbers=bare))
    assert (table.caption, table.columns[1].name) == ("Numbers of the fitted process, without intervals", "value")
