"""Run lengths: from variances to pages, and the check afterwards."""

import math
from dataclasses import replace

import pytest
from scipy import stats

from analytic import solve
from crawltwin.model import BMAP, ScaledStream, examples, exponential
from validate import crosscheck
from validate.length import (
    SETTLED,
    WARMUP_SHARE,
    PlannedLength,
    StartUp,
    chain_sigmas,
    given_length,
    longest_stay,
    plan_length,
    settling,
    surprising,
    variance_ratios,
)
from validate.plan import ValidationPlan
from validate.verdict import Comparison, reach


def test_the_length_grows_with_the_square_of_error_over_margin():
    plan = ValidationPlan()
    pilot = [Comparison("mean_pages", "", 2.0, 2.0, error, 10**6, 0.01) for error in (0.01, 0.02)]
    short = plan_length(pilot[:1], 10_000, plan, 0, None)
    long = plan_length(pilot, 10_000, plan, 0, None)
    assert long.pages == pytest.approx(4 * short.pages, rel=1e-3)
    # With many degrees of freedom the pilot's caution vanishes: n = pilot * (reach * error / margin)^2.
    assert short.pages == pytest.approx(10_000 * reach(0.99, 0.99) ** 2, rel=0.01)


def test_the_budget_is_kept_and_said():
    pilot = [Comparison("cost", "", 2.0, 2.0, 1.0, 49, 0.01)]
    planned = plan_length(pilot, 10_000, ValidationPlan(budget=50_000), 0, None)
    assert planned.pages == 40_000
    assert planned.wanted > planned.pages
    assert planned.limiting == "cost"
    assert not planned.to_json()["within_budget"]


def test_the_warm_up_outlasts_the_settling_time():
    scenario = examples.load("mm1k")
    settled = settling(scenario, 6)
    least = StartUp(0.8, settled, 3.0).least_pages(40)
    each = least / 40 / 0.8
    assert each * WARMUP_SHARE >= (settled + 3.0) * (1 - 1e-9)
    assert given_length(1000, least, settled).pages == least
    assert settling(scenario, 10**9) is None
    assert StartUp(0.8, None, 0.0).least_pages(40) == 0
    assert StartUp(0.8, None, 2.0).least_pages(40) == pytest.approx(0.8 * 2.0 / WARMUP_SHARE * 40)


def test_variances_are_compared_with_the_plan():
    pilot = [Comparison("cost", "", 2.0, 2.0, 0.1, 49, 0.01)]
    planned = plan_length(pilot, 1000, ValidationPlan(), 0, None)
    seen = [Comparison("cost", "", 2.0, 2.0, 0.1 * math.sqrt(1000 / 4000), 99, 0.01)]
    assert variance_ratios(planned, seen, 4000)["cost"] == pytest.approx(1.0)
    constant = [Comparison("cost", "", 2.0, 2.0, 1e-16, 99, 0.01, solved_error=2e-9)]
    assert variance_ratios(planned, constant, 4000) == {}
    planned = plan_length(pilot, 1000, ValidationPlan(), 0, None, {"cost": 0.1 * math.sqrt(1000)})
    assert planned.from_chain == {"cost"}
    assert surprising(planned, {"cost": 1.2}, 99) == []
    assert surprising(planned, {"cost": float(stats.chi2.ppf(0.9999, 99) / 99)}, 99) == ["cost"]
    by_pilot = plan_length(pilot, 1000, ValidationPlan(), 0, None)
    assert surprising(by_pilot, {"cost": 1.6}, 99) == []
    assert surprising(by_pilot, {"cost": float(stats.f.ppf(0.9999, 99, 49))}, 99) == ["cost"]


def test_of_what_hardly_ever_happens_the_variance_is_not_judged():
    # Lost pages come in bursts of four, 5e-10 of all: the chain knows the variance, the run saw none of them.
    rare, pages = 5e-10, 300_000
    planned = PlannedLength(pages, pages, "cost", {"success_probability": math.sqrt(4 * rare)}, None)
    none_lost = Comparison("success_probability", "", 1 - rare, 1.0, math.sqrt(rare / pages), 99, 0.01, 1e-9)
    assert variance_ratios(planned, [none_lost], pages) == {}
    # A hundred bursts and more tell a variance.
    error, many = math.sqrt(4 * rare / 1e12), 10**12
    assert variance_ratios(planned, [replace(none_lost, error=error, solved_error=0.0)], many) == {
        "success_probability": pytest.approx(1.0)
    }


