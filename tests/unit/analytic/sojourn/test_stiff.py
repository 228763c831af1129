"""Times in the system with rates many orders apart: transforms, tails and quantiles against closed forms."""

import math

import pytest

from analytic.chain.primitives import Chain
from analytic.sojourn.levels import LevelSojournTimes
from analytic.stationary.matrix_free import solve_matrix_free
from crawltwin.model import ThresholdPolicy, TooLargeError, examples, hyperexponential

SLOW, FAST = 1e-6, 1e6


@pytest.fixture(scope="module")
def law():
    """Room for one page: the time in the system is the indexing time itself."""
    scenario = examples.load("hyperexponential").replace(
        capacity=1, service=hyperexponential([0.5, 0.5], [SLOW, FAST]), policy=ThresholdPolicy([1], [])
    )
    chain = Chain.of(scenario)
    return LevelSojournTimes(chain, solve_matrix_free(chain))


@pytest.mark.parametrize("u", [0.0, 1e-9, 1e-3, 1.0, 1e6, 1e-6 + 3e-6j])
def test_the_transform_needs_no_steps(law, u):
    exact = 0.5 * SLOW / (u + SLOW) + 0.5 * FAST / (u + FAST)
    assert law.transform(u, "served") == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("x", [1e-6, 1.0, 1e3, 1e6, 1e7])
def test_the_tail_is_found_without_ten_million_million_steps(law, x):
    exact = 0.5 * math.exp(-SLOW * x) + 0.5 * math.exp(-FAST * x)
    assert float(law.survival(x, "served")) == pytest.approx(exact, abs=1e-8)


def test_the_quantile_is_found(law):
    assert law.quantile(0.9, "served") == pytest.approx(-math.log(0.2) / SLOW, rel=1e-7)


def test_a_quantile_that_an_inversion_cannot_tell_is_refused(law):
    with pytest.raises(TooLargeError, match="must take at most 100,000 steps"):
        law.quantile(1 - 1e-9, "served")
