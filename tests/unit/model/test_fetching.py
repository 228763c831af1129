"""Robots that finish their fetch: matrices against a robot-by-robot chain, laws, sizes, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from crawltwin.model import (
    BMAP,
    FetchingRobots,
    InputError,
    ScaledStream,
    Spells,
    TooLargeError,
    erlang,
    examples,
    exponential,
    hyperexponential,
)

FETCH = hyperexponential([0.3, 0.7], [0.5, 2.0])
SPELLS = Spells([[-0.2, 0.2], [0.5, -0.5]], [1.0, 0.3])
CASES = {
    "plain": FetchingRobots(3, FETCH, (0.9, 0.1)),
    "start-up": FetchingRobots(3, FETCH, (0.9, 0.1), exponential(3.0)),
    "spells": FetchingRobots(3, erlang(2, 0.8), (0.5, 0.0, 0.5), None, SPELLS),
    "both": FetchingRobots(2, FETCH, (1.0,), exponential(0.5), SPELLS),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_sum_to_zero_and_entrances_to_one(name):
    robots = CASES[name]
    found = robots.matrices(robots.robot_numbers)
    for r, then in itertools.product(found.robots, repeat=2):
        deliveries = sum(found.delivery(k, r, then) for k in range(1, found.max_batch + 1))
        assert np.abs((found.silent(r) + deliveries).sum(axis=1)).max() < 1e-13
        assert np.abs(found.entrance(then).sum(axis=1) - 1).max() < 1e-15
        assert (deliveries >= 0).all()


@pytest.mark.parametrize("name", CASES)
def test_what_is_possible_stays_possible(name):
    robots = CASES[name]
    found = robots.matrices(robots.robot_numbers)
    for r, then in itertools.product(found.robots, repeat=2):
        inside, after = found.possible(r), found.possible(then)
        for k in range(1, found.max_batch + 1):
            assert not found.delivery(k, r, then)[np.ix_(inside, ~after)].any()
        assert not found.entrance(then)[np.ix_(inside, ~after)].any()
        assert not found.silent(r)[np.ix_(inside, ~inside)].any()


def _by_hand(robots: FetchingRobots, wanted: int, then: int, started: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Rates of deliveries of one page, robot by robot, summed over the robots' names."""
    law, rates = robots.fetch, {}
    for place, phase in enumerate(started):
        rest = started[:place] + started[place + 1 :]
        missing = max(then - len(rest), 0) if robots.start_up is None else min(1, max(then - len(rest), 0))
        for new in itertools.product(range(law.order), repeat=missing):
            share = np.prod([law.initial[i] for i in new])
            key = tuple(sorted(rest + new))
            rates[key] = rates.get(key, 0.0) + law.exit_rates[phase] * robots.pages[0] * share
    return rates


@pytest.mark.parametrize("name", ["plain", "start-up"])
@pytest.mark.parametrize(("wanted", "then"), [(3, 3), (3, 1), (1, 1), (1, 3), (2, 3)])
def test_deliveries_are_those_of_the_single_robots(name, wanted, then):
    robots = CASES[name]
    found = robots.matrices(robots.robot_numbers)
    names = [tuple(np.repeat(np.arange(2), row)) for row in found.counts]
    delivery = found.delivery(1, wanted, then)
    for row, state in enumerate(names):
        expected = _by_hand(robots, wanted, then, state)
        for column, after in enumerate(names):
            assert delivery[row, column] == pytest.approx(expected.get(after, 0.0), abs=1e-14)


def test_robots_that_start_up_begin_one_by_one():
    found = CASES["start-up"].matrices((1, 3))
    low, high = np.flatnonzero(found.fetches == 1), np.flatnonzero(found.fetches == 2)
    assert found.entrance(3).tolist() == np.eye(found.phases).tolist()
    assert found.silent(3)[np.ix_(low, high)].sum(axis=1) == pytest.approx(2 / 3.0)
    assert found.silent(1)[np.ix_(low, high)].sum() == 0
    assert found.possible(3).all()


def test_at_once_means_all_at_once():
    found = CASES["plain"].matrices((1, 3))
    entrance = found.entrance(3)
    for row, column in itertools.product(range(found.phases), repeat=2):
        n, m = found.counts[row], found.counts[column]
        added = m - n
        if n.sum() == 3:
            expected = float(row == column)
        elif m.sum() == 3 and (added >= 0).all():
            ways = 2 if n.sum() == 1 and (added == 1).all() else 1
            expected = ways * np.prod(FETCH.initial**added)
        else:
            expected = 0.0
        assert entrance[row, column] == pytest.approx(expected, abs=1e-15)
    assert found.possible(3).tolist() == (found.fetches == 3).tolist()


