"""Bounds by windows: never above what the explicit chain finds, and equal to it once the window holds all pages."""

from itertools import combinations, product

import numpy as np
import pytest

from analytic import certify, optimize, solve
from analytic.chain.primitives import Chain
from analytic.chain.rewards import Prospects
from analytic.policy.branch_and_bound import BranchAndBound, SearchSettings
from analytic.policy.decision import DecisionProcess, Question
from analytic.policy.tables import table_of
from analytic.policy.window.process import WindowProcess
from analytic.policy.window.search import bound_thresholds
from analytic.policy.window.states import widest_window, window_states
from analytic.policy.window.tables import WindowTables
from crawltwin.model import LevelPolicy, PhaseType, TooLargeError, examples
from tests.random_models import random_scenario

GAMMA = np.array([[-1.0, 0.4, 0.0], [0.2, -0.9, 0.3], [0.0, 0.5, -0.8]])


def lumped(phases, size):
    """Window and counts of a string of phases, oldest first."""
    return phases[:size], tuple(phases[size:].count(r) for r in range(len(GAMMA)))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_moves_of_the_window_are_those_of_the_pages(size):
    """Every string of up to four clock phases, state by state: where a page leaves, joins or a clock turns."""
    states = window_states(4, size, GAMMA)
    names = {}
    for n in range(5):
        for x in range(states.first[n], states.first[n + 1]):
            window = tuple(int(r) for r in states.window[x] if r >= 0)
            names[window, tuple(states.behind[x].tolist())] = x
    assert len(names) == states.first[-1]
    for n in range(5):
        for phases in product(range(3), repeat=n):
            x = names[lumped(phases, size)]
            for r in range(3):
                if n < 4:
                    assert states.joined[x, r] == names[lumped((*phases, r), size)]
            for place in range(n):
                without = names[lumped(phases[:place] + phases[place + 1 :], size)]
                if place < size:
                    # The phase that moves up is that of the oldest page behind the window.
                    moving = phases[size] if n > size else 0
                    assert states.left[x, place, moving] == without
                else:
                    assert states.left_behind[x, phases[place]] == without
            turned = {}
            for place, r in enumerate(phases):
                for s in range(3):
                    if s != r and GAMMA[r, s] > 0:
                        after = names[lumped((*phases[:place], s, *phases[place + 1 :]), size)]
                        turned[after] = turned.get(after, 0.0) + GAMMA[r, s]
            found = {}
            for target, rate in zip(states.turns[x].tolist(), states.turn_rates[x].tolist(), strict=True):
                if rate > 0:
                    found[target] = found.get(target, 0.0) + rate
            assert found == pytest.approx(turned)


def scenarios():
    """Small random scenarios with two clock phases that differ, and several numbers of robots."""
    found = []
    for seed in range(200):
        scenario = random_scenario(seed, max_capacity=5, max_clock=2)
        stale = scenario.obsolescence
        if stale is not None and stale.lumped().order == 2 and len(scenario.arrivals.robot_numbers) > 1:
            found.append(scenario)
    return found[:8]


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda s: s.content_hash[:6])
def test_bounds_rise_with_the_window_to_those_of_the_explicit_chain(scenario):
    exact = DecisionProcess(scenario)
    rng = np.random.default_rng(1)
    actions, levels = len(exact.robot_numbers), scenario.capacity + 1
    table = rng.integers(0, actions, levels)
    some = rng.random((levels, actions)) < 0.6
    some[np.arange(levels), table] = True
    for allowed in (np.ones((levels, actions), dtype=bool), some, np.eye(actions, dtype=bool)[table]):
        question = Question(allowed, float(rng.uniform(0, 3)), float(rng.uniform(0, 3)))
        truth, scale = exact.relax(question).gain, exact.cost_scale
        bounds = [WindowProcess(scenario, window).relax(question).bound for window in range(1, max(exact.chain.top, 2))]
        assert all(bound <= truth + 1e-12 * scale for bound in bounds)
        assert (np.diff(bounds) >= -1e-5 * scale).all()
        assert bounds[-1] == pytest.approx(truth, abs=2e-6 * scale)


def test_rates_of_the_widest_window_are_those_of_the_chain():
    scenario = examples.load("scaled").replace(policy=None, capacity=4)
    process, exact = WindowProcess(scenario, 3), DecisionProcess(scenario)
    question = Question.of(np.array([3, 3, 1, 0, 0]), len(exact.robot_numbers))
    np.testing.assert_allclose(process.relax(question).rates, exact.relax(question).rates, rtol=1e-5)


@pytest.mark.parametrize("name", ["hyperexponential", "scaled"])
def test_booked_sojourn_times_are_lower_bounds(name):
    """Against the tagged page's explicit chain, with its own clock averaged and the pages ahead lumped."""
    scenario = examples.load(name).replace(policy=None, capacity=5)
    for window in (1, 2, 4):
        process = WindowProcess(scenario, window)
        booked, _ = process._booked
        chain = process.chain
        waits = Prospects.of(chain).wait
        states, R = process.states, chain.obsolescence_phases
        for n in range(chain.top - 1):
            exact = waits[n + 1].reshape(chain.service_phases, -1, R) @ chain.gamma
            for index, phases in enumerate(product(range(R), repeat=n)):
                own = phases[:window]
                counts = [phases[window:].count(r) for r in range(R)]
                here = (states.window[:, : len(own)] == own).all(axis=1) & (states.behind == counts).all(axis=1)
                here &= (states.window[:, len(own) :] == -1).all(axis=1)
                (x,) = np.flatnonzero(here)
                assert (booked[0, x] <= exact[:, index]).all()
                if window >= chain.top - 2:
                    np.testing.assert_allclose(booked[0, x], exact[:, index], rtol=1e-10)


