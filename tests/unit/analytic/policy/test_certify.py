"""Certificates: against every table of small scenarios, and against linear programs over occupation measures."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from analytic import certify, optimize, solve
from analytic.policy.branch_and_bound import BranchAndBound, SearchSettings
from analytic.policy.decision import DecisionProcess, Question
from analytic.policy.tables import costs_of_tables, sorted_tables
from crawltwin.model import (
    BMAP,
    CostWeights,
    InputError,
    LevelPolicy,
    ModeMatrices,
    PhaseType,
    Scenario,
    TooLargeError,
    examples,
)
from crawltwin.model.laws import families
from crawltwin.model.rates import RATES
from tests.oracle.brute_force import full_chain

WEIGHTS = st.floats(0.0, 50.0).map(lambda value: round(value, 3))
RATE = st.floats(0.1, 5.0).map(lambda value: round(value, 3))


def every_table(scenario):
    numbers = scenario.arrivals.robot_numbers
    return sorted_tables(np.array(list(product(numbers, repeat=scenario.capacity + 1)), dtype=np.int64))


@st.composite
def scenarios(draw):
    """Two or three numbers of robots in no order of rates, so that thresholds need not be the best."""
    modes = {}
    for robots in range(1, draw(st.integers(2, 3)) + 1):
        a, b, c, d, e, f = (draw(RATE) for _ in range(6))
        modes[robots] = BMAP([[[-a - b - c, a], [d, -d - e - f]], [[b, 0], [0, e]], [[0, c], [f, 0]]])
    return Scenario(
        capacity=draw(st.integers(1, 4)),
        arrivals=ModeMatrices(modes),
        service=families.hyperexponential([0.5, 0.5], [draw(RATE), draw(RATE)]),
        obsolescence=draw(st.one_of(st.none(), RATE.map(families.exponential))),
        cost=CostWeights(*(draw(WEIGHTS) for _ in range(5))),
        admission=draw(st.sampled_from(["partial", "all-or-nothing", "overflow"])),
    )


@given(scenarios())
@settings(max_examples=40)
def test_no_table_beats_the_certified_best(scenario):
    tables = every_table(scenario)
    costs = costs_of_tables(scenario, tables)
    certificate = certify(scenario)
    assert certificate.proven
    assert certificate.level_cost == pytest.approx(costs.min(), rel=1e-8, abs=1e-9)
    assert certificate.level_bound <= costs.min() + 1e-9 * abs(costs.min()) + 1e-10
    assert certificate.seen_bound <= certificate.level_bound + 1e-9 * abs(certificate.level_bound) + 1e-10
    falling = (np.diff(tables, axis=1) <= 0).all(axis=1)
    assert certificate.threshold.cost == pytest.approx(costs[falling].min(), rel=1e-9, abs=1e-10)
    excess = costs[falling].min() - costs.min()
    if excess > 1e-6 * abs(costs.min()):
        assert certificate.threshold_is_best is False
        assert certificate.advantage == pytest.approx(excess, rel=1e-4)


def test_a_policy_that_rises_with_the_level_is_found():
    # Two robots bring few pages, one brings many: the best is one robot when empty and two when full.
    scenario = Scenario(
        capacity=4,
        arrivals=ModeMatrices({1: BMAP.poisson(5.0), 2: BMAP.poisson(0.5)}),
        service=families.exponential(1.0),
        cost=CostWeights(loss=10, starvation=50),
    )
    certificate = certify(scenario)
    assert certificate.threshold_is_best is False
    assert list(certificate.level_table) == sorted(certificate.level_table)
    assert len(set(certificate.level_table)) == 2
    assert "beats every threshold policy" in certificate.in_words()


@pytest.mark.parametrize(
    ("name", "capacity"), [("paper", 3), ("paper", 5), ("hyperexponential", 3), ("thinned", 4), ("scaled", 3)]
)
def test_threshold_is_best_of_all_tables_in_the_examples(name, capacity):
    scenario = examples.load(name).replace(policy=None, capacity=capacity)
    costs = costs_of_tables(scenario, every_table(scenario))
    certificate = certify(scenario)
    assert certificate.threshold_is_best
    assert certificate.threshold.cost == pytest.approx(costs.min(), rel=1e-10)
    assert certificate.gap <= 1e-9 * certificate.threshold.cost


@pytest.mark.parametrize(("factor", "table"), [(3, [4, 4, 1, 3, 1, 1]), (5, [4, 4, 1, 1, 3, 1])])
def test_table_3_has_rows_where_no_threshold_policy_is_best(factor, table):
    """Found by the certificate; here every table of the two classes is evaluated, and the winner solved on its own."""
    scenario = examples.load("paper").replace(policy=None)
    scenario = scenario.replace(service=PhaseType(scenario.service.initial, factor * scenario.service.subgenerator))
    tables = every_table(scenario)
    costs = costs_of_tables(scenario, tables)
    falling = (np.diff(tables, axis=1) <= 0).all(axis=1)
    assert tables[costs.argmin()].tolist() == table
    alone = solve(scenario.replace(policy=LevelPolicy(table)), method="block").measures["cost"]
    assert alone == pytest.approx(costs.min(), rel=1e-11)
    assert alone < costs[falling].min() - 0.5
    certificate = certify(scenario)
    assert certificate.threshold_is_best is False
    assert list(certificate.level_table) == table
    assert certificate.advantage == pytest.approx(costs[falling].min() - alone, rel=1e-8)


def least_by_linear_program(scenario, weights):
    """Least average cost over occupation measures, from the oracle's chain; no response time in the cost."""
    chains = []
    for robots in scenario.arrivals.robot_numbers:
        D = scenario.arrivals.mode(robots).D
        service, stale = scenario.service.lumped(), scenario.obsolescence.lumped()
        chains.append(
            full_chain(
                lambda level, D=D: D,
                (service.initial, service.subgenerator),
                (stale.initial, stale.subgenerator),
                scenario.capacity,
            )
        )
    order = {state: index for index, state in enumerate(chains[0].states)}
    blocks, costs = [], []
    for robots, chain in zip(scenario.arrivals.robot_numbers, chains, strict=True):
        at = np.array([order[state] for state in chain.states])
        Q = np.zeros((len(order), len(order)))
        Q[np.ix_(at, at)] = chain.generator.toarray()
        cost = np.zeros(len(order))
        cost[at] = (
            weights.loss * chain.loss_rates
            + weights.obsolescence * chain.obsolescence_rates
            + weights.robots * robots
            + weights.starvation * (chain.levels == 0)
        )
        blocks.append(Q.T)
        costs.append(cost)
    balance = np.vstack([np.hstack(blocks), np.ones((1, len(order) * len(chains)))])
    right = np.append(np.zeros(len(order)), 1.0)
    found = linprog(np.concatenate(costs), A_eq=balance, b_eq=right, method="highs")
    return found.fun