@pytest.mark.parametrize("name", CASES)
def test_equilibria_and_rates_are_those_of_the_closed_process(name):
    robots = CASES[name]
    found = robots.matrices(robots.robot_numbers)
    for r in robots.robot_numbers:
        closed, law = robots.mode(r), found.start_law[r]
        assert law[found.fetches == r] == pytest.approx(closed.phase_distribution, rel=1e-12)
        assert law.sum() == pytest.approx(1, rel=1e-14)
        assert robots.page_rate(r) == pytest.approx(closed.page_rate, rel=1e-12)


def test_exponential_fetches_without_control_are_a_scaled_stream():
    mode = FetchingRobots(4, exponential(0.8), (0.9, 0.1)).mode(3)
    scaled = ScaledStream(BMAP.poisson(1 / 0.8, (0.9, 0.1)), 4).mode(3)
    assert np.ravel(mode.D) == pytest.approx(np.ravel(scaled.D), rel=1e-15)


def test_fetch_times_are_lumped_exactly():
    # Exit rates (0.2, 0.2): the exponential distribution of mean 5 in two phases.
    law = examples.load("paper").obsolescence
    assert FetchingRobots(4, law).phases == 4
    assert FetchingRobots(4, FETCH).phases == 15 - 1
    assert FetchingRobots(4, FETCH, spells=SPELLS).phases == 28


def test_the_paper_s_kinds_keep_their_phase():
    arrivals = examples.load("paper").arrivals
    found = arrivals.matrices((3, 1))
    assert found.robots == (1, 3)
    assert found.phase_stays and found.fetches is None
    assert (found.delivery(2, 3, 1) == arrivals.mode(3).D[2]).all()
    assert (found.silent(1) == arrivals.mode(1).D[0]).all()
    assert (found.entrance(1) == np.eye(2)).all()
    assert found.possible(1).all()
    wide = arrivals.matrices((4, 1))
    assert wide.max_batch == 4
    assert not wide.delivery(3, 1, 4).any()


def test_a_space_that_explodes_is_refused_with_the_way_out():
    many = FetchingRobots(50, hyperexponential([0.25] * 4, [1.0, 2.0, 3.0, 4.0]))
    assert many.phases == 316_250
    with pytest.raises(TooLargeError, match=r"at most 2,000; got 316,250 at fetch\. Use a fetch time of fewer phases"):
        many.matrices(many.robot_numbers)
    # Known without the matrices: a simulation walks each robot by itself.
    assert many.page_rate(50) > 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FetchingRobots(0, FETCH), "robots must be at least 1; got 0"),
        (lambda: FetchingRobots(2, "fast"), "fetch must be a PhaseType; got 'fast'"),
        (lambda: FetchingRobots(2, FETCH, (0.5, 0.4)), "pages must sum to 1; got the sum 0.9"),
        (lambda: FetchingRobots(2, FETCH, start_up=erlang(2, 1.0)), "start_up must be exponential; got 2 phases"),
        (lambda: FetchingRobots(2, FETCH, start_up=3.0), "start_up must be a PhaseType; got 3.0"),
        (lambda: FetchingRobots(2, FETCH, spells=3.0), "spells must be Spells; got 3.0"),
        (lambda: FetchingRobots(2, FETCH).mode(3), "robots must be at most 2; got 3"),
        (lambda: Spells([[-1, 1], [1, -2]], [1, 1]), "row 1 of the generator must sum to 0; got -1"),
        (lambda: Spells([[1, -1], [1, -1]], [1, 1]), r"rates must be not negative; got -1 at generator\[0\]\[1\]"),
        (lambda: Spells([[-1, 1], [0, 0]], [1, 1]), "must all lead to one another; got a reducible generator"),
        (lambda: Spells([[-1, 1], [1, -1]], [1]), r"one number for each spell \(2\); got 1"),
        (lambda: Spells([[-1, 1], [1, -1]], [0, 0]), "pace must be positive in some spell"),
        (lambda: Spells([[-1, 1], [1, -1]], [1, -0.5]), r"pace must be not negative; got -0.5 at pace\[1\]"),
    ],
)
def test_wrong_robots_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
