"""A clock that is coarse against the pace: both readings, and the policy that stands them."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pytest

from analytic import optimize, solve
from crawltwin.cli.output import console
from crawltwin.cli.tables.plan import show_plan
from crawltwin.model import ScaledStream, ThresholdPolicy
from crawltwin.pages.plan import plan_report
from crawltwin.plan.choosing import choose_within
from crawltwin.plan.decide import plan
from crawltwin.plan.evidence.clock import ClockChoice, ReadLog, reading_taken
from crawltwin.plan.limits import Limits
from crawltwin.plan.settings import PlanSettings
from crawltwin.report import render
from fitting import FitOptions, fit, read_log
from validate.logs.agreement import compare_fitted_log
from validate.logs.trace import trace_of_fit

SETTINGS = PlanSettings(
    robots=2, capacity=8, service_mean=0.032, obsolescence_mean=1.0, redraws=0, what_if=False, margin=0.3, budget=50_000
)
FEW = FitOptions(methods=("poisson", "renewal"), repetitions=20, refits=0)
RATE = 25.0


def scrapy_log(path, fraction=False):
    """Single pages at 25 per second as Scrapy logs them, with a clock of one second, or of one millisecond."""
    begin = dt.datetime(2024, 3, 1, 8, tzinfo=dt.UTC)
    lines = []
    for number, second in enumerate(np.cumsum(np.random.default_rng(1).exponential(1 / RATE, 8000))):
        at = begin + dt.timedelta(seconds=float(second))
        time = at.strftime("%Y-%m-%d %H:%M:%S") + (f",{at.microsecond // 1000:03d}" if fraction else "")
        lines.append(f"{time} [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/{number}> (referer: None)\n")
    path.write_text("".join(lines))
    return read_log(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clock")


@pytest.fixture(scope="module")
def coarse(folder):
    return scrapy_log(folder / "coarse.log")


@pytest.fixture(scope="module")
def found(coarse):
    return plan(coarse, SETTINGS, options=FEW)


@pytest.fixture(scope="module")
def logs(coarse, found):
    """The spread reading as the plan has it, and the batches."""
    batch = fit(coarse, options=FitOptions(methods=("renewal",), repetitions=20, refits=0, ticks="batch"))
    other = found.scenario.replace(arrivals=type(found.scenario.arrivals)(batch.process, found.scenario.arrivals.keep))
    return ReadLog("spread", found.fit, found.scenario.replace(policy=None)), ReadLog("batch", batch, other)


def test_a_coarse_clock_makes_the_plan_provisional_and_both_bounds_are_shown(found):
    assert found.verdict.word == "PROVISIONAL"
    assert found.verdict.reasons[0].startswith("the clock's one-second ticks hide how pages arrive within a second")
    assert "a log with milliseconds would decide" in found.verdict.reasons[0]
    spread, batch = found.clock.readings
    assert (spread.name, batch.name, found.clock.taken) == ("spread", "batch", "spread")
    assert found.clock.companions == pytest.approx(RATE, rel=0.05)
    # A batch of 25 pages meets 8 places: at least the pages beyond the eighth are lost, but for those of fewer robots.
    assert spread.lost < 0.1 < 0.6 < batch.lost
    line = next(line for line in found.compared if line.question.measure == "loss_probability")
    assert line.recommended.low <= spread.lost < batch.lost <= line.recommended.high


def test_both_readings_stand_in_the_terminal_on_the_page_and_in_json(found, capsys):
    show_plan(found)
    console().file.flush()
    seen = " ".join(capsys.readouterr().out.split())
    assert "what the clock hides" in seen
    assert "each tick one batch" in seen
    page = render(plan_report(found, "crawltwin plan"))["report.md"]
    assert "What the clock hides" in page
    assert page.index("one-second ticks") < page.index("Today and recommended")
    assert set(found.to_json()["clock"]["readings"]) == {"spread", "batch"}


def test_a_reading_that_could_not_be_fitted_is_not_told_of_as_if_it_had_been(found, capsys):
    alone = replace(found, clock=replace(found.clock, readings=(found.clock.own,)))
    show_plan(alone)
    console().file.flush()
    shown = " ".join(capsys.readouterr().out.split())
    page = render(plan_report(alone, "crawltwin plan"))["report.md"]
    assert "no other could be fitted" in shown
    assert "Only one of the two could be fitted" in page
    for words in (shown, page):
        assert "both readings" not in words
        assert "two readings" not in words


def test_the_offered_policy_has_the_best_worst_case(found, logs):
    """Every policy solved on its own in both readings."""
    policies = [ThresholdPolicy([2]), ThresholdPolicy([1]), *(ThresholdPolicy([2, 1], [k]) for k in range(8))]
    costs = np.array(
        [
            [solve(log.scenario.replace(policy=one), method="direct").measures["cost"] for one in policies]
            for log in logs
        ]
    )
    above = costs / costs.min(axis=1, keepdims=True) - 1
    choice = ClockChoice.of(logs, SETTINGS, optimize(logs[0].scenario))
    assert choice.optimum.best.policy.short == policies[int(above.max(axis=0).argmin())].short
    assert max(one.above for one in found.clock.readings) <= above.max(axis=0).min() + 0.02


def test_limits_must_be_kept_in_both_readings(logs, found):
    limits = Limits(lose_at_most=0.75, index_at_least=0.2)
    optima = [optimize(log.scenario) for log in logs]
    first, second = [(one, log.today(SETTINGS).rates()) for one, log in zip(optima, logs, strict=True)]
    chosen, limited = choose_within(first[0], limits, first[1], beside=[second])
    assert limited.kept
    for log in logs:
        assert solve(log.scenario.replace(policy=chosen.best.policy)).measures["loss_probability"] <= 0.75
    strict = Limits(lose_at_most=0.2)
    assert choose_within(first[0], strict, first[1])[1].kept
    in_one_only = choose_within(first[0], strict, first[1], beside=[second])[1]
    assert not in_one_only.kept
    verdict = replace(found, limited=in_one_only).verdict
    assert "no policy keeps the limits in both readings of the clock" in verdict.in_words()


def test_the_replay_of_each_reading_can_object(found, logs):
    """The moments are drawn anew, and a model that brings half as many pages again is told from the log."""
    assert found.clock.objections() == []
    for log in logs:
        assert not np.isin(trace_of_fit(log.fit)[0].times, np.cumsum(log.fit.batches.segments.gaps)).any()
        wrong = log.scenario.replace(arrivals=ScaledStream(log.fit.process.scaled(1.5), 1), policy=ThresholdPolicy([1]))
        assert not compare_fitted_log(log.fit, wrong).trusted


def test_a_fine_clock_or_an_operator_who_knows_needs_no_bounds(found, coarse, folder):
    fine = fit(scrapy_log(folder / "fine.log", fraction=True), options=FEW)
    assert reading_taken(found.fit, FEW, SETTINGS) == "spread"
    assert reading_taken(fine, FEW, SETTINGS) is None
    assert reading_taken(found.fit, FitOptions(ticks="spread"), SETTINGS) is None
    slow = PlanSettings(robots=2, capacity=8, service_mean=1.5)
    assert reading_taken(found.fit, FEW, slow) is None, "the indexer needs longer than a tick for one page"
    assert reading_taken(found.fit, FEW, PlanSettings(capacity=500, service_mean=0.03)) is None
