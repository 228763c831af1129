"""Matrix-free and window solutions against the exact product form, far past what an explicit chain can hold."""

import numpy as np
import pytest

from analytic.chain.primitives import Chain
from analytic.stationary.matrix_free import solve_matrix_free
from analytic.stationary.window import solve_window
from crawltwin.model import BMAP, ModeMatrices, Scenario, ThresholdPolicy, exponential, hyperexponential
from tests.oracle.closed_forms import hyperexponential_queue

FAST, SLOW = [0.9, 0.1], [1.0, 0.1 / 4.1]


def queue(
    capacity: int, arrivals: float, weights: list[float], rates: list[float], then: float | None = None
) -> Scenario:
    """Poisson arrivals, at the rate `then` (if given) with more than two pages in the system."""
    modes = {2: BMAP.poisson(arrivals)} | ({} if then is None else {1: BMAP.poisson(then)})
    policy = ThresholdPolicy([2], []) if then is None else ThresholdPolicy([2, 1], [2])
    return Scenario(capacity, ModeMatrices(modes), exponential(1.0), hyperexponential(weights, rates), policy=policy)


def truth(capacity: int, arrivals: float, weights: list[float], rates: list[float], then: float | None = None) -> dict:
    high = arrivals if then is None else then
    levels = [arrivals if level <= 2 else high for level in range(capacity + 1)]
    return dict(hyperexponential_queue(levels, 1.0, weights, rates))


@pytest.mark.parametrize(
    "case",
    [
        (12, 3.0, FAST, SLOW),
        (12, 0.5, [0.5, 0.5], [3.0, 0.05]),
        (8, 4.0, [0.5, 0.3, 0.2], [2.0, 0.5, 0.05]),
        (14, 3.0, FAST, SLOW, 1.2),
    ],
)
def test_exact_levels(case: tuple) -> None:
    found = solve_matrix_free(Chain.of(queue(*case)), tolerance=1e-12)
    np.testing.assert_allclose(found.summary.level_distribution, truth(*case)["level_distribution"], rtol=1e-10)


WINDOWS = [
    (30, 1.6, FAST, SLOW, 0.9),
    (30, 3.0, FAST, SLOW),
    (20, 0.8, [0.5, 0.5], [3.0, 0.05]),
    (100, 1.6, FAST, SLOW, 0.9),
    (16, 4.0, [0.5, 0.3, 0.2], [2.0, 0.5, 0.05]),
]


@pytest.mark.parametrize("case", WINDOWS)
def test_estimates_of_windows_are_honest(case: tuple) -> None:
    found = solve_window(Chain.of(queue(*case)), tolerance=1e-2, max_states=60_000)
    expected = truth(*case)
    for name in found.measures:
        if name not in expected or expected[name] is None:
            continue
        error = np.abs(np.asarray(found.measures[name]) - np.asarray(expected[name], dtype=float))
        assert (error <= np.asarray(found.errors[name]) + 1e-15).all(), name


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [(30, 3.0, FAST, SLOW), (100, 2.5, FAST, SLOW), (60, 6.0, FAST, SLOW), (100, 12.0, [0.7, 0.3], [2.0, 0.1])]
)
def test_estimates_of_large_windows_are_honest(case: tuple) -> None:
    found = solve_window(Chain.of(queue(*case)), max_states=100_000)
    expected = truth(*case)
    for name in found.measures:
        if name not in expected or expected[name] is None:
            continue
        error = np.abs(np.asarray(found.measures[name]) - np.asarray(expected[name], dtype=float))
        assert (error <= np.asarray(found.errors[name]) + 1e-15).all(), name
