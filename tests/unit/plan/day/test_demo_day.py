"""The log of a crawler of news: it is what its docstring says, and the plan by part of the day saves what it claims."""

from dataclasses import replace

import numpy as np
import pytest

from analytic import solve
from crawltwin.model import ThresholdPolicy
from crawltwin.plan.day import demo_day as truth
from crawltwin.plan.day.demo_day import day_log, day_pages, true_scenarios
from crawltwin.plan.decide import plan
from crawltwin.plan.settings import PlanSettings
from fitting import FitOptions, read_log
from tests.unit.plan.day.day_simulated import cost_of_days


def is_busy(seconds):
    return (truth.BUSY[0] <= seconds % truth.DAY) & (seconds % truth.DAY < truth.BUSY[1])


def test_the_log_has_the_rates_that_it_says(tmp_path):
    times, content = day_pages(3)
    first = np.concatenate([[True], np.diff(times) > 0.0045])
    for rate, own in zip(truth.RATES, (is_busy(times), ~is_busy(times)), strict=True):
        expected = rate * truth.DAYS * truth.DAY / 2
        assert np.count_nonzero(first & own) == pytest.approx(expected, abs=4 * expected**0.5)
    assert content.mean() == pytest.approx(truth.SIZE_MEAN, rel=4 / content.size**0.5)
    (tmp_path / "news.log").write_text(day_log(3, 1))
    log = read_log(tmp_path / "news.log")
    assert (log.format, log.zoned, len(log)) == ("heritrix", True, len(day_pages(3, 1)[0]))
    assert day_log(3, 1) == day_log(3, 1) != day_log(4, 1)


def test_the_simulated_day_agrees_with_the_chain_where_nothing_changes(monkeypatch):
    """With one rate by day and at night the independent simulation must give the stationary cost."""
    monkeypatch.setattr(truth, "RATES", (truth.RATES[0], truth.RATES[0]))
    found = [cost_of_days(truth, lambda level, _: 4 if level <= 1 else 1, 3, seed) for seed in range(12)]
    expected = solve(true_scenarios()[0].replace(policy=ThresholdPolicy([4, 1], [1]))).measures["cost"]
    assert np.mean(found) == pytest.approx(expected, abs=4 * np.std(found) / 11**0.5)


def saving_by_simulation(day, single):
    """What the schedule saves in the true crawler, with its standard error."""
    border = next(part for part in day.parts if part.pace > 1)
    assert (border.begin, border.end) == truth.BUSY
    by_pace = {part.pace > 1: policy for part, policy in zip(day.parts, day.policies, strict=True)}

    def both(seed):
        own = cost_of_days(truth, lambda level, now: by_pace[bool(is_busy(now))].robots_at(level), 30, seed)
        return 1 - own / cost_of_days(truth, lambda level, _: single.robots_at(level), 30, seed)

    found = [both(seed) for seed in range(8)]
    return np.mean(found), np.std(found) / 7**0.5


@pytest.mark.slow
def test_a_schedule_is_recommended_and_saves_what_is_claimed(tmp_path):
    (tmp_path / "news.log").write_text(day_log(2))
    settings = PlanSettings(
        robots=truth.ROBOTS, capacity=truth.CAPACITY, processing_rate=truth.PROCESSING_RATE,
        obsolescence_mean=truth.OBSOLESCENCE_MEAN, cost=truth.COST, redraws=20, what_if=False,
    )  # fmt: skip
    options = FitOptions(methods=("poisson",), repetitions=20, refits=0)
    log = read_log(tmp_path / "news.log")
    found = plan(log, settings, options=options)
    assert found.trusted, found.verdict.in_words()
    assert found.by_part and len(found.orders) == 2
    assert "policies by part cost" in found.cost_words and "best single policy" in found.cost_words
    claimed = found.day.saving
    saved, error = saving_by_simulation(found.day, found.optimum.best.policy)
    assert claimed.low - 3 * error <= saved <= claimed.high + 3 * error
    # With cheaper robots three of them are worth it at night too, where the indexer is idle: one policy is right.
    cheaper = replace(settings, cost=replace(truth.COST, robots=5.0))
    single = plan(log, cheaper, options=options)
    assert not single.by_part and single.day.saving.value < 0.01
    assert any("One policy serves the whole day" in words for words in single.day.in_words())
