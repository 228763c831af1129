"""The best thresholds: the paper's tables, every way of finding them, and what the result says of its proof."""

import math
from itertools import product

import numpy as np
import pytest

from analytic import optimize, solve
from analytic.policy.banded_table import PolicyTables
from analytic.policy.block_table import BlockTables
from analytic.policy.tables import monotone_tables, sorted_tables, table_of, threshold_vectors, thresholds_of
from crawltwin.model import CostWeights, InputError, LevelPolicy, ThresholdPolicy, examples
from crawltwin.model.laws import families
from crawltwin.model.rates import Rates
from tests.unit.analytic.test_table_1 import TABLE_1


@pytest.mark.parametrize("method", ["enumerate", "bound", "search"])
def test_table_1_of_the_paper(method):
    optimum = optimize(examples.load("paper"), method=method)
    assert {item.robots for item in optimum.policies} == set(TABLE_1)
    for item in optimum.policies:
        thresholds, cost = TABLE_1[item.robots]
        assert item.thresholds == thresholds
        assert item.cost == pytest.approx(cost, abs=0.0101)
    assert optimum.best.robots == (3, 1)


def test_enumeration_compares_every_policy_and_agrees_with_solving_each():
    scenario = examples.load("paper").replace(policy=None, capacity=3)
    optimum = optimize(scenario)
    assert len(optimum.tables) == math.comb(3 + 4, 3)
    for table, cost in zip(optimum.tables.tolist(), optimum.costs, strict=True):
        assert cost == pytest.approx(solve(scenario.replace(policy=LevelPolicy(table))).measures["cost"], rel=1e-12)


@pytest.mark.parametrize("admission", ["partial", "all-or-nothing", "overflow"])
@pytest.mark.parametrize("name", ["hyperexponential", "scaled"])
def test_shared_blocks_agree_with_solving_each(name, admission):
    scenario = examples.load(name).replace(policy=None, capacity=3, admission=admission)
    tables = monotone_tables(scenario.arrivals.robot_numbers, 3)[::9]
    costs = Rates.from_table(BlockTables(scenario).rates(tables)).cost(scenario.cost)
    for table, cost in zip(tables.tolist(), costs, strict=True):
        assert cost == pytest.approx(solve(scenario.replace(policy=LevelPolicy(table))).measures["cost"], rel=1e-11)


def test_both_shared_recursions_agree_where_both_apply():
    scenario = examples.load("thinned").replace(policy=None, capacity=4)
    tables = sorted_tables(np.array(list(product([1, 2, 4], repeat=5))))
    np.testing.assert_allclose(
        BlockTables(scenario).rates(tables), PolicyTables(scenario).rates(tables), rtol=1e-11, atol=1e-14
    )


def test_bounds_prove_what_enumeration_finds_at_larger_capacity():
    scenario = examples.load("paper").replace(policy=None, capacity=12)
    enumerated, bounded = optimize(scenario, method="enumerate"), optimize(scenario, method="bound")
    assert bounded.method == "bounded"
    assert len(bounded.tables) < len(enumerated.tables)
    for one, other in zip(enumerated.policies, bounded.policies, strict=True):
        assert one.robots == other.robots
        assert other.cost == pytest.approx(one.cost, rel=1e-9)
        assert other.lower_bound <= one.cost * (1 + 1e-12)
        if one.strict_cost is not None and other.strict_proof != "searched":
            assert other.strict_cost == pytest.approx(one.strict_cost, rel=1e-9)


def test_large_capacity_is_bounded_not_refused():
    optimum = optimize(examples.load("paper").replace(policy=None, capacity=200))
    assert optimum.method == "bounded"
    assert optimum.best.robots == (3, 1)
    assert optimum.best.thresholds == (3,)
    # Table 2: "the results for K > 30 are approximately the same as for K = 30".
    assert optimum.best.cost == pytest.approx(57.2, abs=0.1)
    assert all(item.proof in {"enumerated", "bounded"} for item in optimum.policies)


def test_the_result_says_what_was_searched():
    optimum = optimize(examples.load("hyperexponential"), method="search")
    assert optimum.method == "searched"
    proofs = {len(item.robots): item.proof for item in optimum.policies}
    assert proofs == {1: "enumerated", 2: "enumerated", 3: "searched", 4: "searched"}
    assert optimum.best == optimize(examples.load("hyperexponential")).best


