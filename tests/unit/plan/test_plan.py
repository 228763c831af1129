"""The whole road on the demonstration log, and on logs that lead nowhere."""

import datetime as dt
import json
import random

import numpy as np
import pytest

from analytic import optimize, solve
from crawltwin.cli.main import main
from crawltwin.cli.output import console
from crawltwin.cli.tables.plan import show_plan
from crawltwin.model import ScaledStream, Scenario, ThinnedStream, ThresholdPolicy
from crawltwin.pages.notebook.choice import PICTURES
from crawltwin.pages.plan import plan_report
from crawltwin.plan import demo_trace
from crawltwin.plan.decide import Plan, plan
from crawltwin.plan.evidence.unsuitable import Unsuitable
from crawltwin.plan.prepare import default_cost, processing_rate_of
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.wording import instruction
from crawltwin.report import render
from fitting import FitOptions
from validate.logs.agreement import compare_fitted_log

QUICK = {"redraws": 12, "budget": 300_000, "margin": 0.2}


def _settings(**changes):
    settings = {
        "robots": 4,
        "capacity": 20,
        "processing_rate": demo_trace.PROCESSING_RATE,
        "obsolescence_mean": 2000.0,
        "cost": demo_trace.COST,
        "urls": 200,
        "timeout": 300.0,
    }
    return PlanSettings(**{**settings, **QUICK, **changes})


@pytest.fixture(scope="module")
def demo_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "demo.crawl.log"
    path.write_text(demo_trace.demo_log(1, 12_000))
    return path


@pytest.fixture(scope="module")
def found(demo_path):
    return plan(demo_path, _settings(), options=FitOptions(methods=("map2", "erlang"), repetitions=20, refits=0))


def test_the_recommended_policy_is_within_a_percent_of_the_true_optimum(found):
    truth = demo_trace.true_scenario()
    best = optimize(truth).best.cost
    mine = solve(truth.replace(policy=found.optimum.best.policy)).measures["cost"]
    assert mine <= 1.01 * best


def test_a_plan_shows_itself_in_a_notebook(found):
    assert f"{found.verdict.word}. Run " in repr(found)
    assert "time until a page is indexed" in found._repr_html_()
    assert set(found.to_frame()["unit"]) == {"share", "s", "pages/s", ""}
    assert all("<svg" in found.plot(name).svg for name in PICTURES["Plan"])


def test_every_step_was_done(found):
    assert isinstance(found, Plan)
    assert found.missing == ()
    assert found.certificate.threshold_is_best
    assert found.check.verdict != "different"
    assert {one.measure for one in found.replay.predictions} >= {"loss_probability", "obsolescence_probability"}
    assert found.doubt.redraws == 12
    assert found.doubt.cost.low < found.doubt.cost.high
    assert len(found.sweeps) == 4
    assert found.backlog.list.urls == 200
    assert 0 < found.backlog.passed < 1


def test_the_scenario_is_what_the_operator_said(found):
    scenario = found.scenario
    assert isinstance(scenario.arrivals, ThinnedStream)
    assert scenario.arrivals.keep == (0.25, 0.5, 0.75, 1.0)
    assert scenario.obsolescence.mean == pytest.approx(2000)
    assert scenario.service.mean == pytest.approx(
        np.mean(demo_trace.demo_pages(1, 12_000)[1]) / demo_trace.PROCESSING_RATE, rel=1e-6
    )
    origins = {one.name: one.source for one in found.inputs}
    assert origins["indexing time"] == origins["cost of loss"] == "given"
    assert origins["arrivals"] == "log"
    assert origins["admission"] == "default"


def test_weights_are_swept_as_optimize_would(found):
    sweep = found.sweeps[-1]
    row = sweep.rows[5]
    changed = found.optimum.scenario
    for axis in sweep.axes:
        changed = axis.change(changed, row["point"][axis.name])
    again = optimize(changed)
    assert row["best"]["cost"] == pytest.approx(again.best.cost, rel=1e-12)
    assert tuple(row["best"]["robots"]) == again.best.robots


def test_pauses_are_named(found):
    assert any(sentence.startswith("Paused 2 days of") and "1 pause" in sentence for sentence in found.remarks)


def test_a_model_that_is_wrong_is_found_out_by_the_replay(found):
    # Planted fault: a model in which pages come at half the pace of the log.
    wrong = found.scenario.replace(
        arrivals=ThinnedStream(found.scenario.arrivals.stream.scaled(0.5), found.scenario.arrivals.keep)
    )
    rate = processing_rate_of(found.fit, found.scenario.service)
    shown = compare_fitted_log(found.fit, wrong, processing_rate=rate, recorded_robots=4, seed=1)
    assert not next(one for one in shown.predictions if one.measure == "arrival_rate").inside
    assert not shown.trusted


