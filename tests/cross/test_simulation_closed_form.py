"""The simulation against closed forms and against the solved chain."""

import numpy as np
import pytest

from analytic import solve
from crawltwin.model import (
    ADMISSIONS,
    BMAP,
    ModeMatrices,
    Scenario,
    ThresholdPolicy,
    erlang,
    examples,
    exponential,
)
from simulate import closed_form, coverage, simulate
from tests.unit.simulate.cases import CASES, scenario_of

# Eleven measures and levels, fixed seeds: at this confidence a correct simulation fails one test in some hundreds of
# seeds, and the seeds are fixed; a wrong one fails at once, as the planted faults show.
SURE = 0.9999


def misses(scenario: Scenario, truth, **options) -> list[str]:
    result = simulate(scenario, confidence=SURE, workers=1, **options)
    found = [name for name, value in truth.items() if name in result.measures and not holds(result[name], value)]
    assert not result.warnings
    return found


def holds(interval, value) -> bool:
    if value is None or interval is None:
        return value is None and interval is None
    if isinstance(interval, tuple):
        return all(one.covers(v) for one, v in zip(interval, value, strict=True))
    return interval.covers(value)


def test_every_measure_of_an_impatient_queue():
    scenario = examples.load("mm1k")
    assert misses(scenario, closed_form(scenario), pages=100_000) == []


def test_an_impatient_queue_under_a_policy():
    arrivals = ModeMatrices({1: BMAP.poisson(0.4), 2: BMAP.poisson(0.9), 3: BMAP.poisson(2.0)})
    scenario = Scenario(
        6,
        arrivals,
        exponential(1.2),
        exponential(3.0),
        ThresholdPolicy([3, 2, 1], [1, 3]),
        cost=examples.load("mm1k").cost,
    )
    assert misses(scenario, closed_form(scenario), pages=60_000) == []


def test_a_queue_whose_pages_never_age():
    scenario = examples.load("mm1k").replace(obsolescence=None, capacity=3)
    rho = 0.8
    truth = {"loss_probability": rho**3 * (1 - rho) / (1 - rho**4), "starvation_probability": (1 - rho) / (1 - rho**4)}
    assert misses(scenario, truth, pages=50_000) == []


@pytest.mark.parametrize("fault", ["service", "obsolescence", "arrivals", "capacity"])
def test_planted_wrong_models_are_noticed(fault: str):
    """Five percent off in one rate, or one place too many in the buffer."""
    scenario = examples.load("mm1k")
    wrong = {
        "service": scenario.replace(service=exponential(1.05)),
        "obsolescence": scenario.replace(obsolescence=exponential(4.2)),
        "arrivals": scenario.replace(arrivals=ModeMatrices({1: BMAP.poisson(0.84)})),
        "capacity": scenario.replace(capacity=6),
    }[fault]
    assert misses(wrong, closed_form(scenario), pages=100_000) != []


@pytest.mark.parametrize(("kind", "admission"), CASES)
def test_every_kind_of_arrivals_agrees_with_the_chain(kind: str, admission: str):
    scenario = scenario_of(kind, admission)
    assert misses(scenario, dict(solve(scenario).measures), pages=20_000) == []


@pytest.mark.parametrize("admission", ADMISSIONS)
def test_high_variance_and_nearly_fixed_times_agree_with_the_chain(admission: str):
    scenario = examples.load("hyperexponential").replace(admission=admission, service=erlang(5, 0.6))
    assert misses(scenario, dict(solve(scenario).measures), pages=20_000) == []


def test_starting_from_equilibrium_needs_no_warm_up():
    scenario = examples.load("mm1k")
    levels = solve(scenario).measures["level_distribution"]
    result = simulate(scenario, pages=2000, start=levels, warmup=0.0, confidence=SURE, workers=1)
    assert result["mean_pages"].covers(closed_form(scenario)["mean_pages"])
    assert result.diagnostics.warmup_bins == 0


def test_intervals_cover_what_they_claim_and_naive_ones_do_not():
    """A small form of the experiment behind `crawltwin simulate S --coverage 1000`."""
    scenario = examples.load("mm1k")
    found = coverage(scenario, closed_form(scenario), experiments=200, replications=10, pages=1000, workers=1)
    assert found.agrees, found.to_frame()
    naive = {share.measure: share.naive_agrees for share in found.shares}
    assert not naive["mean_pages"]
    assert not naive["mean_sojourn_served"]
    # Poisson arrivals are independent: here the naive interval is right, and must be called right.
    assert naive["arrival_rate"]


@pytest.mark.slow
def test_a_thousand_experiments_cover_what_they_claim():
    scenario = examples.load("mm1k")
    found = coverage(scenario, closed_form(scenario), experiments=1000, workers=2)
    assert found.agrees, found.to_frame()
    assert sum(not share.naive_agrees for share in found.shares) >= 5


def test_a_planted_wrong_truth_is_noticed_by_the_coverage():
    scenario = examples.load("mm1k")
    truth = {"mean_pages": 1.01 * closed_form(scenario)["mean_pages"]}
    assert not coverage(scenario, truth, experiments=60, replications=10, pages=4000, workers=1).agrees


def test_levels_sum_to_one():
    result = simulate(examples.load("paper"), pages=5000, workers=1)
    assert np.sum([one.value for one in result["level_distribution"]]) == pytest.approx(1, abs=1e-3)