@pytest.mark.parametrize(("name", "capacity"), [("paper", 5), ("measured", 6), ("hyperexponential", 4), ("scaled", 3)])
def test_bound_for_a_controller_that_sees_everything_is_the_linear_program(name, capacity):
    scenario = examples.load(name).replace(policy=None, capacity=capacity)
    scenario = scenario.replace(
        cost=CostWeights(
            scenario.cost.loss, scenario.cost.obsolescence, 0.0, scenario.cost.robots, scenario.cost.starvation
        )
    )
    expected = least_by_linear_program(scenario, scenario.cost)
    certificate = certify(scenario)
    assert certificate.seen_bound == pytest.approx(expected, rel=1e-7)
    assert certificate.seen_bound <= expected * (1 + 1e-9)


@pytest.mark.parametrize(("name", "capacity"), [("paper", 5), ("measured", 20), ("thinned", 6)])
def test_bound_with_the_response_time_as_a_quotient(name, capacity):
    """min over V of a V + min {c x : (g - V h) x <= 0}: a linear program for each V of a grid, none below the bound."""
    scenario = examples.load(name).replace(policy=None, capacity=capacity)
    process = DecisionProcess(scenario)
    columns = {rate: process.rewards[:, :, k].ravel() for k, rate in enumerate(RATES)}
    Q = np.hstack([events.matrix.toarray().T for events in process.events])
    balance = np.vstack([Q, np.ones((1, Q.shape[1]))])
    right = np.append(np.zeros(len(Q)), 1.0)
    certificate = certify(scenario)

    def least(V):
        extra = (columns["sojourn_served"] - V * columns["served"])[None, :]
        found = linprog(process.linear.ravel(), extra, [0.0], balance, right, method="highs")
        return scenario.cost.response * V + found.fun if found.success else np.inf

    table = np.searchsorted(process.robot_numbers, certificate.level_table)
    own = process.relax(Question.of(table, len(process.robot_numbers)))
    V = own.rates[RATES.index("sojourn_served")] / own.rates[RATES.index("served")]
    grid = np.concatenate([np.linspace(0.4, 2.0, 33) * V])
    values = np.array([least(v) for v in grid])
    assert (values >= certificate.seen_bound * (1 - 1e-7)).all()
    # The bound is attained: close to the least of the grid, refined once.
    near = grid[values.argmin()] + np.linspace(-1, 1, 41) * (grid[1] - grid[0])
    assert min(least(v) for v in near) == pytest.approx(certificate.seen_bound, rel=2e-4)