def test_chains_too_wide_for_blocks_are_solved_one_by_one(monkeypatch):
    scenario = examples.load("hyperexponential").replace(policy=None, capacity=3)
    expected = optimize(scenario)
    monkeypatch.setattr("analytic.policy.tables.MAX_WIDTH", 1)
    monkeypatch.setattr("analytic.policy.search.MAX_WIDTH", 1)
    monkeypatch.setattr("analytic.policy.window.search.bounding.__defaults__", (0.0,))
    found = optimize(scenario)
    assert found.method == "searched"
    assert found.best.thresholds == expected.best.thresholds
    assert found.lower_bound <= expected.best.cost
    assert found.gap <= 2e-4 * expected.best.cost
    assert "No threshold policy costs less than" in found.proof_in_words()
    assert expected.proof_in_words() == "Every threshold policy was evaluated."
    for one, other in zip(expected.policies, found.policies, strict=True):
        assert other.cost == pytest.approx(one.cost, rel=1e-9)


def test_the_words_do_not_claim_more_than_was_done():
    """The best is a pair, whose set was enumerated; of larger sets something else is true."""
    assert "Every" not in optimize(examples.load("hyperexponential"), method="search").proof_in_words()
    assert "lower bounds prove it" in optimize(examples.load("paper"), method="bound").proof_in_words()


def test_strict_thresholds_use_every_number():
    for item in optimize(examples.load("paper")).policies:
        table = table_of(item.robots, item.strict_thresholds, 5)
        assert set(table) == set(item.robots)
        assert item.strict_cost >= item.cost


def test_too_few_levels_for_strict_thresholds():
    optimum = optimize(examples.load("paper").replace(policy=None, capacity=1))
    by_set = {item.robots: item for item in optimum.policies}
    assert by_set[4, 3, 1].strict_thresholds is None
    assert by_set[4, 3, 1].thresholds == (0, 0)


def test_curve_has_all_thresholds_whatever_the_method():
    scenario = examples.load("paper")
    one, other = (optimize(scenario, method=m).curve([1, 3, 4]) for m in ("enumerate", "bound"))
    assert list(one.columns) == ["j1", "j2", "cost"]
    assert len(one) == 15
    np.testing.assert_allclose(one["cost"], other["cost"], rtol=1e-12)


def test_a_single_number_of_robots():
    optimum = optimize(examples.load("mm1k"))
    assert optimum.best.policy == ThresholdPolicy([1])
    assert optimum.profit == 0


def test_costs_are_needed():
    with pytest.raises(InputError, match="cost must be given to optimise; got nothing at cost"):
        optimize(examples.load("paper").replace(cost=None))


def test_unknown_method():
    with pytest.raises(InputError, match="method must be one of auto, enumerate, bound, search; got 'guess'"):
        optimize(examples.load("paper"), method="guess")


def test_to_json_names_the_proof():
    answer = optimize(examples.load("paper"), method="bound").to_json()
    assert answer["method"] == "bounded"
    assert answer["best"] == {
        "robots": [3, 1],
        "thresholds": [2],
        "cost": pytest.approx(63.54, abs=0.01),
        "proof": "enumerated",
        "error": 0.0,
        "lower_bound": answer["best"]["cost"],
    }
    assert len(answer["curves"]) == 6


def test_threshold_vectors_and_tables_are_two_ways_to_say_it():
    for thresholds in threshold_vectors(3, 4):
        assert thresholds_of(table_of([4, 2, 1], thresholds, 4), [4, 2, 1]) == thresholds
    assert len(list(threshold_vectors(3, 4))) == 10
    assert len(list(threshold_vectors(3, 4, strict=True))) == 6


def test_no_response_where_nothing_is_served():
    rates = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    assert Rates.from_table(rates).cost(CostWeights(loss=1.0)) == 1.0
    assert np.isinf(Rates.from_table(rates).cost(CostWeights(response=1.0)))


def test_progress_reaches_the_end():
    calls = []
    optimize(examples.load("paper"), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1][0] == calls[-1][1]


def test_overload_without_obsolescence_is_bounded_too():
    scenario = examples.load("paper").replace(
        obsolescence=None, capacity=40, service=families.exponential(1.0), cost=CostWeights(loss=5, starvation=10)
    )
    enumerated, bounded = (optimize(scenario, method=m) for m in ("enumerate", "bound"))
    assert bounded.best.cost == pytest.approx(enumerated.best.cost, rel=1e-9)
    assert bounded.method == "bounded"


@pytest.mark.parametrize("admission", ["partial", "all-or-nothing", "overflow"])
def test_level_distributions_are_those_of_solve(admission):
    scenario = examples.load("measured").replace(capacity=6, policy=None, admission=admission)
    tables = np.array([[4, 4, 2, 1, 1, 1, 1], [3] * 7, [1, 4, 1, 4, 1, 4, 1]])
    found = PolicyTables(scenario).level_distributions(tables)
    for table, masses in zip(tables.tolist(), found, strict=True):
        solved = solve(scenario.replace(policy=LevelPolicy(table)), method="direct")
        np.testing.assert_allclose(masses, solved.measures["level_distribution"], rtol=1e-9, atol=1e-15)
