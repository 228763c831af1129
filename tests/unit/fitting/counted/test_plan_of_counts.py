"""`fit` and `plan` of a counter, from the command line: the keys of any log, what counts cannot tell, no replay."""

import json

import numpy as np
import pytest

from analytic import optimize
from crawltwin.cli.main import main
from crawltwin.model import BMAP, Scenario, ThresholdPolicy
from crawltwin.plan.prepare import scenario_of
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.what_if.counted import other_reading
from fitting import FitOptions, fit


@pytest.fixture
def export(tmp_path):
    rng = np.random.default_rng(9)
    totals = np.cumsum(rng.poisson(np.repeat([4, 12, 4, 12], 40)))
    values = [[1_714_550_400 + 60 * k, str(total)] for k, total in enumerate(totals)]
    series = {"metric": {"__name__": "pages_total"}, "values": values}
    path = tmp_path / "counts.json"
    path.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [series]}}))
    return path


def test_fit_of_counts(export, tmp_path, capsys):
    out, report = tmp_path / "scenario.toml", tmp_path / "report"
    words = ["--model", "poisson", "--service-mean", "5", "--out", str(out), "--report", str(report)]
    assert main(["fit", str(export), "--json", *words]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["chosen"]["method"] == "poisson"
    assert answer["chosen"]["rate_ratio"] == pytest.approx(1)
    assert answer["replay"] is None
    assert len(answer["cannot_tell"]) == 6
    assert Scenario.read(out).arrivals.mode(1).page_rate == pytest.approx(answer["chosen"]["page_rate"])
    page = (report / "report.html").read_text()
    assert "What counts cannot tell" in page
    assert main(["fit", str(export), "--model", "poisson"]) == 0
    assert "Counts cannot tell" in capsys.readouterr().out


@pytest.mark.parametrize(("capacity", "fills"), [(8, True), (40, False)])
def test_plan_of_counts_is_provisional_and_does_not_pretend_to_replay(export, capsys, capacity, fills):
    asked = ["--robots", "2", "--capacity", str(capacity), "--service-mean", "6s", "--obsolescence-mean", "1h"]
    quick = ["--quick", "--model", "poisson", "--cost", "loss=500", "--workers", "1", "--budget", "50000"]
    code = main(["plan", str(export), "--json", *asked, *quick])
    answer = json.loads(capsys.readouterr().out)
    reasons = " ".join(answer["verdict"]["reasons"])
    assert answer["verdict"]["word"] != "TRUSTED"
    assert code == answer["verdict"]["exit_code"]
    assert answer["replay"] is None
    assert any("a replay must have the time of every page; got counts" in words for words in answer["missing"])
    assert len(answer["cannot_tell"]) == 6
    if answer["verdict"]["word"] == "PROVISIONAL":
        assert ("can fill within one interval of 60 s" in reasons) == fills


def test_counters_that_allow_no_plan(tmp_path, capsys):
    text = "".join(
        f"2017-07-31 19:{k:02d}:00 [scrapy.extensions.logstats] INFO: Crawled {7 * k} pages (at 7 pages/min), "
        "scraped 0 items (at 0 items/min)\n"
        for k in range(9)
    )
    path = tmp_path / "scrapy.log"
    path.write_text(text)
    assert main(["plan", str(path), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert not answer["suitable"]
    assert "got 8 intervals with 56 pages" in answer["reason"]
    assert main(["fit", str(path)]) == 2
    assert "at least 30 intervals" in capsys.readouterr().err


@pytest.mark.slow
def test_the_other_reading_of_counts_is_told_with_what_it_may_cost(tmp_path):
    """Batches of one to four pages: single pages in short bursts are as likely, and ask for another policy."""
    rng = np.random.default_rng(4)
    drawn = BMAP.poisson(20 / 60 / 2.5, [0.25] * 4).sample(rng, 8_000)
    totals = np.concatenate([[0], np.cumsum(drawn.sizes)])[np.searchsorted(drawn.times, np.arange(400) * 60.0)]
    lines = "".join(f"{1_714_550_400 + 60 * k},{total}\n" for k, total in enumerate(totals))
    path = tmp_path / "counts.csv"
    path.write_text("time,pages_total\n" + lines)
    settings = PlanSettings(robots=3, capacity=10, service_mean=2.2, obsolescence_mean=3600.0)
    fitted = fit(path, options=FitOptions(methods=("poisson", "mmpp2"), repetitions=20, refits=0))
    assert fitted.chosen.method == "batched"
    scenario = scenario_of(fitted, settings)
    chosen = scenario.replace(policy=optimize(scenario).best.policy)
    found = other_reading(fitted, chosen, settings)
    assert not found.batched and found.model.startswith("MMPP")
    assert found.above > 0 and found.best != chosen.policy.short
    assert "had pages come one by one, in bursts shorter than an interval" in found.in_words()
    # Under the policy that the other reading asks for nothing is lost there.
    there = other_reading(fitted, scenario.replace(policy=ThresholdPolicy.from_text(found.best)), settings)
    assert there.above == pytest.approx(0, abs=1e-9)