@pytest.mark.parametrize(("capacity", "window", "most"), [(5, 1, 0.02), (6, 2, 0.01), (7, 4, 0.002)])
def test_the_best_threshold_policy_is_found_and_the_gap_is_true(capacity, window, most):
    scenario = examples.load("hyperexponential").replace(policy=None, capacity=capacity)
    truth = optimize(scenario, method="enumerate")
    found = bound_thresholds(WindowProcess(scenario, window), table_of([4], [], capacity))
    best = truth.best
    numbers = np.array(scenario.arrivals.robot_numbers)
    assert tuple(numbers[found.table]) == table_of(best.robots, best.thresholds, capacity)
    assert found.cost == pytest.approx(best.cost, rel=1e-9)
    assert found.bound <= best.cost
    assert best.cost - found.bound <= most * best.cost


@pytest.mark.slow
def test_no_policy_of_a_larger_chain_costs_less_than_the_bound():
    """K = 12, 16,382 states: every pair of robots and some policies of three, each solved exactly without windows."""
    scenario = examples.load("hyperexponential").replace(policy=None, capacity=12)
    found = optimize(scenario)
    assert found.method == "searched"
    assert 0 < found.gap <= 2e-4 * found.best.cost
    tables = [table_of(pair, [j], 12) for pair in combinations((4, 3, 2, 1), 2) for j in range(12)]
    tables += [table_of((4, 3, 1), [j, k], 12) for j in range(3) for k in range(j, 4)]
    solved = [solve(scenario.replace(policy=LevelPolicy(table)), method="matrix-free") for table in tables]
    costs = np.array([solution.measures["cost"] for solution in solved])
    assert costs.min() >= found.lower_bound
    assert tables[int(costs.argmin())] == table_of(found.best.robots, found.best.thresholds, 12)
    assert found.best.cost == pytest.approx(costs.min(), abs=2 * found.best.error + 1e-9)


def test_bounds_of_the_certificate_are_not_passed():
    """Level-based policies and controllers that see every phase: the window's bounds lie below the certificate's."""
    scenario = examples.load("hyperexponential").replace(policy=None, capacity=5)
    certificate = certify(scenario)
    process, free = WindowProcess(scenario, 2), np.ones((6, 4), dtype=bool)
    start = np.searchsorted(process.robot_numbers, certificate.level_table)
    level = BranchAndBound(process, free, SearchSettings(tolerance=1e-4)).run(start)
    seen = BranchAndBound(process, free, SearchSettings(tolerance=1e-4, by_level=False)).run(start)
    assert certificate.level_cost * 0.99 <= level.bound <= certificate.level_cost
    assert certificate.seen_bound * 0.99 <= seen.bound <= certificate.seen_cost


def test_compared_costs_are_those_of_solve_but_for_the_window(monkeypatch):
    scenario = examples.load("hyperexponential").replace(policy=None, capacity=7)
    tables = np.array([table_of([3, 1], [1], 7), table_of([4, 2], [3], 7)])
    solved = [solve(scenario.replace(policy=LevelPolicy(table))).rates for table in tables.tolist()]
    for most, within in ((10_000, 1e-8), (300, 0.02)):
        monkeypatch.setattr("analytic.policy.window.tables.MAX_STATES", most)
        for own, rates in zip(solved, WindowTables(scenario).rates(tables), strict=True):
            assert rates[3] == pytest.approx(float(own.served), rel=within)
            assert rates[6] == pytest.approx(float(own.sojourn_served), rel=within)


def test_the_widest_window_fits():
    chain = Chain.of(examples.load("hyperexponential").replace(capacity=20, policy=LevelPolicy([1] * 21)))
    assert widest_window(chain, 30_000) == 6
    assert widest_window(chain, 10**9) == 19
    assert widest_window(chain, 100) == 1
    with pytest.raises(TooLargeError, match="a window of one ordered page must have at most 1,000 states; got 1,524"):
        widest_window(chain, 50)


def test_clocks_that_cannot_move_make_no_difference():
    """Two phases with one exit rate are one phase: the relaxation hides nothing, whatever the window."""
    stale = PhaseType([0.5, 0.5], [[-1.0, 0.0], [0.0, -1.0 - 1e-9]])
    scenario = examples.load("paper").replace(policy=None, capacity=6, obsolescence=stale)
    exact, question = DecisionProcess(scenario), Question(np.ones((7, 4), dtype=bool), 1.0, 1.0)
    assert WindowProcess(scenario, 1).relax(question).bound == pytest.approx(exact.relax(question).gain, rel=1e-6)