def test_a_limit_of_nodes_leaves_an_honest_gap():
    scenario = examples.load("thinned").replace(policy=None, capacity=8)
    full, short = certify(scenario), certify(scenario, max_nodes=5)
    assert full.proven
    assert not short.proven
    assert short.threshold_is_best is None
    assert short.level_bound <= full.level_cost
    assert short.gap > 0
    assert short.in_words().startswith("Not proved: no better level-based policy was found, but one might cost up to")
    assert "the search reached its limit after 5 nodes" in short.in_words()


def test_a_search_that_is_asked_to_stop_keeps_the_bounds_it_has():
    scenario = examples.load("thinned").replace(policy=None, capacity=8)
    full, told = certify(scenario), []

    def stop(nodes, cost, bound):
        told.append((nodes, cost, bound))
        return nodes >= 3

    found = certify(scenario, progress=stop)
    # Told before the first node and after each; the search over controllers that see the phases ends at once.
    assert [nodes for nodes, _, _ in told][:4] == [0, 1, 2, 3]
    assert max(nodes for nodes, _, _ in told) == 3
    assert not found.proven
    assert found.level_bound == told[3][2] <= full.level_cost <= found.level_cost * (1 + 1e-12)
    assert found.seen_bound <= full.seen_cost
    assert found.to_json()["reason"] == "the search was interrupted after 3 nodes"
    assert full.to_json()["reason"] == ""


def test_bounds_that_take_long_end_the_search_before_the_nodes_do(monkeypatch):
    """Two hundred nodes of a wide window would be hours: the operations are counted, the same on every machine."""
    scenario = examples.load("hyperexponential").replace(policy=None, capacity=4)
    optimum = optimize(scenario)
    monkeypatch.setattr("analytic.policy.certificate.MAX_WORK", 0.0)
    monkeypatch.setattr("analytic.policy.window.search.MAX_STATES", 60)
    whole = certify(scenario, optimum)
    monkeypatch.setattr("analytic.policy.certificate.MOST_WORK", 1.0)
    short, again = certify(scenario, optimum), certify(scenario, optimum)
    assert short.nodes == 0 < whole.nodes
    assert (short.level_bound, short.seen_bound) == (again.level_bound, again.seen_bound)
    assert short.level_bound <= whole.level_cost
    assert "the search reached its limit after 0 nodes" in short.in_words()
    assert "the clocks of only some waiting pages are followed" in whole.in_words()


def two_speeds(switching, speed=1.0):
    """Two arrival phases that hardly communicate, or one of them very fast."""

    def mode(r):
        fast, slow = r * speed, 0.3 * r
        leave = [[-fast - switching, switching], [switching, -slow - switching]]
        return BMAP([leave, [[fast / 2, 0], [0, slow]], [[fast / 2, 0], [0, 0]]])

    return Scenario(
        capacity=4,
        arrivals=ModeMatrices({r: mode(r) for r in (1, 2, 3)}),
        service=families.hyperexponential([0.5, 0.5], [1.0, 3.0]),
        obsolescence=families.exponential(5.0),
        cost=CostWeights(5, 10, 2, 20, 300),
    )


