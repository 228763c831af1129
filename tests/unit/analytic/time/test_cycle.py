"""A day of parts against matrix exponentials of a chain written down by hand."""

import numpy as np
import pytest
from scipy.linalg import expm

from analytic.time.cycle import periodic
from crawltwin.model import BMAP, InputError, ScaledStream, Scenario, ThresholdPolicy, exponential

K = 6


def crawler(rate, policy=None):
    return Scenario(
        capacity=K,
        arrivals=ScaledStream(BMAP.poisson(rate), 2),
        service=exponential(1.0),
        policy=policy or ThresholdPolicy([1]),
    )


def birth_death(rates):
    """Generator of levels 0..K: birth rates by level, deaths at rate 1."""
    Q = np.diag(np.asarray(rates, dtype=float)[:K], 1) + np.diag(np.ones(K), -1)
    return Q - np.diag(Q.sum(axis=1))


@pytest.mark.parametrize("lengths", [(2.0, 5.0), (0.3, 0.4), (200.0, 300.0)])
def test_the_day_comes_back(lengths):
    """Two parts with other rates and policies: p(0) is the stationary row of the product of two exponentials."""
    switch = ThresholdPolicy([2, 1], [2])
    births = ([0.9] * (K + 1), [1.2] * 3 + [0.6] * (K - 2))
    Q = [birth_death(one) for one in births]
    day = expm(Q[0] * lengths[0]) @ expm(Q[1] * lengths[1])
    values, vectors = np.linalg.eig(day.T)
    p = np.real(vectors[:, np.argmax(np.real(values))])
    p /= p.sum()
    found = periodic([(crawler(0.9), lengths[0]), (crawler(0.6, switch), lengths[1])])
    for at in range(2):
        # The average over a part by Simpson's rule on a fine grid.
        step = expm(Q[at] * lengths[at] / 2000)
        path = [p]
        for _ in range(2000):
            path.append(path[-1] @ step)
        weight = np.ones(2001)
        weight[1:-1:2], weight[2:-1:2] = 4, 2
        mean = weight @ np.array(path) / weight.sum()
        assert found.rates[at].level == pytest.approx(mean @ np.arange(K + 1), rel=1e-5)
        assert found.rates[at].starvation == pytest.approx(mean[0], rel=1e-5)
        assert found.rates[at].lost == pytest.approx(mean[K] * births[at][K], rel=1e-5)
        p = path[-1]


def test_long_parts_are_stationary_and_short_ones_see_the_average():
    slow, fast = crawler(0.5), crawler(2.0)
    long = periodic([(slow, 1e5), (fast, 1e5)])
    for own, alone in zip(long.rates, long.stationary, strict=True):
        assert own.level == pytest.approx(alone.level, rel=1e-3)
    assert max(long.distance) < 1e-7
    short = periodic([(slow, 0.02), (fast, 0.02)])
    even = periodic([(crawler(1.25), 1.0)])
    assert short.rates[0].level == pytest.approx(even.rates[0].level, rel=0.01)
    assert min(short.distance) > 0.1


def test_nonsense_is_refused():
    with pytest.raises(InputError, match="parts must have positive lengths; got"):
        periodic([])
    with pytest.raises(InputError, match="parts must have positive lengths; got"):
        periodic([(crawler(1.0), 0.0)])
    with pytest.raises(InputError, match="must have the same states"):
        periodic([(crawler(1.0), 1.0), (crawler(1.0).replace(capacity=5), 1.0)])
