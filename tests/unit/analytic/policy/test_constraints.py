"""Constraints: the best feasible policy, the best mixture, and multipliers against differences."""

from itertools import combinations

import numpy as np
import pytest

from analytic import constrain, optimize
from crawltwin.model import CostWeights, InputError, examples
from crawltwin.model.rates import Rates


@pytest.fixture(scope="module")
def paper():
    return optimize(examples.load("paper"))


@pytest.fixture(scope="module")
def measured():
    return optimize(examples.load("measured").replace(capacity=8))


CONSTRAINTS = [
    ({"loss_probability": 0.15}, {}),
    ({"mean_active_robots": 1.5}, {}),
    ({"mean_sojourn_served": 1.5}, {}),
    ({}, {"success_probability": 0.7}),
    ({"starvation_probability": 0.1, "loss_probability": 0.16}, {}),
    ({"mean_active_robots": 1.7}, {"success_probability": 0.67}),
]


@pytest.mark.parametrize(("at_most", "at_least"), CONSTRAINTS)
def test_best_single_policy_by_definition(paper, at_most, at_least):
    found = constrain(paper, at_most, at_least)
    measures = Rates.from_table(paper.rates).measures()
    kept = np.ones(len(paper.tables), dtype=bool)
    for name, bound in at_most.items():
        kept &= measures[name] <= bound
    for name, bound in at_least.items():
        kept &= measures[name] >= bound
    assert found.feasible == kept.sum()
    assert found.best.cost == paper.costs[kept].min()
    assert found.complete


@pytest.mark.parametrize(("at_most", "at_least"), CONSTRAINTS)
def test_the_mixture_keeps_the_constraints_and_costs_no_more(paper, at_most, at_least):
    found = constrain(paper, at_most, at_least)
    for name, bound in at_most.items():
        assert found.mixture_measures[name] <= bound * (1 + 1e-7)
    for name, bound in at_least.items():
        assert found.mixture_measures[name] >= bound * (1 - 1e-7)
    assert found.mixture_cost <= found.best.cost * (1 + 1e-9)
    assert sum(choice.share for choice in found.mixture) == pytest.approx(1.0)
    assert len(found.mixture) <= len(at_most) + len(at_least) + 2


@pytest.mark.parametrize(("at_most", "at_least"), CONSTRAINTS[:4])
def test_no_mixture_of_two_policies_is_cheaper(paper, at_most, at_least):
    found = constrain(paper, at_most, at_least)
    shares = np.linspace(0, 1, 201)[:, None]
    cheapest = np.inf
    for one, other in combinations(range(len(paper.tables)), 2):
        mixed = (1 - shares) * paper.rates[one] + shares * paper.rates[other]
        measures = Rates.from_table(mixed).measures()
        kept = np.ones(len(shares), dtype=bool)
        for name, bound in at_most.items():
            kept &= measures[name] <= bound
        for name, bound in at_least.items():
            kept &= measures[name] >= bound
        if kept.any():
            cheapest = min(cheapest, Rates.from_table(mixed[kept]).cost(paper.scenario.cost).min())
    assert found.mixture_cost <= cheapest * (1 + 1e-9)
    # The grid of shares misses the best one by at most half a percent of a share.
    assert found.mixture_cost == pytest.approx(cheapest, rel=3e-3)