@pytest.mark.parametrize("scenario", [two_speeds(1e-3), two_speeds(1e-6), two_speeds(1e-9), two_speeds(0.1, 1e6)])
def test_nearly_decomposable_and_stiff_models_have_true_gaps(scenario):
    """Rounding is taken off the bounds: they never pass the true optimum, however badly the values are known."""
    costs = costs_of_tables(scenario, every_table(scenario))
    certificate = certify(scenario)
    assert certificate.level_cost == pytest.approx(costs.min(), rel=1e-9)
    assert certificate.level_bound <= costs.min() * (1 + 1e-13)
    assert certificate.gap <= 1e-4 * costs.min()
    assert certificate.threshold_is_best is not False


def test_rates_that_no_arithmetic_can_compare_leave_a_bound_that_a_cost_can_have(recwarn):
    """Bellman steps lose all their digits to rates of 1e30 and 1e-30: no cost is negative all the same."""

    def mode(r):
        fast, slow = 1e30 * r, 1e-30 * r
        return BMAP([[[-fast - 1e-20, 1e-20], [1e20, -1e20 - slow]], [[fast, 0], [0, slow]]])

    scenario = Scenario(
        capacity=3,
        arrivals=ModeMatrices({r: mode(r) for r in (1, 2, 3)}),
        service=families.hyperexponential([0.5, 0.5], [1e-25, 3.0]),
        obsolescence=families.exponential(5.0),
        cost=CostWeights(5, 10, 2, 20, 300),
    )
    found = certify(scenario, max_nodes=200)
    assert 0 <= found.seen_bound <= found.level_bound <= found.level_cost
    assert not recwarn.list
    if not found.proven:
        assert found.reason in found.in_words()


def test_overload_without_obsolescence():
    """Under some policies the empty system is met once in 1e60: values must be counted from where the chain is."""
    scenario = examples.load("paper").replace(obsolescence=None, policy=None, capacity=100)
    scenario = scenario.replace(service=families.exponential(2.0))
    certificate = certify(scenario)
    assert certificate.threshold_is_best
    assert certificate.threshold.robots == (1,)


def test_monotone_search_agrees_with_the_free_one_restricted():
    scenario = examples.load("paper").replace(policy=None, capacity=4)
    process = DecisionProcess(scenario)
    free = np.ones((5, 4), dtype=bool)
    found = BranchAndBound(process, free, SearchSettings(monotone=True)).run(np.array([3, 3, 2, 1, 0]))
    tables = every_table(scenario)
    falling = tables[(np.diff(tables, axis=1) <= 0).all(axis=1)]
    costs = costs_of_tables(scenario, falling)
    assert found.complete
    assert found.cost == pytest.approx(costs.min(), rel=1e-11)


def test_to_json_is_complete():
    answer = certify(examples.load("paper")).to_json()
    assert answer["threshold_is_best"] is True
    assert answer["level"]["table"] == [3, 3, 3, 1, 1, 1]
    assert answer["phase_aware"]["lower_bound"] < answer["level"]["lower_bound"]


@pytest.mark.parametrize("most_states", [30_000, 60])
def test_certificates_by_windows_have_true_gaps(monkeypatch, most_states):
    """Where the explicit chain is too large: the same scenario with its bounds from a window, wide and narrow."""
    scenario = examples.load("hyperexponential").replace(policy=None, capacity=4)
    exact = certify(scenario)
    monkeypatch.setattr("analytic.policy.certificate.MAX_WORK", 0.0)
    monkeypatch.setattr("analytic.policy.window.search.MAX_STATES", most_states)
    found = certify(scenario)
    assert found.level_table == exact.level_table
    assert found.level_cost == pytest.approx(exact.level_cost, rel=1e-9)
    assert found.level_bound <= exact.level_cost
    assert found.seen_bound <= exact.seen_cost
    assert found.gap <= (2e-4 if most_states > 60 else 0.05) * exact.level_cost
    assert found.threshold_is_best is None
    assert "might cost up to" in found.in_words()


def test_costs_are_needed():
    with pytest.raises(InputError, match="cost must be given to compare policies; got nothing at cost"):
        certify(examples.load("paper").replace(cost=None))


def test_too_many_clocks_are_refused_before_anything_is_built():
    with pytest.raises(TooLargeError, match="a window of one ordered page must have at most 600,000 states"):
        certify(examples.load("hyperexponential").replace(policy=None, capacity=400))