def test_the_report_is_whole(found):
    files = render(plan_report(found, "crawltwin plan demo.crawl.log"))
    page = files["report.html"]
    assert instruction(found.optimum.best.policy, 20) in page
    for part in (
        "Today and recommended",
        "What the plan rests on",
        "How sure is that",
        "Simulation and replay",
        "What polling costs",
        "What if",
        "The log and its model",
    ):
        assert part in page
    data = json.loads(files["report.json"])
    assert data["data"]["policy"]["robots"] == list(found.optimum.best.robots)


def test_terminal_page_and_json_begin_with_the_verdict(found, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    console.cache_clear()
    show_plan(found)
    said = capsys.readouterr().out
    console.cache_clear()
    words = found.verdict.in_words()
    assert " ".join(said.split()).startswith(words)
    assert said.index("Run ") < said.index("today and recommended") < said.index("what this rests on")
    assert "`" not in said and "**" not in said and "…" not in said
    assert max(map(len, said.splitlines())) <= 80
    report = plan_report(found, "crawltwin plan demo.crawl.log")
    assert report.summary[0].startswith(f"**{found.verdict.word}**: ")
    assert report.sections[0].title == "Today and recommended"
    assert all(words[0].isupper() and words.endswith(".") for words in report.unconfirmed)
    assert " 0.0%" not in said  # a share that is not 0 is not told as 0
    assert "](explore.html)" in str(report.sections)
    answer = found.to_json()
    assert next(iter(answer)) == "verdict"
    assert answer["verdict"]["exit_code"] == found.verdict.exit_code


def test_today_is_the_crawl_of_the_log(found):
    # All four robots always, in the model of the log: the stream as it was fitted, nothing thinned.
    lines = {line.question.measure: line for line in found.compared}
    assert lines["mean_active_robots"].today.value == pytest.approx(4)
    assert lines["arrival_rate"].today.value == pytest.approx(found.fit.process.page_rate, rel=1e-9)
    assert all(line.today.low <= line.today.value <= line.today.high for line in found.compared)
    assert lines["loss_probability"].recommended.value < lines["loss_probability"].today.low


def test_no_term_of_the_demonstration_decides_alone(found):
    assert found.terms[0].share < 0.6
    assert found.terms[-1].share > 0.05
    assert not any("decides alone" in words for words in found.warnings)


def test_a_plan_without_the_indexing_time_is_provisional(demo_path):
    quick = FitOptions(methods=("map2",), repetitions=20, refits=0)
    settings = _settings(processing_rate=None, robots=2, capacity=18, redraws=0, what_if=False, urls=None)
    other = plan(demo_path, settings, options=quick)
    missing = {one.option: one for one in other.assumed}
    assert set(missing) == {"--service-mean"}
    assert missing["--service-mean"].moves
    assert "Time the indexer" in missing["--service-mean"].measure
    assert other.verdict.word in ("PROVISIONAL", "NOT TRUSTED")
    if other.verdict.word == "PROVISIONAL":
        assert "the indexing time is assumed" in other.verdict.in_words()


def test_a_log_of_fewer_robots_scales_and_says_that_it_cannot_be_replayed(demo_path):
    # No redraws, no sweeps: only what changes is computed.
    quick = FitOptions(methods=("poisson",), repetitions=20, refits=0)
    other = plan(demo_path, _settings(robots=3, robots_in_log=1, redraws=0, what_if=False, urls=None), options=quick)
    assert isinstance(other.scenario.arrivals, ScaledStream)
    assert other.replay is None
    assert any("replaying the log" in words for words in other.missing)
    assert any("no resampled traces" in words for words in other.missing)
    # Poisson gaps fit this log badly, and the plan does not hide it.
    assert not other.trusted


def test_the_default_weights_do_not_depend_on_the_unit_of_time(found):
    base = found.scenario.replace(policy=None)
    rate, mean = base.arrivals.mode(4).page_rate, base.service.mean
    seconds = base.replace(cost=default_cost(rate, mean, 4))
    hours = Scenario(
        capacity=20,
        arrivals=ThinnedStream(base.arrivals.stream.scaled(3600.0), base.arrivals.keep),
        service=base.service.scaled(3600.0),
        obsolescence=base.obsolescence.scaled(3600.0),
        cost=default_cost(3600 * rate, mean / 3600, 4),
    )
    one, two = optimize(seconds).best, optimize(hours).best
    assert (one.robots, one.thresholds) == (two.robots, two.thresholds)
    assert one.cost == pytest.approx(two.cost, rel=1e-9)


def _line(seconds: float, index: int) -> str:
    now = dt.datetime(2025, 3, 3, 6, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds)
    stamp = now.strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"
    return f"{stamp}   200       {1000 + index} http://a.example/{index} L http://a.example/ text/html #001 - - - -\n"


def test_a_fixed_politeness_delay(tmp_path, capsys):
    path = tmp_path / "fixed.log"
    path.write_text("".join(_line(5.0 * k, k) for k in range(300)))
    report = tmp_path / "report"
    assert main(["plan", str(path), "--service-mean", "1", "--json", "--report", str(report)]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["suitable"] is False
    said = " ".join(answer["can_be_concluded"])
    assert "Pages come every 5 s" in said
    assert "busy 20% of the time" in said
    assert "1.25 s" in said  # the mean indexing time over 0.8
    assert "What cannot be concluded" in (report / "report.html").read_text()
    assert not (report / "policy.json").exists()


def test_everything_in_one_second(tmp_path):
    path = tmp_path / "one.log"
    path.write_text("".join(_line(0.0, k) for k in range(300)))
    found = plan(path, PlanSettings(robots=2))
    assert isinstance(found, Unsuitable)
    assert "would help" in found._repr_html_()
    assert "one time only" in " ".join(found.can)
    assert "milliseconds" in " ".join(found.instead)


def test_two_hours_of_pause_in_ten_minutes_of_crawl(tmp_path):
    rng = random.Random(3)
    now, lines = 0.0, []
    for k in range(300):
        now += rng.expovariate(0.5) + (7200 if k == 150 else 0)
        lines.append(_line(now, k))
    path = tmp_path / "pause.log"
    path.write_text("".join(lines))
    found = plan(
        path,
        PlanSettings(robots=2, capacity=8, service_mean=1.0, what_if=False, **QUICK),
        options=FitOptions(methods=("poisson", "map2"), repetitions=20, refits=0),
    )
    assert isinstance(found, Plan)
    # The rate is that of the crawl while it runs, 0.5 a second, not one page in half a minute.
    assert found.fit.numbers["page_rate"].value == pytest.approx(0.5, rel=0.2)
    assert found.verdict.word == "PROVISIONAL"
    assert "stood still for 9" in found.verdict.in_words()
    assert "only 29" in found.verdict.in_words()


def test_the_command_writes_what_it_says(demo_path, tmp_path, capsys):
    config = tmp_path / "plan.toml"
    config.write_text(
        "robots = 2\ncapacity = 6\nprocessing_rate = 6000\nredraws = 0\nwhat_if = false\nbudget = 100000\n"
        "margin = 0.3\n"
        "[cost]\nloss = 200\nstarvation = 100\n"
    )
    words = ["plan", str(demo_path), "--config", str(config), "--out", str(tmp_path / "s.toml")]
    code = main([*words, "--policy", str(tmp_path / "p.json"), "--report", str(tmp_path / "r"), "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert code == (0 if answer["trusted"] else 1)
    scenario = Scenario.read(tmp_path / "s.toml")
    assert (scenario.cost.loss, scenario.cost.starvation) == (200, 100)
    # Weights that are not named keep their defaults: all robots on cost 10.
    assert scenario.cost.robots == 10 / 2
    assert isinstance(scenario.policy, ThresholdPolicy)
    table = json.loads((tmp_path / "p.json").read_text())["table"]
    assert table == answer["policy"]["table"] == [scenario.policy.robots_at(level) for level in range(7)]
    for name in ("report.html", "report.md", "report.json", "explore.html", "policy.json", "crawlpolicy.py"):
        assert (tmp_path / "r" / name).stat().st_size > 100


@pytest.mark.slow
def test_the_whole_demonstration(tmp_path):
    path = tmp_path / "demo.crawl.log"
    path.write_text(demo_trace.demo_log())
    found = plan(path, _settings(redraws=30, budget=5_000_000, margin=0.1))
    truth = demo_trace.true_scenario()
    mine = solve(truth.replace(policy=found.optimum.best.policy)).measures["cost"]
    assert mine <= 1.01 * optimize(truth).best.cost
    assert found.replay.trusted
    assert found.trusted


@pytest.mark.slow
def test_a_real_log_alone(shared_logs):
    found = plan(shared_logs / "ukwa_example.crawl.log", PlanSettings(robots=4, capacity=20), workers=2)
    assert isinstance(found, Plan)
    assert found.missing == ()
    inside = next(one for one in found.replay.predictions if one.measure == "loss_probability")
    assert inside.inside or not found.trusted
