"""The oracles against one another: what they say of the same queue must agree before they may judge ours."""

from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest

from tests.oracle.brute_force import FullChain, full_chain
from tests.oracle.closed_forms import exponential_queue, hyperexponential_queue, mm1k, mm1k_reneging
from tests.oracle.exact import stationary_digits, stationary_fractions
from tests.oracle.line import line_map_ph_1_k
from tests.oracle.storm import storm_run, storm_stationary

# The paper's first mode, cut down to single arrivals for LINE: a correlated MAP of order two.
D0 = np.array([[-10.0, 2.0], [0.0, -0.5]])
D1 = np.array([[0.1, 7.9], [0.49, 0.01]])
BATCHES = [D0, np.array([[0.05, 3.0], [0.29, 0.005]]), np.array([[0.05, 4.9], [0.2, 0.005]])]
SERVICE = (np.array([0.4, 0.6]), np.array([[-3.0, 1.0], [2.0, -3.0]]))
OBSOLESCENCE = (np.array([0.3, 0.7]), np.array([[-0.6, 0.4], [0.1, -0.3]]))


def poisson(rate: float) -> list[np.ndarray]:
    return [np.array([[-rate]]), np.array([[rate]])]


def exponential(rate: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([1.0]), np.array([[-rate]])


def level_distribution(chain: FullChain, p: np.ndarray) -> np.ndarray:
    return np.bincount(chain.levels, weights=np.asarray(p, float))


def measures(chain: FullChain, p: np.ndarray) -> dict[str, float]:
    p = np.asarray(p, float)
    rate = p @ chain.arrival_rates
    return {
        "arrival_rate": rate,
        "loss_probability": p @ chain.loss_rates / rate,
        "obsolescence_probability": p @ chain.obsolescence_rates / rate,
        "mean_pages": p @ chain.levels,
    }


def test_mm1k_is_the_textbook_formula():
    answer = mm1k(Fraction(3), Fraction(4), 5)
    rho = Fraction(3, 4)
    expected = [(1 - rho) * rho**i / (1 - rho**6) for i in range(6)]
    assert answer["level_distribution"] == expected
    assert answer["loss_probability"] == expected[-1]
    # The mean sojourn of an accepted page: it finds i others with probability p_i / (1 - p_K).
    accepted = sum(p * (i + 1) for i, p in enumerate(expected[:-1])) / (4 * (1 - expected[-1]))
    assert answer["mean_sojourn_served"] == accepted
    assert answer["mean_sojourn_obsolete"] is None


QUEUES = pytest.mark.parametrize(("arrival_rate", "capacity"), [(0.5, 1), (0.8, 2), (1.0, 5), (2.5, 12)])


@QUEUES
@pytest.mark.parametrize(
    "stationary",
    [
        stationary_fractions,
        stationary_digits,
        storm_stationary,
        partial(storm_stationary, method="iterative"),
    ],
    ids=["fractions", "digits", "storm-direct", "storm-iterative"],
)
def test_mm1k_by_every_solver(arrival_rate: float, capacity: int, stationary):
    chain = full_chain(lambda level: poisson(arrival_rate), exponential(1.25), None, capacity)
    p = level_distribution(chain, np.array(stationary(chain.generator), float))
    np.testing.assert_allclose(p, mm1k(arrival_rate, 1.25, capacity)["level_distribution"], rtol=1e-11)


@QUEUES
def test_mm1k_by_line(arrival_rate: float, capacity: int):
    closed = mm1k(arrival_rate, 1.25, capacity)
    line = line_map_ph_1_k(*poisson(arrival_rate), *exponential(1.25), capacity)
    np.testing.assert_allclose(line["level_distribution"], closed["level_distribution"], atol=1e-13)
    for name in line.keys() - {"level_distribution", "loss_by_throughput"}:
        assert line[name] == pytest.approx(closed[name], rel=1e-11)


def test_a_policy_is_a_rate_for_each_level():
    rates = [3.0, 3.0, 3.0, 1.0, 1.0, 1.0]
    closed = exponential_queue(rates, 1.25, 0.4)
    chain = full_chain(lambda level: poisson(rates[level]), exponential(1.25), exponential(0.4), 5)
    p = storm_stationary(chain.generator)
    np.testing.assert_allclose(level_distribution(chain, p), closed["level_distribution"], rtol=1e-11)
    for name, value in measures(chain, p).items():
        assert value == pytest.approx(closed[name], rel=1e-11)


@pytest.mark.parametrize("theta", [Fraction(0), Fraction(1, 5), Fraction(7)])
def test_reneging_balances_exactly(theta: Fraction):
    answer = mm1k_reneging(Fraction(2), Fraction(3, 2), theta, 6)
    served = answer["success_probability"]
    assert answer["loss_probability"] + answer["obsolescence_probability"] + served == 1
    # The server is busy as long as the served pages need it.
    assert served * answer["arrival_rate"] == Fraction(3, 2) * (1 - answer["starvation_probability"])
    # Little's law, with the sojourn times found without it (22).
    obsolete = answer["mean_sojourn_obsolete"] or 0
    by_pages = answer["mean_sojourn_served"] * served + obsolete * answer["obsolescence_probability"]
    assert by_pages == answer["mean_sojourn"]


@pytest.mark.parametrize("capacity", [1, 2, 4, 5, 6])
def test_the_product_form_is_the_full_chain(capacity: int):
    rates = [2.0, 2.0, 1.5, 0.7, 0.7, 0.3, 0.3][: capacity + 1]
    weights, stale = [0.2, 0.5, 0.3], [0.1, 1.0, 6.0]
    closed = hyperexponential_queue(rates, 1.1, weights, stale)
    obsolescence = (np.array(weights), -np.diag(stale))
    chain = full_chain(lambda level: poisson(rates[level]), exponential(1.1), obsolescence, capacity)
    p = np.array(stationary_digits(chain.generator, 30), float)
    np.testing.assert_allclose(level_distribution(chain, p), closed["level_distribution"], rtol=1e-13)
    for name, value in measures(chain, p).items():
        assert value == pytest.approx(closed[name], rel=1e-13)


def test_the_product_form_holds_exactly():
    third, half = Fraction(1, 3), Fraction(1, 2)
    closed = hyperexponential_queue(
        [Fraction(2), Fraction(1), Fraction(3), half], Fraction(1), [half, half], [third, 2]
    )
    chain = full_chain(
        lambda level: poisson([2.0, 1.0, 3.0, 0.5][level]),
        exponential(1.0),
        (np.array([0.5, 0.5]), np.diag([-1 / 3, -2.0])),
        3,
    )
    rates = [[Fraction(x).limit_denominator(100) for x in row] for row in chain.generator.toarray().tolist()]
    p = stationary_fractions(rates)
    for level, expected in enumerate(closed["level_distribution"]):
        assert sum(q for q, at in zip(p, chain.levels) if at == level) == expected


def test_one_class_of_obsolescence_is_exponential():
    rates = [Fraction(2), Fraction(2), Fraction(1), Fraction(1), Fraction(1)]
    one = hyperexponential_queue(rates, Fraction(3, 2), [Fraction(1)], [Fraction(2, 5)])
    plain = exponential_queue(rates, Fraction(3, 2), Fraction(2, 5))
    assert one == {name: plain[name] for name in one}
    two = hyperexponential_queue(rates, Fraction(3, 2), [Fraction(1, 4), Fraction(3, 4)], [Fraction(2, 5)] * 2)
    assert two == one


def test_the_product_form_reaches_a_capacity_of_100():
    answer = hyperexponential_queue([1.5] * 101, 1.0, [0.6, 0.4], [0.01, 0.5])
    lost_or_not = answer["loss_probability"] + answer["obsolescence_probability"] + answer["success_probability"]
    assert sum(answer["level_distribution"]) == pytest.approx(1, rel=1e-13)
    assert lost_or_not == pytest.approx(1, rel=1e-13)
    served = answer["success_probability"] * answer["arrival_rate"]
    assert served == pytest.approx(1 - answer["starvation_probability"], rel=1e-12)


@pytest.mark.parametrize("capacity", [1, 2, 7])
def test_map_ph_1_k_of_line_is_the_full_chain(capacity: int):
    line = line_map_ph_1_k(D0, D1, *SERVICE, capacity)
    chain = full_chain(lambda level: [D0, D1], SERVICE, None, capacity)
    p = np.array(stationary_fractions(chain.generator), float)
    np.testing.assert_allclose(line["level_distribution"], level_distribution(chain, p), atol=1e-12)
    for name, value in measures(chain, p).items():
        if name in line:
            assert line[name] == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("admission", ["partial", "all-or-nothing", "overflow"])
def test_storm_solves_the_whole_model(admission: str):
    chain = full_chain(lambda level: BATCHES, SERVICE, OBSOLESCENCE, 4, admission)
    exact = np.array(stationary_digits(chain.generator, 40), float)
    np.testing.assert_allclose(storm_stationary(chain.generator), exact, rtol=1e-11)
    run = storm_run(chain.generator, "iterative")
    np.testing.assert_allclose(run.probabilities, exact, atol=1e-11)
    top = {"partial": 4, "all-or-nothing": 4, "overflow": 5}[admission]
    assert chain.levels.max() == top


def test_admission_rules_lose_what_they_say():
    """At one free place a pair loses one page, or both, or none; at none it loses both."""
    lost = {}
    for admission in ("partial", "all-or-nothing", "overflow"):
        chain = full_chain(lambda level: BATCHES, SERVICE, OBSOLESCENCE, 3, admission)
        phase_zero = [(n, level) for n, level in enumerate(chain.levels) if chain.states[n][0] == 0]
        lost[admission] = {int(level): float(chain.loss_rates[n]) for n, level in phase_zero}
    singles, pairs = BATCHES[1][0].sum(), BATCHES[2][0].sum()
    full = singles + 2 * pairs
    assert lost["partial"] == pytest.approx({0: 0, 1: 0, 2: pairs, 3: full})
    assert lost["all-or-nothing"] == pytest.approx({0: 0, 1: 0, 2: 2 * pairs, 3: full})
    assert lost["overflow"] == pytest.approx({0: 0, 1: 0, 2: 0, 3: full, 4: full})


def test_elimination_keeps_the_digits_of_tiny_probabilities():
    """M/M/1/K with a loss near 1e-30: exact fractions, sixty digits and the formula agree to the last digit."""
    chain = full_chain(lambda level: poisson(0.125), exponential(32.0), None, 13)
    exact = stationary_fractions(chain.generator)[-1]
    assert exact == mm1k(Fraction(1, 8), Fraction(32), 13)["loss_probability"]
    assert 1e-32 < exact < 1e-30
    with mpmath.workdps(60):
        digits = stationary_digits(chain.generator, 60)[-1]
        assert abs(digits * exact.denominator / exact.numerator - 1) < mpmath.mpf(10) ** -57


def test_a_planted_fault_is_seen():
    """One rate of the chain wrong by a thousandth: the oracles part."""
    chain = full_chain(lambda level: poisson(0.8), exponential(1.25), None, 5)
    wrong = chain.generator.toarray()
    wrong[3, 4] *= 1.001
    closed = mm1k(0.8, 1.25, 5)["level_distribution"]
    p = level_distribution(chain, np.array(stationary_digits(wrong), float))
    assert np.abs(p - closed).max() > 1e-5
