"""Controllers with a memory: bits of the paper's model, bounds, polling, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from analytic import certify, constrain, optimize, pareto, polling_cost, solve
from analytic.policy.memory.bound import MemoryProcess, controllers_bound
from analytic.policy.memory.controlled_chain import ControlledChain
from analytic.policy.memory.evaluator import MemoryClass
from crawltwin.model import BMAP, CostWeights, InputError, Scenario, ThresholdPolicy, examples
from crawltwin.model.arrivals.kinds import ScaledStream
from crawltwin.model.laws import families
from crawltwin.model.rates import Rates

PAPER = examples.load("paper")
SMALL = examples.load("hysteresis").replace(capacity=4, policy=None)


@pytest.mark.parametrize("name", ["paper", "fetching", "indexers", "hysteresis", "hyperexponential"])
@pytest.mark.parametrize("every", [0.0, 2.0])
def test_the_controlled_chain_gives_what_solve_gives(name, every):
    scenario = examples.load(name)
    chain = ControlledChain(scenario, every)
    for policy in (
        ThresholdPolicy([3, 1], [4], [1], every),
        ThresholdPolicy([4, 2, 1], [2, 4], [0, 3], every),
        ThresholdPolicy([3], check_every=every),
    ):
        solved = solve(scenario.replace(policy=policy)).measures
        rates = Rates.from_table(chain.rates_of(policy))
        assert float(rates.cost(scenario.cost)) == pytest.approx(solved["cost"], rel=1e-11)
        assert float(rates.value("switch_rate")) == pytest.approx(solved["switch_rate"], rel=1e-11, abs=1e-14)


def test_policies_without_resume_points_keep_their_bits():
    level, resumed = optimize(PAPER), optimize(PAPER, resume=True)
    assert resumed.best.cost == level.best.cost
    assert (resumed.best.thresholds, resumed.best.resume) == (level.best.thresholds, level.best.thresholds)
    costs = {policy.short: cost for policy, cost in zip(resumed.listed, resumed.costs.tolist(), strict=True)}
    for index, cost in enumerate(level.costs.tolist()):
        assert costs[level.policy_at(index).short] == cost


@pytest.mark.parametrize(("size", "K"), [(2, 5), (3, 4), (4, 3)])
def test_all_points_are_counted(size, K):
    """All rising thresholds with all rising resume points below them, by brute force."""
    every = [v for v in product(range(K), repeat=size - 1) if list(v) == sorted(v)]
    below = [(j, u) for j in every for u in every if all(b <= a for a, b in zip(j, u, strict=True))]
    assert MemoryClass().count(size, K) == len(every)
    assert MemoryClass(resume=True).count(size, K) == len(below)
    used = {tuple(zip(j, u, strict=True)) for j, u in below}
    used = {points for points in used if len(set(points)) == size - 1}
    assert set(MemoryClass(resume=True).points(size, K)) == used


def test_the_bound_without_memory_is_that_of_the_certificate():
    bound = controllers_bound(MemoryProcess(PAPER))
    assert bound == pytest.approx(certify(PAPER).seen_bound, rel=1e-6)


def test_search_finds_what_enumeration_finds_and_no_policy_is_below_the_bound():
    every, searched = optimize(SMALL), optimize(SMALL, method="search")
    assert every.method == "enumerated"
    assert searched.method == "searched"
    assert searched.best.cost == pytest.approx(every.best.cost, rel=1e-12)
    assert every.lower_bound is not None
    assert every.costs.min() >= every.lower_bound
    assert every.to_json()["gap"] == pytest.approx(every.best.cost - every.lower_bound)
    assert solve(SMALL.replace(policy=every.best.policy)).measures["cost"] == pytest.approx(every.best.cost, rel=1e-11)


def test_dear_switches_make_hysteresis_wider_and_end_in_a_fixed_number():
    dear = SMALL.replace(cost=replace(SMALL.cost, switching=1e6))
    assert len(optimize(dear).best.robots) == 1


def test_hidden_phases_make_hysteresis_better_even_where_switches_are_free():
    """The mode remembers how the backlog came: that tells something of a slow arrival phase which is not seen."""
    q, lam = (0.03364124, 0.13575423), (0.10550688, 3.60043882)
    slow = BMAP([[[-q[0] - lam[0], q[0]], [q[1], -q[1] - lam[1]]], [[lam[0], 0], [0, lam[1]]]])
    weights = CostWeights(loss=5.73, obsolescence=14.41, robots=0.1297, starvation=65.1)

    def best(arrivals, resume):
        crawler = Scenario(
            capacity=6, arrivals=ScaledStream(arrivals, 2), service=families.exponential(1.0),
            obsolescence=families.exponential(1.189), cost=weights,
        )  # fmt: skip
        return optimize(crawler, resume=resume).best.cost

    assert best(slow, True) < 0.999 * best(slow, False)
    # One phase: the level is all there is to see, and no memory helps.
    poisson = BMAP([[[-1.0]], [[1.0]]])
    assert best(poisson, True) == best(poisson, False)


def test_polling_costs():
    found = polling_cost(PAPER, [0, 1.0])
    rows = found.to_json()["distances"]
    assert rows[0]["extra_cost"] == 0.0
    assert rows[1]["best"]["check_every"] == 1.0
    assert rows[1]["best"]["cost"] > rows[1]["lower_bound"] > 0
    # Looks that follow one another at once see everything.
    near = polling_cost(PAPER, [1e-6]).optima[0].best
    assert near.cost == pytest.approx(optimize(PAPER).best.cost, rel=1e-4)
    with pytest.raises(InputError, match="check_every"):
        polling_cost(PAPER, [-1.0])


def test_constraints_and_fronts_name_resume_points():
    optimum = optimize(SMALL)
    kept = constrain(optimum, at_most={"switch_rate": 0.2})
    assert kept.best is not None
    assert kept.best.measures["switch_rate"] <= 0.2
    listed = pareto(optimum).to_json()["policies"]
    assert any("resume" in row for row in listed)


def test_what_a_certificate_would_ignore_is_refused():
    with pytest.raises(InputError, match="the certificate"):
        certify(SMALL)
    with pytest.raises(InputError, match="without a memory"):
        certify(PAPER, optimize(PAPER, resume=True))


def test_a_certificate_knows_several_indexers():
    scenario = examples.load("indexers").replace(capacity=6)
    found = certify(scenario)
    assert found.threshold_is_best is not None
    assert found.seen_bound == pytest.approx(controllers_bound(MemoryProcess(scenario)), rel=1e-6)
