"""The approach to equilibrium against matrix exponentials and the stationary solution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from analytic import settling_time, solve, transient
from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from crawltwin.model import BMAP, ConvergenceError, InputError, ModeMatrices, TooLargeError, examples


@pytest.mark.parametrize("name", ["paper", "mm1k", "hyperexponential"])
def test_against_matrix_exponential(name):
    scenario = examples.load(name)
    generator = Generator.of(Chain.of(scenario))
    Q = generator.matrix.toarray()
    p0 = np.zeros(len(Q))
    p0[: generator.starts[1]] = scenario.arrivals.mode(scenario.policy.robots_at(0)).phase_distribution
    found = transient(scenario, [0.0, 0.7, 5.0])
    for t, levels in zip(found.times, found.levels, strict=True):
        p = p0 @ expm(Q * t)
        cuts = zip(generator.starts, generator.starts[1:], strict=False)
        np.testing.assert_allclose(levels, [p[a:b].sum() for a, b in cuts], atol=1e-13)
    # Average over [0, t] by the block trick: the integral of exp is a corner of a larger exponential.
    n, t = len(Q), 5.0
    big = expm(np.block([[Q, np.eye(n)], [np.zeros((n, n)), np.zeros((n, n))]]) * t)
    mean = p0 @ big[:n, n:] / t
    assert found.averaged[2]["starvation_probability"] == pytest.approx(mean[: generator.starts[1]].sum(), rel=1e-11)


def test_long_times_reach_the_stationary_measures():
    scenario = examples.load("paper")
    stationary = solve(scenario).measures
    found = transient(scenario, [200.0])
    for name, value in found.at[0].items():
        assert value == pytest.approx(stationary[name], rel=1e-9)
    assert found.distance[0] < 1e-12


def test_start_at_a_level_or_anywhere():
    scenario = examples.load("paper")
    assert transient(scenario, [0.0], start=4).levels[0][4] == pytest.approx(1, rel=1e-14)
    generator = Generator.of(Chain.of(scenario))
    p0 = np.full(generator.starts[-1], 1 / generator.starts[-1])
    assert transient(scenario, [0.0], start=p0).levels[0].sum() == pytest.approx(1)


def test_settling_time_is_where_the_distance_passes():
    scenario = examples.load("paper")
    settled = settling_time(scenario, 0.01)
    before, after = transient(scenario, [0.99 * settled, 1.01 * settled]).distance
    assert before > 0.01 > after
    assert settling_time(scenario, 0.999999) == 0


def test_two_state_chain_in_closed_form():
    # M/M/1/1: p_0(t) = mu/(l+mu) + l/(l+mu) exp(-(l+mu) t).
    scenario = examples.load("mm1k").replace(capacity=1)
    found = transient(scenario, [0.3, 1.0])
    for t, at in zip(found.times, found.at, strict=True):
        assert at["starvation_probability"] == pytest.approx((1 + 0.8 * np.exp(-1.8 * t)) / 1.8, rel=1e-12)
    frame = found.to_frame()
    assert set(frame.columns) == {"time", "measure", "at", "averaged", "unit"}
    assert found.to_json()[0]["time"] == 0.3


@pytest.mark.parametrize("times", [[], [-1.0], [float("nan")], [1e30]])
def test_wrong_times_are_refused(times):
    with pytest.raises(InputError, match="times must be"):
        transient(examples.load("mm1k"), times)


@pytest.mark.parametrize("start", [-1, 6, True, np.ones(3)])
def test_wrong_starts_are_refused(start):
    with pytest.raises(InputError, match="start must be"):
        transient(examples.load("mm1k"), [1.0], start=start)


def test_long_times_of_small_chains_take_one_exponential():
    scenario = examples.load("mm1k").replace(capacity=1)
    found = transient(scenario, [1e6])
    assert found.at[0]["starvation_probability"] == pytest.approx(1 / 1.8, rel=1e-11)
    # The average over [0, t] of (1 + 0.8 exp(-1.8 t)) / 1.8.
    assert found.averaged[0]["starvation_probability"] == pytest.approx((1 + 0.8 / 1.8 / 1e6) / 1.8, rel=1e-11)


def test_hardly_linked_phases_settle_late():
    # Two regimes that change places at rate link each way: from one of them the distance falls as exp(-2 link t) / 2.
    link = 1e-9
    stream = BMAP([[[-1.0 - link, link], [link, -1.0 - link]], [[1.0, 0.0], [0.0, 1.0]]])
    scenario = examples.load("mm1k").replace(arrivals=ModeMatrices({1: stream}), capacity=1)
    generator = Generator.of(Chain.of(scenario))
    one_side = np.zeros(generator.starts[-1])
    one_side[0] = 1.0
    assert settling_time(scenario, 0.1, start=one_side) == pytest.approx(np.log(5) / (2 * link), rel=2e-3)


def test_what_never_settles_is_said():
    link = 1e-17
    stream = BMAP([[[-1.0 - link, link], [link, -1.0 - link]], [[1.0, 0.0], [0.0, 1.0]]])
    scenario = examples.load("mm1k").replace(arrivals=ModeMatrices({1: stream}), capacity=1)
    generator = Generator.of(Chain.of(scenario))
    one_side = np.zeros(generator.starts[-1])
    one_side[0] = 1.0
    with pytest.raises(ConvergenceError, match="hardly communicate"):
        settling_time(scenario, 0.1, start=one_side)
    with pytest.raises(InputError, match="tolerance"):
        settling_time(scenario, 0)


def test_the_first_instant_is_the_start():
    found = transient(examples.load("paper"), [1e-300])
    assert found.averaged[0]["starvation_probability"] == pytest.approx(1, rel=1e-14)


def test_large_chains_are_refused_with_a_word():
    with pytest.raises(TooLargeError, match="measures at a time must have an explicit chain"):
        transient(examples.load("hyperexponential").replace(capacity=30), [1.0])
