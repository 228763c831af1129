"""Derivatives: against central differences of `solve`, against closed forms, and against the change of time unit."""

import numpy as np
import pytest

from analytic import sensitivity, solve
from crawltwin.model import InputError, ModeMatrices, PhaseType, ThresholdPolicy, TooLargeError, examples
from tests.oracle.closed_forms import mm1k_reneging

PAPER_MODELS = [name for name in examples.EXAMPLES if not examples.load(name).features]
CLOCKS = ("arrival", "service", "obsolescence")
CASES = [(name, admission) for name in PAPER_MODELS for admission in ("partial", "all-or-nothing", "overflow")]


def small(name, admission):
    scenario = examples.load(name)
    known = scenario.arrivals.robot_numbers
    return scenario.replace(capacity=3, admission=admission, policy=ThresholdPolicy([known[-1], known[0]], [1]))


def faster(scenario, arrival=1.0, service=1.0, obsolescence=1.0):
    modes = {robots: scenario.arrivals.mode(robots).scaled(arrival) for robots in scenario.arrivals.robot_numbers}
    stale = scenario.obsolescence
    return scenario.replace(
        arrivals=ModeMatrices(modes),
        service=PhaseType(scenario.service.initial, service * scenario.service.subgenerator),
        obsolescence=None if stale is None else PhaseType(stale.initial, obsolescence * stale.subgenerator),
    )


@pytest.mark.parametrize(("name", "admission"), CASES)
def test_against_central_differences(name, admission):
    scenario = small(name, admission)
    found = sensitivity(scenario)
    step = 1e-4
    for index, clock in enumerate(CLOCKS):
        high = solve(faster(scenario, **{clock: np.exp(step)})).measures
        low = solve(faster(scenario, **{clock: np.exp(-step)})).measures
        for measure, slopes in found.derivatives.items():
            expected = (high[measure] - low[measure]) / (2 * step)
            # The difference's own error is of the order step^2 times the measure.
            assert slopes[clock] == pytest.approx(expected, rel=1e-6, abs=1e-6 * abs(high[measure])), (measure, clock)
        change = (np.array(high["level_distribution"]) - low["level_distribution"]) / (2 * step)
        np.testing.assert_allclose(found.level_distribution[:, index], change, atol=1e-7)


@pytest.mark.parametrize(("name", "admission"), CASES)
def test_all_rates_together_only_change_the_unit_of_time(name, admission):
    scenario = small(name, admission)
    found, values = sensitivity(scenario), solve(scenario).measures
    power = {"arrival_rate": 1, "switch_rate": 1}
    power |= {"mean_sojourn": -1, "mean_sojourn_served": -1, "mean_sojourn_obsolete": -1}
    for measure, slopes in found.derivatives.items():
        if measure != "cost":
            expected = power.get(measure, 0) * values[measure]
            assert sum(slopes.values()) == pytest.approx(expected, rel=1e-9, abs=1e-10), measure
    np.testing.assert_allclose(found.level_distribution.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(found.level_distribution.sum(axis=0), 0.0, atol=1e-12)


def test_values_are_those_of_solve():
    scenario = examples.load("hyperexponential")
    found, expected = sensitivity(scenario).values, solve(scenario).measures
    assert found == pytest.approx({name: expected[name] for name in found}, rel=1e-10)


def test_closed_form_by_automatic_differentiation_in_rational_steps():
    """M/M/1/K with impatience: mpmath differentiates the closed form."""
    mpmath = pytest.importorskip("mpmath")
    scenario = examples.load("mm1k").replace(capacity=7)
    found = sensitivity(scenario)
    rates = [mpmath.mpf(0.8), mpmath.mpf(1.0), mpmath.mpf(0.25)]
    for index, clock in enumerate(CLOCKS):

        def moved(theta, measure, index=index):
            own = list(rates)
            own[index] = own[index] * mpmath.exp(theta)
            return mm1k_reneging(*own, 7)[measure]

        for measure in ("loss_probability", "mean_pages", "mean_sojourn_served", "starvation_probability"):
            with mpmath.workdps(30):
                expected = float(mpmath.diff(lambda theta, m=measure: moved(theta, m), 0))
            assert found.derivatives[measure][clock] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_without_obsolescence():
    found = sensitivity(examples.load("paper").replace(obsolescence=None))
    assert found.derivatives["mean_sojourn_obsolete"] is None
    assert found.values["mean_sojourn_obsolete"] is None
    assert found.derivatives["mean_pages"]["obsolescence"] == 0
    assert found.elasticity("mean_sojourn_obsolete") is None


def test_large_capacity_is_as_the_limit():
    one, other = (sensitivity(examples.load("paper").replace(capacity=K)) for K in (100, 3000))
    for measure, slopes in one.derivatives.items():
        for clock in CLOCKS:
            assert other.derivatives[measure][clock] == pytest.approx(slopes[clock], rel=1e-8, abs=1e-9)


def test_elasticity_and_frame():
    found = sensitivity(examples.load("paper"))
    by_arrivals = found.elasticity("arrival_rate")["arrival"]
    assert by_arrivals == pytest.approx(found.derivatives["arrival_rate"]["arrival"] / found.values["arrival_rate"])
    frame = found.to_frame()
    assert list(frame.columns) == ["measure", "parameter", "value", "derivative", "elasticity", "unit"]
    assert len(frame) == 3 * 12
    assert set(found.to_json()["derivatives"]) == set(found.values)
    with pytest.raises(InputError, match=r"measure must be one of .*; got 'speed'"):
        found.elasticity("speed")


def test_too_many_clocks_are_refused():
    with pytest.raises(TooLargeError, match="derivatives and variances need the explicit chain"):
        sensitivity(examples.load("hyperexponential").replace(capacity=16))
