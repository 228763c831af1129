"""A finite list and robots that finish their fetch, against a chain explored state by state and closed forms."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from analytic import completion
from crawltwin.model import PhaseType, Scenario, ThresholdPolicy, erlang, exponential
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.arrivals.spells import Spells

SERVE, STALE = 1.3, 0.2


def crawler(robots: FetchingRobots, policy: ThresholdPolicy, capacity: int = 4, admission: str = "partial") -> Scenario:
    return Scenario(
        capacity, robots, exponential(1 / SERVE), exponential(1 / STALE), policy=policy, admission=admission
    )


def equilibrium(generator: np.ndarray) -> np.ndarray:
    order = len(generator)
    return np.linalg.solve(np.vstack([generator.T[:-1], np.ones(order)]), np.append(np.zeros(order - 1), 1.0))


def explored(scenario: Scenario, urls: int) -> tuple[float, float, float]:
    """Mean time, pages lost and pages obsolete; a state is (URLs not handed out, phases in flight, level, spell)."""
    robots, capacity = scenario.arrivals, scenario.capacity
    law, sigma = robots.fetch, 0.0 if robots.start_up is None else 1 / robots.start_up.mean
    phases, spells = range(law.order), robots.spells or Spells([[0.0]], [1.0])

    def begin(left: int, flight: tuple[int, ...], wanted: int) -> dict[tuple[int, tuple[int, ...]], float]:
        """Robots begin until `wanted` fetch or the list is handed out."""
        if left == 0 or len(flight) >= wanted:
            return {(left, flight): 1.0}
        found: dict[tuple[int, tuple[int, ...]], float] = defaultdict(float)
        for phase in phases:
            for state, chance in begin(left - 1, tuple(sorted((*flight, phase))), wanted).items():
                found[state] += law.initial[phase] * chance
        return found

    def moves(state):
        left, flight, level, spell = state
        wanted, pace = scenario.policy.robots_at(level), spells.pace[spell]
        for to, rate in enumerate(spells.generator[spell]):
            if to != spell:
                yield (left, flight, level, to), rate, 0, 0
        if sigma and left and len(flight) < wanted:
            for (rest, now), chance in begin(left, flight, len(flight) + 1).items():
                yield (rest, now, level, spell), min(wanted - len(flight), left) * sigma * chance, 0, 0
        for place, phase in enumerate(flight):
            others = flight[:place] + flight[place + 1 :]
            for to in phases:
                if to != phase:
                    yield (left, tuple(sorted((*others, to))), level, spell), pace * law.subgenerator[phase, to], 0, 0
            for size, share in enumerate(robots.pages, start=1):
                room = capacity - level
                enter = {
                    "partial": min(size, max(room, 0)),
                    "all-or-nothing": size * (size <= room),
                    "overflow": size * (room > 0),
                }[scenario.admission]
                then = scenario.policy.robots_at(level + enter)
                goal = then if not sigma else min(then, len(others) + 1)
                for (rest, now), chance in begin(left, others, goal).items():
                    rate = pace * law.exit_rates[phase] * share * chance
                    yield (rest, now, level + enter, spell), rate, size - enter, 0
        for rate, stale in ((SERVE * (level > 0), 0), (STALE * max(level - 1, 0), 1)):
            if rate:
                goal = len(flight) if sigma else scenario.policy.robots_at(level - 1)
                for (rest, now), chance in begin(left, flight, goal).items():
                    yield (rest, now, level - 1, spell), rate * chance, 0, stale

    running = min(scenario.policy.robots_at(0), urls)
    equal = equilibrium(law.subgenerator + np.outer(law.exit_rates, law.initial))
    calm = equilibrium(np.array(spells.generator))
    start: dict[tuple, float] = defaultdict(float)
    for flight in product(phases, repeat=running):
        for spell, share in enumerate(calm):
            start[urls - running, tuple(sorted(flight)), 0, spell] += share * math.prod(
                equal[phase] for phase in flight
            )
    index = {state: place for place, state in enumerate(start)}
    rows, queue = [], list(start)
    while queue:
        state = queue.pop()
        for to, rate, lost, stale in moves(state):
            if rate > 0:
                rows.append((state, to, rate, lost, stale))
                if to not in index:
                    index[to] = len(index)
                    queue.append(to)
    A, right = np.zeros((len(index),) * 2), np.zeros((len(index), 3))
    right[:, 0] = 1.0
    for state, to, rate, lost, stale in rows:
        A[index[state], index[state]] += rate
        A[index[state], index[to]] -= rate
        right[index[state], 1:] += rate * lost, rate * stale
    for end in (place for state, place in index.items() if state[:3] == (0, (), 0)):
        A[end], A[end, end], right[end] = 0.0, 1.0, 0.0
    values = np.linalg.solve(A, right)
    return tuple(sum(chance * values[index[state]] for state, chance in start.items()))


CASES = {
    "exponential fetch": crawler(FetchingRobots(3, exponential(0.7)), ThresholdPolicy([3, 1], [1])),
    "two phases, batches": crawler(
        FetchingRobots(3, PhaseType([0.6, 0.4], [[-2.0, 0.5], [0.3, -1.0]]), (0.7, 0.3)), ThresholdPolicy([3, 2], [0])
    ),
    "start-up, all or nothing": crawler(
        FetchingRobots(3, erlang(2, 0.9), (0.5, 0.0, 0.5), exponential(0.8)),
        ThresholdPolicy([3, 1], [2]),
        admission="all-or-nothing",
    ),
    "spells, overflow": crawler(
        FetchingRobots(
            2,
            PhaseType([0.6, 0.4], [[-2.0, 0.5], [0.3, -1.0]]),
            (0.4, 0.1, 0.5),
            spells=Spells([[-0.4, 0.4], [0.7, -0.7]], [1.0, 0.2]),
        ),
        ThresholdPolicy([2, 1], [1]),
        capacity=3,
        admission="overflow",
    ),
    "spells, start-up, overflow": crawler(
        FetchingRobots(
            3, exponential(0.5), (0.3, 0.7), exponential(0.8), Spells([[-2.0, 2.0], [0.1, -0.1]], [3.0, 0.5])
        ),
        ThresholdPolicy([3, 1], [0]),
        capacity=2,
        admission="overflow",
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("urls", [1, 2, 7])
def test_the_list_ends_when_it_is_handed_out_and_what_is_in_flight_is_finished(name, urls):
    scenario = CASES[name]
    found = completion(scenario, urls)
    mean, lost, stale = explored(scenario, urls)
    assert (found.mean, found.lost, found.obsolete) == pytest.approx((mean, lost, stale), rel=1e-9, abs=1e-12)
    pages = urls * sum(size * share for size, share in enumerate(scenario.arrivals.pages, start=1))
    assert found.lost + found.obsolete + found.indexed == pytest.approx(pages, rel=1e-12)
    assert found.exact_quantiles
    assert found.quantile(0.2)[0] < found.mean < found.quantile(0.95)[0]


def test_with_an_index_that_takes_no_time_the_last_fetches_are_order_statistics():
    # n exponential fetches by N robots: (n - N) gaps of mean 1/N, then the longest of N exponentials.
    N, n, quick = 4, 25, 1e-6
    scenario = Scenario(50, FetchingRobots(N, exponential(1.0)), exponential(quick), policy=ThresholdPolicy([N], []))
    found = completion(scenario, n)
    tail = [1 / k for k in range(1, N + 1)]
    assert found.mean == pytest.approx((n - N) / N + sum(tail), rel=1e-5)
    assert found.variance == pytest.approx((n - N) / N**2 + sum(x * x for x in tail), rel=1e-5)


def test_memory_and_polls_do_not_matter_where_nothing_is_switched():
    robots = FetchingRobots(2, erlang(2, 0.9))
    plain = completion(crawler(robots, ThresholdPolicy([2], [])), 9)
    far = completion(crawler(robots, ThresholdPolicy([2, 1], [3], resume=[1], check_every=1e9)), 9)
    assert far.mean == pytest.approx(plain.mean, rel=1e-6)
