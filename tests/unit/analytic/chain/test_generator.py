"""The one generator against a chain written down state by state, entry by entry, and what its kinds count."""

import numpy as np
import pytest

from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from analytic.chain.rewards import Prospects, rate_names, state_rewards
from analytic.chain.transitions import CLOCKS
from analytic.stationary.choice import solve
from crawltwin.model import SCALAR_MEASURES, ThresholdPolicy, TooLargeError, examples
from crawltwin.model.rates import Rates
from tests.oracle.brute_force import full_chain, level_of
from tests.random_models import random_scenario

PAPER_MODELS = [name for name in examples.EXAMPLES if not examples.load(name).features]
SMALL = [(name, admission) for name in PAPER_MODELS for admission in ("partial", "all-or-nothing", "overflow")]


def small(name, admission):
    scenario = examples.load(name)
    known = scenario.arrivals.robot_numbers
    policy = ThresholdPolicy([known[-1], known[0]], [1])
    return scenario.replace(capacity=3, admission=admission, policy=policy)


def by_hand(chain):
    """The oracle's chain on the lumped phases, and where each of its states stands in ours."""
    scenario, stale = chain.scenario, chain.obsolescence
    oracle = full_chain(
        lambda level: scenario.arrivals.mode(scenario.policy_in_force.robots_at(level)).D,
        (chain.service.initial, chain.service.subgenerator),
        None if stale is None else (stale.initial, stale.subgenerator),
        scenario.capacity,
        scenario.admission,
    )
    starts = np.concatenate([[0], np.cumsum([chain.level_states(level) for level in range(chain.top + 1)])])
    places = []
    for state in oracle.states:
        arrival, service, waiting = state
        place = arrival if service is None else arrival * chain.service_phases + service
        for phase in waiting:
            place = place * chain.obsolescence_phases + phase
        places.append(int(starts[level_of(state)]) + place)
    return oracle, np.array(places)


def compare(scenario):
    chain = Chain.of(scenario)
    generator = Generator.of(chain)
    oracle, places = by_hand(chain)
    assert generator.states == chain.states
    assert len(set(places.tolist())) == len(places)  # a policy may leave the highest levels out of reach
    expected = oracle.generator.toarray()
    tolerance = 1e-13 * np.abs(expected).max()
    np.testing.assert_allclose(generator.matrix.toarray()[np.ix_(places, places)], expected, atol=tolerance)
    parts = sum(generator.part(clock).toarray() for clock in CLOCKS)
    np.testing.assert_allclose(parts[np.ix_(places, places)], expected, atol=tolerance)
    exits = chain.service.exit_rates
    served = np.array([0.0 if service is None else exits[service] for _, service, _ in oracle.states])
    for count, rates in (
        ("pages", oracle.arrival_rates),
        ("lost", oracle.loss_rates),
        ("obsolete", oracle.obsolescence_rates),
        ("served", served),
    ):
        np.testing.assert_allclose(generator.count_rate(count)[places], rates, atol=tolerance, err_msg=count)
    np.testing.assert_array_equal(generator.levels[places], oracle.levels)
    assert (generator.above == 0).all()


@pytest.mark.parametrize("seed", range(40))
def test_random_models_entry_by_entry(seed):
    compare(random_scenario(seed, max_capacity=4, max_batch=3, max_clock=3))


@pytest.mark.parametrize(("name", "admission"), SMALL)
def test_examples_entry_by_entry(name, admission):
    compare(small(name, admission))


@pytest.mark.parametrize("seed", range(12))
def test_the_first_levels_alone_have_the_same_rates_and_tell_what_leads_above(seed):
    chain = Chain.of(random_scenario(200 + seed, max_capacity=4))
    whole = Generator.of(chain)
    for last in range(chain.top):
        some = Generator.of(chain, last=last)
        n = some.states
        np.testing.assert_allclose(some.matrix.toarray(), whole.matrix.toarray()[:n, :n], rtol=1e-13, atol=1e-14)
        above = whole.matrix.toarray()[:n, n:].sum(axis=1)
        np.testing.assert_allclose(some.above, above, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_cut_batches_bring_at_most_so_many_pages(seed):
    """Batches of two and more are batches of one when the list has one URL left; all else stays."""
    scenario = random_scenario(300 + seed, max_capacity=4)
    whole, cut = Generator.of(Chain.of(scenario)), Generator.of(Chain.of(scenario, largest_batch=1))
    rate = sum(kind.rates.sum(axis=1) for kind in whole.kinds if kind.pages)
    np.testing.assert_allclose(cut.count_rate("pages"), rate, rtol=1e-12)
    for clock in ("service", "obsolescence"):
        assert abs(whole.part(clock) - cut.part(clock)).max() == 0


def test_too_many_rates_are_refused_before_they_are_written_out():
    scenario = examples.load("hyperexponential").replace(capacity=40)
    with pytest.raises(TooLargeError, match=r"the explicit chain must have at most .* states; got"):
        Generator.of(Chain.of(scenario))
    with pytest.raises(TooLargeError, match=r"the explicit chain must have at most 3 states; got"):
        Generator.of(Chain.of(examples.load("paper")), max_states=3)


@pytest.mark.parametrize(("name", "admission"), SMALL)
def test_measures_from_rewards_agree_with_solve(name, admission):
    scenario = small(name, admission)
    chain = Chain.of(scenario)
    generator = Generator.of(chain)
    system = np.vstack([generator.matrix.toarray().T, np.ones(generator.states)])
    p = np.linalg.lstsq(system, np.append(np.zeros(generator.states), 1.0))[0]
    names = rate_names(chain)
    found = Rates.from_table(p @ state_rewards(generator, Prospects.of(chain), names), names).measures()
    expected = solve(scenario).measures
    for name_ in SCALAR_MEASURES:
        if name_ != "cost" and expected.get(name_) is not None:
            assert found[name_] == pytest.approx(expected[name_], rel=1e-8, abs=1e-12), name_
