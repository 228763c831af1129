"""Where the features meet the model that is known already: exact reductions and limits."""

from __future__ import annotations

import numpy as np
import pytest

from analytic import settling_time, solve
from crawltwin.model import (
    BMAP,
    CostWeights,
    LevelPolicy,
    ScaledStream,
    Scenario,
    ThresholdPolicy,
    TooLargeError,
    erlang,
    exponential,
    hyperexponential,
)
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.measures import SCALAR_MEASURES

CLOCKS = (exponential(2.0), hyperexponential([0.4, 0.6], [1.0, 0.2]))


def crawler(arrivals, policy, obsolescence=CLOCKS[0], **more):
    plain = Scenario(
        capacity=6,
        arrivals=arrivals,
        service=erlang(2, 0.5),
        obsolescence=obsolescence,
        policy=policy,
        cost=CostWeights(loss=5, obsolescence=10, response=2, robots=1, starvation=3, switching=0.7),
    )
    return plain.replace(**more)


def same(left, right, rel, names=SCALAR_MEASURES):
    for name in names:
        if left.measures[name] is not None and right.measures[name] is not None:
            assert left.measures[name] == pytest.approx(right.measures[name], rel=rel, abs=rel), name


FETCHING = FetchingRobots(3, erlang(2, 0.8), (0.7, 0.3))
SCALED = ScaledStream(BMAP([[[-1.5, 0.5], [0.3, -0.9]], [[0.6, 0.2], [0.1, 0.4]], [[0.1, 0.1], [0.0, 0.1]]]), 3)


@pytest.mark.parametrize("stale", CLOCKS)
@pytest.mark.parametrize("arrivals", [FETCHING, SCALED], ids=["fetching", "scaled"])
@pytest.mark.parametrize("indexers", [1, 3])
def test_a_memory_that_never_matters_is_the_plain_policy(stale, arrivals, indexers):
    """With a third mode that is never entered the controller has a memory, but resumes where it stepped down."""
    plain = crawler(arrivals, ThresholdPolicy([3, 1], [2]), stale, indexers=indexers)
    memory = plain.replace(policy=ThresholdPolicy([3, 1, 2], [2, 6], resume=[2, 2]))
    assert "resume" in memory.features
    same(solve(memory), solve(plain), 1e-11)
    assert solve(plain.replace(policy=ThresholdPolicy([3, 1], [2], resume=[2]))).measures == solve(plain).measures


def pages_when_polled(arrivals, stale):
    policies = [ThresholdPolicy([3, 1], [3], resume=[1], check_every=every) for every in (1e-2, 1e-3, 1e-4, 0.0)]
    return [solve(crawler(arrivals, policy, stale)).measures["mean_pages"] for policy in policies]


@pytest.mark.parametrize("stale", CLOCKS)
def test_polling_without_pause_is_at_once(stale):
    *polled, at_once = pages_when_polled(SCALED, stale)
    gaps = [abs(pages - at_once) for pages in polled]
    assert gaps[1] == pytest.approx(gaps[0] / 10, rel=0.1)
    assert gaps[2] == pytest.approx(gaps[1] / 10, rel=0.1)


@pytest.mark.parametrize("stale", CLOCKS)
def test_a_polled_robot_that_has_delivered_has_begun_its_next_fetch(stale):
    """However often the controller looks, it comes too late for the robot whose page made the backlog too long."""
    first, second, third, at_once = pages_when_polled(FETCHING, stale)
    assert third - second == pytest.approx((second - first) / 10, rel=0.1)
    assert third > 1.01 * at_once


def test_a_controller_that_hardly_looks_keeps_its_first_mode_for_ever():
    always = solve(crawler(SCALED, ThresholdPolicy([2])))
    table = LevelPolicy([2] * 7, check_every=1e9)
    same(solve(crawler(SCALED, table)), always, 1e-9)


def test_start_up_tends_to_at_once():
    policy = ThresholdPolicy([3, 1], [2], resume=[1])
    at_once = solve(crawler(FETCHING, policy))
    gaps = []
    for mean in (1e-3, 1e-4):
        robots = FetchingRobots(3, erlang(2, 0.8), (0.7, 0.3), exponential(mean))
        gaps.append(abs(solve(crawler(robots, policy)).measures["cost"] - at_once.measures["cost"]))
    assert gaps[1] == pytest.approx(gaps[0] / 10, rel=0.1)
    assert gaps[1] < 1e-3


def test_exponential_fetches_of_a_fixed_number_of_robots_are_a_poisson_stream():
    fetching = crawler(FetchingRobots(4, exponential(0.8)), ThresholdPolicy([3]))
    poisson = crawler(ScaledStream(BMAP.poisson(1 / 0.8), 4), ThresholdPolicy([3]))
    same(solve(fetching), solve(poisson), 1e-11)
    assert solve(fetching).measures["mean_fetches"] == pytest.approx(3.0, rel=1e-12)


def test_short_fetches_are_a_scaled_stream():
    """With n times the pages, each n times as short, the fetches in flight at a switch matter less and less."""
    gaps = []
    for n in (4, 8, 16):
        common = {
            "capacity": 20 * n,
            "service": exponential(1.0 / n),
            "obsolescence": exponential(10.0),
            "policy": ThresholdPolicy([4, 1], [5 * n]),
        }
        short = solve(Scenario(arrivals=FetchingRobots(4, exponential(2.0 / n)), **common)).measures
        scaled = solve(Scenario(arrivals=ScaledStream(BMAP.poisson(n / 2.0), 4), **common)).measures
        gaps.append(abs(short["mean_pages"] - scaled["mean_pages"]) / n)
    assert gaps[1] == pytest.approx(gaps[0] / 2, rel=0.1)
    assert gaps[2] == pytest.approx(gaps[1] / 2, rel=0.1)


def test_as_many_indexers_as_places_leave_nobody_waiting():
    scenario = crawler(ScaledStream(BMAP.poisson(2.0), 1), ThresholdPolicy([1]), indexers=6)
    found = solve(scenario)
    # Erlang's loss formula holds for every law of the indexing time.
    load = 2.0 * scenario.service.mean
    weights = np.cumprod([1.0, *(load / k for k in range(1, 7))])
    np.testing.assert_allclose(found.measures["level_distribution"], weights / weights.sum(), rtol=1e-12)
    assert found.measures["obsolescence_probability"] == 0.0
    assert found.measures["mean_sojourn_obsolete"] is None
    assert found.measures["mean_sojourn_served"] == pytest.approx(0.5, rel=1e-12)


def test_state_spaces_that_explode_are_refused_with_the_way_out():
    many = FetchingRobots(50, hyperexponential([0.1, 0.2, 0.3, 0.4], [0.1, 0.5, 1.0, 3.0]))
    with pytest.raises(TooLargeError, match=r"fewer phases .* or `crawltwin simulate`"):
        solve(crawler(many, ThresholdPolicy([50, 1], [2])))
    wide = crawler(SCALED, ThresholdPolicy([3]), CLOCKS[0], capacity=60, indexers=60)
    with pytest.raises(TooLargeError, match="fewer phases"):
        solve(wide.replace(service=erlang(6, 1.0)))


def test_settling_time_with_every_feature():
    policy = ThresholdPolicy([3, 1], [3], resume=[1], check_every=0.5)
    scenario = crawler(FETCHING, policy, indexers=2, capacity=5)
    assert 0 < settling_time(scenario, 0.1) < settling_time(scenario, 0.01)