@pytest.mark.parametrize(("at_most", "at_least"), CONSTRAINTS)
def test_multipliers_are_derivatives_of_the_mixture_s_cost(paper, at_most, at_least):
    found = constrain(paper, at_most, at_least)
    step = 1e-5
    for side, given in (("at_most", at_most), ("at_least", at_least)):
        for name, bound in given.items():
            costs = []
            for factor in (1 - step, 1 + step):
                moved = {"at_most": dict(at_most), "at_least": dict(at_least)}
                moved[side][name] = bound * factor
                costs.append(constrain(paper, **moved).mixture_cost)
            slope = (costs[1] - costs[0]) / (2 * step * bound)
            expected = -slope if side == "at_most" else slope
            assert found.multipliers[name] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_multipliers_find_the_cost_weights_again(paper):
    """Minimise robots alone under a bound on starvation: with the multiplier as weight the same policies are best."""
    weights = CostWeights(robots=1.0)
    scenario = paper.scenario.replace(cost=weights)
    optimum = optimize(scenario)
    found = constrain(optimum, {"starvation_probability": 0.1})
    price = found.multipliers["starvation_probability"]
    assert price > 0
    priced = Rates.from_table(optimum.rates).cost(CostWeights(robots=1.0, starvation=price))
    for choice in found.mixture:
        own = choice.measures["mean_active_robots"] + price * choice.measures["starvation_probability"]
        assert own == pytest.approx(priced.min(), rel=1e-9)


def test_a_constraint_that_does_not_bind_has_no_price(measured):
    found = constrain(measured, {"loss_probability": 0.9})
    assert found.multipliers == {"loss_probability": 0.0}
    assert found.mixture_cost == pytest.approx(measured.best.cost, rel=1e-9)
    assert found.best.cost == pytest.approx(measured.best.cost, rel=1e-12)


def test_what_cannot_be_kept_is_said_with_what_can(paper):
    found = constrain(paper, {"loss_probability": 0.01})
    assert found.best is None
    assert found.mixture == ()
    assert found.mixture_cost is None
    assert found.feasible == 0
    assert found.attainable["at_most"]["loss_probability"] == pytest.approx(
        (paper.rates[:, 1] / paper.rates[:, 0]).min()
    )
    assert found.to_json()["best"] is None


def test_a_measure_with_two_bounds_has_two_best_values_and_the_price_of_the_one_that_binds(paper):
    lost = paper.rates[:, 1] / paper.rates[:, 0]
    beyond = constrain(paper, {"loss_probability": 0.01}, {"loss_probability": 0.005})
    assert beyond.attainable["at_most"]["loss_probability"] == pytest.approx(lost.min())
    assert beyond.attainable["at_least"]["loss_probability"] == pytest.approx(lost.max())
    alone = constrain(paper, {"mean_active_robots": 1.5})
    assert alone.multipliers["mean_active_robots"] > 0
    both = constrain(paper, {"mean_active_robots": 1.5}, {"mean_active_robots": 0.5})
    assert both.multipliers["mean_active_robots"] == pytest.approx(alone.multipliers["mean_active_robots"])


@pytest.mark.parametrize(
    ("at_most", "at_least", "words"),
    [
        ({"loss_probability": -0.1}, {}, "at_most must be at least 0; got -0.1 at at_most.loss_probability"),
        ({"mean_pages": -1}, {}, "at_most must be at least 0; got -1"),
        ({}, {"success_probability": 1.5}, "at_least must be at most 1; got 1.5"),
        ({"mean_pages": 2.0}, {"mean_pages": 3.0}, "at_least must not exceed at_most; got 3 and at most 2"),
    ],
)
def test_bounds_that_no_crawler_can_keep_are_refused(paper, at_most, at_least, words):
    with pytest.raises(InputError) as error:
        constrain(paper, at_most, at_least)
    assert words in str(error.value)


def test_to_json(paper):
    answer = constrain(paper, {"mean_active_robots": 1.5}).to_json()
    assert answer["compared"] == 84
    assert set(answer["mixture"]["multipliers"]) == {"mean_active_robots"}
    assert answer["mixture"]["policies"][0]["share"] >= 0.5


def test_all_faults_at_once(paper):
    with pytest.raises(InputError) as error:
        constrain(paper, {"speed": 1.0, "loss_probability": float("nan")}, {"cost": 3})
    assert len(error.value.faults) == 3
    assert "at_most must bound one of" in str(error.value)
    assert "at_most must be a finite number; got nan at at_most.loss_probability" in str(error.value)


def test_no_constraint_at_all(paper):
    with pytest.raises(InputError, match="at least one constraint must be given"):
        constrain(paper)
