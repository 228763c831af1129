"""Losses too rare to be counted: against closed forms, and how often the intervals hold."""

from dataclasses import replace

import numpy as np
import pytest

from crawltwin.model import BMAP, InputError, ModeMatrices, Scenario, ThresholdPolicy, examples, exponential
from simulate import RareSettings, rare_loss, simulate
from simulate.questions import rare_events
from simulate.questions.rare_events import Splits, Trial, run_trial
from tests.oracle.whole_crawler import Explored


def queue(load: float, capacity: int) -> Scenario:
    return Scenario(capacity, ModeMatrices({1: BMAP.poisson(load)}), exponential(1.0))


def exact_loss(load: float, capacity: int) -> float:
    """M/M/1/K: the probability of a full system, which a Poisson arrival sees."""
    return load**capacity * (1 - load) / (1 - load ** (capacity + 1))


def test_one_in_a_billion():
    found = rare_loss(queue(0.5, 28), pages=4000, workers=1, confidence=0.999)
    exact = exact_loss(0.5, 28)
    assert exact < 2e-9
    assert found.loss_probability.covers(exact)
    assert found.loss_probability.high / found.loss_probability.low < 4
    assert found.lost > 100


def test_a_loss_that_is_not_rare_is_the_one_that_is_counted():
    scenario = examples.load("paper")
    counted = simulate(scenario, pages=50_000, workers=1, confidence=0.999)["loss_probability"]
    found = rare_loss(scenario, pages=5000, workers=1, confidence=0.999).loss_probability
    assert max(counted.low, found.low) < min(counted.high, found.high)


@pytest.mark.parametrize("beyond", ["indexers", "hysteresis", "fetching"])
def test_scenarios_beyond_the_paper(beyond: str):
    """Batches, several indexers, a memory, fetches: the truth is the chain written down state by state."""
    scenario = examples.load(beyond)
    small = {"indexers": {"indexers": 2, "capacity": 6}, "hysteresis": {"capacity": 9}, "fetching": {"capacity": 7}}
    policies = {
        "indexers": ThresholdPolicy([1]),
        "hysteresis": ThresholdPolicy([2, 1], [3], resume=[1]),
        "fetching": ThresholdPolicy([2, 1], [2]),
    }
    faster = replace(scenario, service=exponential(0.15), policy=policies[beyond], **small[beyond])
    if beyond == "fetching":
        faster = replace(faster, arrivals=replace(faster.arrivals, spells=None))
    exact = Explored.of(faster).measures()["loss_probability"]
    found = rare_loss(faster, pages=4000, workers=1, confidence=0.9999)
    assert found.splits.levels
    assert found.loss_probability.covers(exact), (exact, found)


def test_weights_add_up_to_the_plain_run():
    """Whatever the thresholds, the weighted time is the time of the run, on average."""
    scenario, splits = queue(0.6, 10), Splits((3, 5, 6), (2, 4, 3))
    runs = [run_trial(Trial(scenario, splits, 1, index, 50.0, 500.0)) for index in range(60)]
    assert splits.weights.tolist() == [1, 1 / 2, 1 / 8, 1 / 24]
    times = np.array([splits.weights @ run.at_level.sum(axis=1) for run in runs])
    assert abs(times.mean() - 500.0) < 4 * times.std(ddof=1) / np.sqrt(times.size)
    # A trial of stratum s is never below its threshold.
    for run in runs:
        for stratum, level in enumerate(splits.levels, start=1):
            assert run.at_level[stratum, :level].sum() == 0


def test_a_planted_wrong_weight_is_noticed(monkeypatch: pytest.MonkeyPatch):
    """One stratum counts as much as the one below it."""
    honest = Splits.weights.fget

    def wrong(self):
        weights = honest(self)
        return np.append(weights[:1], weights[:-1])

    monkeypatch.setattr(Splits, "weights", property(wrong))
    found = rare_loss(queue(0.5, 20), pages=4000, workers=1, confidence=0.999)
    assert not found.loss_probability.covers(exact_loss(0.5, 20))


def test_same_bits_with_one_worker_and_two_and_another_seed_differs():
    one, two = (rare_loss(queue(0.5, 12), pages=500, replications=4, workers=count) for count in (1, 2))
    assert one == two
    assert rare_loss(queue(0.5, 12), pages=500, replications=4, workers=1, seed=2) != one


def test_no_loss_at_all_has_a_limit_and_a_warning(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rare_events, "_MOST_LOOKS", 1)
    found = rare_loss(queue(0.1, 60), pages=500, replications=3, workers=1)
    assert found.loss_probability.value == 0.0
    assert 0 < found.loss_probability.high < 0.01
    assert "no loss was seen" in found.warnings[0]
    assert found.to_json()["relative_error"] is None


def test_settings_are_checked_at_once():
    with pytest.raises(InputError) as caught:
        RareSettings(pages=3, replications=1, seed=-1, confidence=1.5)
    for name in ("pages", "replications", "seed", "confidence"):
        assert f"{name} must be" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(("load", "capacity"), [(0.5, 28), (0.8, 60), (0.3, 10)])
def test_intervals_hold_as_often_as_they_claim(load: float, capacity: int):
    """120 estimates each: 95% must lie within the binomial limits of what was counted (99.9%)."""
    exact, count = exact_loss(load, capacity), 120
    found = [rare_loss(queue(load, capacity), pages=2500, seed=seed) for seed in range(count)]
    held = sum(one.loss_probability.covers(exact) for one in found)
    assert 105 <= held <= 120
    ratios = np.array([one.loss_probability.value / exact for one in found])
    assert abs(ratios.mean() - 1) < 4 * ratios.std(ddof=1) / np.sqrt(count)