def test_a_pilot_that_saw_few_cases_sets_the_length_but_no_variance_is_held_against_it():
    # A quantile of 0.99 of 10,000 obsolete pages in 50 replications: two pages beyond it in each of them.
    few = Comparison("sojourn_quantiles", "obsolete", 4.0, 4.0, 0.05, 49, 0.02, cases=100.0)
    many = replace(few, part="served", cases=50_000.0)
    planned = plan_length([few, many], 1_000_000, ValidationPlan(), 0, None)
    assert planned.wanted == plan_length([many], 1_000_000, ValidationPlan(), 0, None).wanted
    ten_times = [replace(one, error=10 * one.error) for one in (few, many)]
    assert variance_ratios(planned, ten_times, 1_000_000) == {"sojourn_quantiles[served]": pytest.approx(100.0)}
    assert surprising(planned, {"sojourn_quantiles[served]": 100.0}, 99) == ["sojourn_quantiles[served]"]


def test_variances_are_held_against_the_pilot_that_was_run():
    """Ten replications tell less than fifty: what is odd against fifty is chance against ten."""
    ratio = float(stats.f.ppf(0.998, 99, 49))
    found = {}
    for freedom in (9, 49):
        pilot = [Comparison("cost", "", 2.0, 2.0, 0.1, freedom, 0.01)]
        planned = plan_length(pilot, 1000, ValidationPlan(), 0, None)
        found[freedom] = surprising(planned, {"cost": ratio}, 99)
    assert found == {9: [], 49: ["cost"]}


def test_the_chain_knows_the_variance_of_counting_poisson_arrivals():
    # M/M/1/K without control: pages arrive as a Poisson process of rate 0.8, so the rate estimated over a time t has
    # variance 0.8 / t, and over n pages (0.8 * 0.8) / n.
    assert chain_sigmas(examples.load("mm1k"), 0.8, 6)["arrival_rate"] == pytest.approx(0.8)
    assert chain_sigmas(examples.load("mm1k"), 0.8, 10**9) == {}


def test_a_share_that_is_one_but_for_rounding_has_no_variance_and_no_traceback():
    # An indexer a thousand million times faster than the pages come: every one is served, and rounding said -2e-16.
    scenario = examples.load("mm1k")
    scenario = scenario.replace(service=scenario.service.scaled(1e9))
    assert chain_sigmas(scenario, 0.8, 6)["success_probability"] == pytest.approx(0.0, abs=1e-6)


def test_a_crawler_that_is_settled_at_once_has_replications():
    # From an empty system that is empty but for one moment in a million nothing has to be forgotten.
    idle = examples.load("mm1k").replace(arrivals=ScaledStream(BMAP.poisson(1e-6), 1))
    assert settling(idle, 10) == 0.0
    assert StartUp(1e-6, 0.0, 0.0).replications(1000, 50) == 50
    assert StartUp(1e-6, 0.0, 0.0).replications(20, 50) == 20


def test_the_start_is_forgotten_when_the_pages_of_the_approach_have_left():
    """A queue that is full at once: a page waits for ten exponential times of mean 1, an Erlang law of ten stages."""
    full = examples.load("mm1k").replace(
        capacity=10, arrivals=ScaledStream(BMAP.poisson(1e4), 1), obsolescence=None, policy=None, cost=None
    )
    solution = solve(full)
    assert longest_stay(solution) == pytest.approx(stats.gamma.ppf(1 - SETTLED, 10), rel=0.01)
    assert settling(full, solution.solver.states) < 10.0
    large = replace(solution, solver=replace(solution.solver, states=10**9))
    assert longest_stay(large) == pytest.approx(-math.log(SETTLED) * 10.0, rel=0.01)


def test_a_sound_crawler_whose_pages_stay_long_is_not_accused():
    """A hundred times more pages than can be indexed: runs of ten stays told a mean stay that was 4% too short."""
    busy = examples.load("mm1k").replace(
        capacity=20,
        obsolescence=exponential(1e4),
        arrivals=ScaledStream(BMAP.poisson(100.0), 1),
        policy=None,
        cost=None,
    )
    found = crosscheck(busy, ValidationPlan(budget=400_000, seed=3), approach=False)
    assert found.verdict != "different"
