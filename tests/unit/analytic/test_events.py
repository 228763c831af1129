"""The chain taken apart: its parts add up to the generator, and they count what the oracle's chain counts."""

import numpy as np
import pytest

from analytic.chain import Chain
from analytic.events import CLOCKS, EventChain
from analytic.generator import Generator
from analytic.rewards import Prospects, measures_of_rates, state_rewards
from analytic.solve import solve
from crawltwin.model import SCALAR_MEASURES, ThresholdPolicy, examples
from tests.oracle.brute_force import full_chain, level_of

SMALL = [(name, admission) for name in examples.EXAMPLES for admission in ("partial", "all-or-nothing", "overflow")]


def small(name, admission):
    scenario = examples.load(name)
    known = scenario.arrivals.robot_numbers
    policy = ThresholdPolicy([known[-1], known[0]], [1])
    return scenario.replace(capacity=3, admission=admission, policy=policy)


@pytest.mark.parametrize(("name", "admission"), SMALL)
def test_the_parts_add_up_to_the_generator(name, admission):
    chain = Chain.of(small(name, admission))
    events = EventChain.of(chain)
    parts = sum(events.part(clock).toarray() for clock in CLOCKS)
    expected = Generator.of(chain).matrix.toarray()
    np.testing.assert_allclose(events.generator.toarray(), expected, atol=1e-14 * np.abs(expected).max())
    np.testing.assert_allclose(parts, expected, atol=1e-14 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "admission"), SMALL)
def test_counts_agree_with_a_chain_written_state_by_state(name, admission):
    scenario = small(name, admission)
    chain = Chain.of(scenario)
    events = EventChain.of(chain)
    p = np.linalg.lstsq(
        np.vstack([events.generator.toarray().T, np.ones(events.states)]), np.append(np.zeros(events.states), 1.0)
    )[0]
    policy = scenario.policy_in_force
    stale = chain.obsolescence
    oracle = full_chain(
        lambda level: scenario.arrivals.mode(policy.robots_at(level)).D,
        (chain.service.initial, chain.service.subgenerator),
        None if stale is None else (stale.initial, stale.subgenerator),
        scenario.capacity,
        admission,
    )
    Q = oracle.generator.toarray()
    q = np.linalg.lstsq(np.vstack([Q.T, np.ones(len(Q))]), np.append(np.zeros(len(Q)), 1.0))[0]
    for count, rates in (
        ("pages", oracle.arrival_rates),
        ("lost", oracle.loss_rates),
        ("obsolete", oracle.obsolescence_rates),
    ):
        assert p @ events.count_rate(count) == pytest.approx(q @ rates, rel=1e-9, abs=1e-13)
    served = sum(
        q[index] * chain.service.exit_rates[state[1]]
        for index, state in enumerate(oracle.states)
        if level_of(state) > 0
    )
    assert p @ events.count_rate("served") == pytest.approx(served, rel=1e-9)


@pytest.mark.parametrize(("name", "admission"), SMALL)
def test_measures_from_rewards_agree_with_solve(name, admission):
    scenario = small(name, admission)
    chain = Chain.of(scenario)
    events = EventChain.of(chain)
    p = np.linalg.lstsq(
        np.vstack([events.generator.toarray().T, np.ones(events.states)]), np.append(np.zeros(events.states), 1.0)
    )[0]
    found = measures_of_rates(p @ state_rewards(events, Prospects.of(chain)))
    expected = solve(scenario).measures
    for name_ in SCALAR_MEASURES:
        if name_ != "cost" and expected[name_] is not None:
            assert found[name_] == pytest.approx(expected[name_], rel=1e-8, abs=1e-12), name_
