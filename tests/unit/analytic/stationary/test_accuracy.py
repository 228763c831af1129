"""Small probabilities keep their digits; nearly decomposable and stiff chains are right (60-digit arithmetic)."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from analytic import solve
from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from crawltwin.model import BMAP, ModeMatrices, PhaseType, Scenario, ThresholdPolicy, exponential, hyperexponential
from crawltwin.model.examples import load
from tests.oracle.exact import stationary_digits


def exact_loss(scenario: Scenario) -> float:
    """Loss probability from the generator's off-diagonal rates, eliminated in 60 digits."""
    chain = Chain.of(scenario)
    generator = Generator.of(chain)
    p = stationary_digits(generator.matrix)
    lost = arrived = mpmath.mpf(0)
    for level, flow in enumerate(chain.flows):
        width = chain.level_states(level) // chain.arrival_phases
        for index in range(chain.level_states(level)):
            mass = p[generator.starts[level] + index]
            lost += mass * mpmath.mpf(float(flow.pages.loss_rates[index // width]))
            arrived += mass * mpmath.mpf(float(flow.pages.page_rates[index // width]))
    return float(lost / arrived)


def quiet(capacity: int, obsolescence: PhaseType) -> Scenario:
    stream = BMAP([[[-0.06, 0.01], [0.02, -0.05]], [[0.03, 0.02], [0.01, 0.02]]])
    return Scenario(
        capacity=capacity,
        arrivals=ModeMatrices({1: stream}),
        service=PhaseType([0.4, 0.6], [[-3, 1], [2, -3]]),
        obsolescence=obsolescence,
        policy=ThresholdPolicy([1]),
    )


@pytest.mark.parametrize("method", ["banded", "block", "qbd", "direct"])
def test_loss_of_1e_30_has_eight_right_digits(method):
    scenario = quiet(15, exponential(2.0))
    exact = exact_loss(scenario)
    assert exact < 1e-29
    assert solve(scenario, method=method).measures["loss_probability"] == pytest.approx(exact, rel=1e-8)


def test_loss_with_two_clocks_keeps_its_digits():
    scenario = quiet(6, hyperexponential([0.5, 0.5], [0.1, 2.0]))
    exact = exact_loss(scenario)
    assert exact < 1e-9
    for method in ("block", "qbd", "direct"):
        assert solve(scenario, method=method).measures["loss_probability"] == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("link", [1e-6, 1e-9, 1e-12])
def test_nearly_decomposable_arrivals_are_right(link):
    # Two regimes that hardly ever change places; the exact answer weighs them by the links' ratio.
    stream = BMAP([[[-1.0 - link, link], [3 * link, -0.2 - 3 * link]], [[1.0, 0.0], [0.0, 0.2]]])
    scenario = quiet(4, exponential(2.0)).replace(arrivals=ModeMatrices({1: stream}))
    exact = exact_loss(scenario)
    for method in ("auto", "block", "qbd"):
        assert solve(scenario, method=method).measures["loss_probability"] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("link", [1e-3, 1e-6, 1e-9, 1e-12])
def test_the_direct_method_tells_what_it_lost_to_subtraction(link):
    # Two phases with very different rates, which hardly communicate; block elimination has full accuracy there.
    D0 = [[-0.5 - link, link], [link, -2.0 - link]]
    arrivals = ModeMatrices({1: BMAP([D0, [[0.5, 0.0], [0.0, 2.0]]])})
    clocks = PhaseType([0.3, 0.7], [[-1.0, 0.3], [0.0, -0.2]])
    scenario = Scenario(4, arrivals, exponential(1.0), clocks)
    found, exact = (solve(scenario, method=method) for method in ("direct", "block"))
    gap = np.abs(np.subtract(found.measures["level_distribution"], exact.measures["level_distribution"])).sum()
    assert gap <= found.solver.error_estimate <= 1e-15 / link
    assert exact.solver.error_estimate < 1e-13


def test_stiff_rates_are_right():
    stream = BMAP([[[-1e6 - 1.0, 1e6], [1e-3, -2e-3]], [[0.5, 0.5], [0.0, 1e-3]]])
    scenario = quiet(4, exponential(1e5)).replace(arrivals=ModeMatrices({1: stream}))
    exact = exact_loss(scenario)
    for method in ("auto", "block", "qbd", "direct"):
        assert solve(scenario, method=method).measures["loss_probability"] == pytest.approx(exact, rel=1e-9)


def test_deep_overload_and_underload_do_not_overflow():
    base = load("mm1k").replace(obsolescence=None)
    for rate in (1e-3, 30.0):
        scenario = base.replace(capacity=3000, arrivals=ModeMatrices({1: BMAP.poisson(rate)}))
        levels = np.array(solve(scenario).measures["level_distribution"])
        assert np.isfinite(levels).all()
        # M/M/1/K: p_i is geometric with the ratio of the rates.
        expected = (
            (1 - 1 / rate) * (1 / rate) ** (3000 - np.arange(3001.0))
            if rate > 1
            else (1 - rate) * rate ** np.arange(3001.0)
        )
        np.testing.assert_allclose(levels, expected, rtol=1e-10, atol=1e-300)
