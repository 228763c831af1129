"""Numbers at the ends of what a float holds: a clear error or an answer, never a traceback, a warning or a hang."""

import dataclasses
import math
import warnings

import numpy as np
import pytest

from analytic import asymptotic_variance, pareto, solve
from crawltwin.model import CostWeights, InputError, PhaseType, TooLargeError, erlang, examples, exponential
from crawltwin.plan.settings import PlanSettings
from fitting.choose.settings import ScenarioOptions
from simulate.engine.effort import check_effort
from simulate.engine.length import Length


@pytest.mark.parametrize("mean", [1e-300, 1e-101, 1e101, 1e300])
def test_times_whose_moments_are_no_numbers_are_refused(mean):
    with pytest.raises(InputError, match="rates must be between 1e-100 and 1e\\+100; got"):
        exponential(mean)


@pytest.mark.parametrize("mean", [1e-100, 1e100])
def test_the_longest_and_the_shortest_mean_have_moments(mean):
    law = exponential(mean)
    assert law.scv == pytest.approx(1.0)
    assert law.moment(3) == pytest.approx(6 * mean**3)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(CostWeights)])
def test_weights_whose_costs_are_no_numbers_are_refused(name):
    with pytest.raises(InputError, match=f"{name} must be at most 1e\\+100; got 1e\\+300"):
        CostWeights(**{name: 1e300})


@pytest.mark.parametrize(
    ("name", "value"),
    [("urls", 10**12), ("service_mean", 1e300), ("obsolescence_mean", 1e-300), ("capacity", 10**8)],
)
def test_a_plan_refuses_what_no_crawler_has(name, value):
    with pytest.raises(InputError, match=f"{name} must be at (most|least)"):
        PlanSettings(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("capacity", 10**8), ("service_mean", 1e300), ("service_mean", 1e-30)])
def test_a_fit_refuses_what_no_crawler_has(name, value):
    with pytest.raises(InputError, match=f"{name} must be at (most|least)"):
        ScenarioOptions(**{name: value})


def test_a_measure_too_near_zero_has_an_infinite_run_length():
    found = asymptotic_variance(examples.load("mm1k"))
    for tiny in (1e-200, 5e-324):
        rare = dataclasses.replace(found, values={**found.values, "loss_probability": tiny})
        assert math.isinf(rare.run_length("loss_probability"))


@pytest.mark.parametrize("factor", [1e-90, 1e90])
def test_a_crawler_with_very_slow_or_fast_indexing_is_solved(factor):
    """Nothing is served, or every page at once: the limits are known."""
    scenario = examples.load("mm1k")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve(scenario.replace(service=scenario.service.scaled(factor)))
    assert found.measures["starvation_probability"] == pytest.approx(1.0 if factor > 1 else 0.0, abs=1e-12)


@pytest.mark.parametrize("stages", [1, 2])
def test_an_overload_beyond_the_range_of_numbers_is_solved_and_compared(stages):
    """Each level weighs 1e99 times the one below: the crawler is always full, and the robots are those of the top."""
    scenario = examples.load("scaled")
    full = scenario.replace(service=scenario.service.scaled(1e-99), obsolescence=erlang(stages, 1e99))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve(full, method="block").measures
        front = pareto(full, criteria=("loss_probability", "mean_active_robots"))
    assert found["mean_pages"] == pytest.approx(scenario.capacity)
    assert found["loss_probability"] == pytest.approx(1.0)
    np.testing.assert_allclose(front.values[:, 0], 1.0)
    np.testing.assert_allclose(front.values[:, 1], front.tables[:, -1])


def test_a_stiff_obsolescence_is_counted_before_a_run_begins():
    """A clock that changes its phase about 10^12 times before it ends draws as many phases for each page."""
    scenario = examples.load("scaled")
    clock = PhaseType([1.0, 0.0], [[-1e9, 1e9], [1e9, -1e9 - 1e-3]])
    with pytest.raises(TooLargeError, match=r"must have at most .* jumps of phases"):
        check_effort(scenario.replace(obsolescence=clock), Length(pages=500))
