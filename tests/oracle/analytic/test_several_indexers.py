"""Several indexers against closed forms and against LINE."""

from __future__ import annotations

import numpy as np
import pytest

from analytic import solve
from crawltwin.model import BMAP, ModeMatrices, PhaseType, Scenario, ThresholdPolicy, exponential


def erlang_a(rate, mu, theta, indexers, capacity):
    """Level probabilities of the birth-and-death chain M/M/c/K + M, in plain products."""
    weights = [1.0]
    for n in range(1, capacity + 1):
        weights.append(weights[-1] * rate / (min(n, indexers) * mu + max(n - indexers, 0) * theta))
    return np.array(weights) / sum(weights)


def queue(rate, mu, theta, indexers, capacity):
    return Scenario(
        capacity=capacity,
        arrivals=ModeMatrices({1: BMAP.poisson(rate)}),
        service=exponential(1 / mu),
        obsolescence=exponential(1 / theta) if theta else None,
        policy=ThresholdPolicy([1]),
        indexers=indexers,
    )


@pytest.mark.parametrize("theta", [0.0, 0.5])
@pytest.mark.parametrize(("rate", "indexers", "capacity"), [(5.0, 3, 9), (0.7, 2, 2), (30.0, 25, 400), (80.0, 8, 50)])
def test_erlang_a_and_mmck(rate, indexers, capacity, theta):
    found = solve(queue(rate, 1.3, theta, indexers, capacity)).measures
    p = erlang_a(rate, 1.3, theta, indexers, capacity)
    np.testing.assert_allclose(found["level_distribution"], p, rtol=1e-11)
    waiting = np.maximum(np.arange(capacity + 1) - indexers, 0)
    busy = np.minimum(np.arange(capacity + 1), indexers)
    assert found["loss_probability"] == pytest.approx(p[-1], rel=1e-11)
    assert found["obsolescence_probability"] == pytest.approx(theta * p @ waiting / rate, rel=1e-11, abs=1e-300)
    assert found["starvation_probability"] == pytest.approx(1 - p @ busy / indexers, rel=1e-9)
    assert found["mean_sojourn"] == pytest.approx(p @ np.arange(capacity + 1) / rate, rel=1e-11)


def test_erlang_a_of_line():
    abandonment = pytest.importorskip("line_solver.api.qsys.abandonment")
    rate, mu, theta, c, K = 5.0, 1.3, 0.5, 3, 12
    line = abandonment.qsys_erlanga(rate, mu, theta, c, float(K - c))
    solution = solve(queue(rate, mu, theta, c, K))
    found, law = solution.measures, solution.sojourn
    np.testing.assert_allclose(found["level_distribution"], line["queueLengthDist"], rtol=1e-9)
    assert found["loss_probability"] == pytest.approx(line["probLoss"], rel=1e-9)
    # LINE's shares are those of the accepted pages.
    accepted = 1 - found["loss_probability"]
    assert found["success_probability"] / accepted == pytest.approx(line["probServed"], rel=1e-9)
    assert found["mean_sojourn_served"] == pytest.approx(line["meanWaitServed"] + 1 / mu, rel=1e-9)
    assert found["mean_sojourn_obsolete"] == pytest.approx(line["meanWaitAbandon"], rel=1e-9)
    spread = law.moment(2, "served") - law.moment(1, "served") ** 2
    assert spread == pytest.approx(line["varWaitServed"] + 1 / mu**2, rel=1e-8)


def test_map_ph_c_of_line():
    """LINE has no limit to its queue: a capacity that is never reached."""
    mapphc = pytest.importorskip("line_solver.api.qsys.mapphc")
    D0, D1 = np.array([[-3.0, 1.0], [0.5, -1.0]]), np.array([[1.5, 0.5], [0.2, 0.3]])
    alpha, S = np.array([0.4, 0.6]), np.array([[-1.5, 0.5], [1.0, -1.5]])
    line = mapphc.qsys_mapphc(D0, D1, alpha, S, 2, max_num_comp=500)
    scenario = Scenario(
        capacity=300,
        arrivals=ModeMatrices({1: BMAP([D0, D1])}),
        service=PhaseType(alpha, S),
        policy=ThresholdPolicy([1]),
        indexers=2,
    )
    solution = solve(scenario)
    found = solution.measures
    assert found["loss_probability"] < 1e-12
    assert found["mean_pages"] == pytest.approx(line.meanQueueLength, rel=1e-8)
    assert found["mean_sojourn_served"] == pytest.approx(line.meanSojournTime, rel=1e-8)
    levels = np.asarray(line.queueLengthDist)[:20]
    np.testing.assert_allclose(found["level_distribution"][:20], levels, rtol=1e-7)
    # The variances of waiting and indexing add up: they are independent.
    waiting = line.waitingTimeMoments
    service = scenario.service
    expected = waiting[1] - waiting[0] ** 2 + service.mean**2 * service.scv
    law = solution.sojourn
    assert law.moment(2, "served") - law.moment(1, "served") ** 2 == pytest.approx(expected, rel=1e-7)
