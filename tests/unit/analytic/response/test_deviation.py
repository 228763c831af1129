"""Solves with the singular generator: both defining equations, on every kind of chain."""

import numpy as np
import pytest

from analytic.chain.primitives import Chain
from analytic.response.poisson_equation import Deviation
from crawltwin.model import BMAP, ModeMatrices, Scenario, ThresholdPolicy, examples
from crawltwin.model.laws import families

PAPER_MODELS = [name for name in examples.EXAMPLES if not examples.load(name).features]


@pytest.mark.parametrize("name", PAPER_MODELS)
def test_poisson_equation_and_its_mirror_image(name):
    scenario = examples.load(name)
    known = scenario.arrivals.robot_numbers
    scenario = scenario.replace(capacity=5, policy=ThresholdPolicy([known[-1], known[0]], [1]))
    deviation = Deviation.of(Chain.of(scenario))
    Q, p = deviation.events.matrix, deviation.p
    rng = np.random.default_rng(7)
    f = rng.normal(size=(p.size, 3))
    h = deviation.excess(f)
    scale = np.abs(Q.diagonal()).max() * np.abs(h).max()
    np.testing.assert_allclose(-(Q @ h), f - p @ f, atol=1e-12 * scale)
    np.testing.assert_allclose(p @ h, 0.0, atol=1e-12 * np.abs(h).max())
    r = f - f.mean(axis=0)
    x = deviation.shift(r.T)
    scale = np.abs(Q.diagonal()).max() * np.abs(x).max()
    np.testing.assert_allclose((Q.T @ x.T).T, r.T, atol=1e-12 * scale)
    np.testing.assert_allclose(x.sum(axis=1), 0.0, atol=1e-12 * np.abs(x).sum())


def test_two_states_by_hand():
    scenario = Scenario(capacity=1, arrivals=ModeMatrices({1: BMAP.poisson(1.0)}), service=families.exponential(1.0))
    deviation = Deviation.of(Chain.of(scenario))
    np.testing.assert_allclose(deviation.excess(np.array([1.0, 0.0])), [0.25, -0.25], rtol=1e-14)
