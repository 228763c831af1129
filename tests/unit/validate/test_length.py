"""Run lengths: from variances to pages, and the check afterwards."""

import math
from dataclasses import replace

import pytest
from scipy import stats

from crawltwin.model import BMAP, ScaledStream, examples
from validate.length import (
    WARMUP_SHARE,
    PlannedLength,
    chain_sigmas,
    given_length,
    least_pages,
    plan_length,
    settled_replications,
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
    least = least_pages(0.8, settled, replications=40)
    each = least / 40 / 0.8
    assert each * WARMUP_SHARE >= settled * (1 - 1e-9)
    assert given_length(1000, least, settled).pages == least
    assert settling(scenario, 10**9) is None
    assert least_pages(0.8, None, 40) == 0


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


def test_a_crawler_that_is_settled_at_once_has_replications():
    # From an empty system that is empty but for one moment in a million nothing has to be forgotten.
    idle = examples.load("mm1k").replace(arrivals=ScaledStream(BMAP.poisson(1e-6), 1))
    assert settling(idle, 10) == 0.0
    assert settled_replications(1000, 1e-6, 0.0, 50) == 50
    assert settled_replications(20, 1e-6, 0.0, 50) == 20
