r"""Exact stationary solution for phase-type obsolescence without a stored generator.

The level vectors of equation (4) are arrays (see `analytic.linear.level_kernels`); the generator is only ever
applied. One *sweep* is block Gauss-Seidel over the levels from the top down,

.. math:: p_i \leftarrow \Big(\sum_{l \ge 1} p_{i-l} Q_{i-l,i} + p_{i+1} Q_{i+1,i}\Big)(-Q_{i,i})^{-1},

with the diagonal block solved exactly (see `analytic.linear.kronecker`). Between sweeps the level masses are
corrected by iterative aggregation and disaggregation (Takahashi's method): given the iterate, the chain
aggregated to (level, small state) has known rates but one, the conditional rate at which
some waiting page becomes obsolete; its exact stationary law, found by elimination without subtraction
(`banded`), rescales the iterate. What is slow in plain Gauss-Seidel, the exchange between levels and
between nearly decomposable arrival phases, is thereby exact at every sweep.

Stopping: the change of the last sweep, relative to the mass of *each* level, times q / (1 - q) with q the
observed rate of convergence, must fall below the tolerance. For the vector x before a sweep and y after it, x
Q = (x - y)(L + D) with block triangular L + D, so :math:`\|xQ\|_1 \le 2 \Lambda \|x - y\|_1`, with
:math:`\Lambda` the fastest rate: the residual reported is that bound over :math:`\Lambda`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analytic.chain.primitives import Chain
from analytic.chain.summary import Summary
from analytic.linear.anderson import Anderson
from analytic.linear.kronecker import AnyArray, PhaseBasis
from analytic.stationary.solution import Progress
from analytic.stationary.sweeper import MAX_BYTES, Sweeper
from analytic.stationary.window_levels import WindowLevels
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError

FLOOR = 2e-13
"""Relative change of a sweep that rounding alone may cause."""

NEST_ABOVE, NEST_WINDOW, NEST_TOLERANCE = 500_000, 6, 1e-5
"""Chains with more states start from the solution, to this tolerance, of a window of that many pages."""

MIX_BELOW, PAUSE = 0.03, 6
"""Steps are mixed when the relative change is below the first: before it the iteration is far from linear. When a
mixture makes the change grow, so many plain sweeps follow."""


@dataclass(frozen=True)
class LevelSolution:
    """A stationary solution by levels.

    Parameters
    ----------
    summary : Summary
        Marginals from which the measures follow.
    levels : tuple of ndarray
        Level i: shape (ordered strings, count vectors, small states), in the basis of `space`.
    space : WindowLevels
        What the axes mean.
    clocks : ndarray, shape (top + 1, most small states)
        Conditional rate at which some waiting page becomes obsolete, by level and small state.
    states, sweeps : int
        Size of the chain, and sweeps done.
    residual : float
        Bound of the 1-norm of p Q over the fastest rate.
    error : float
        Estimate of the largest relative error of a level's vector, from the last change and the rate of convergence.
    """

    summary: Summary
    levels: tuple[AnyArray, ...]
    space: WindowLevels
    clocks: FloatArray
    states: int
    sweeps: int
    residual: float
    error: float


def solve_matrix_free(
    chain: Chain,
    *,
    tolerance: float = 1e-11,
    max_sweeps: int = 3000,
    window: int | None = None,
    start: Sequence[AnyArray] | None = None,
    mixing: int = 3,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
) -> LevelSolution:
    """Stationary level vectors of the paper's chain, or of its ordered-window reduction.

    Cost: a sweep does about (K + W M + 4) operations per state; 8 bytes per state and half as much for work.

    Parameters
    ----------
    chain : Chain
        The pieces of the generator.
    tolerance : float
        Relative error of each level's vector at which to stop (estimated from the observed convergence).
    max_sweeps : int
        The cap; reaching it is an error, not an answer.
    window : int, optional
        Keep only this many of the oldest waiting pages in order (see `window`). Default: all, exact.
    start : sequence of ndarray, optional
        Warm start: the `levels` of a solution of the same shape, for instance under another policy.
    mixing : int
        Sweeps that the Krylov acceleration mixes (`analytic.linear.anderson`); 0 for plain sweeps in the least memory.
    max_bytes : int
        Refuse before anything is built when more memory would be needed.
    progress : callable, optional
        Called with a word and the fraction done (on the scale of the logarithm of the change).

    Raises
    ------
    TooLargeError
        With the size and the way out.
    ConvergenceError
        When the cap is reached.
    """
    top = chain.top
    full = chain.indexers.waiting(top)
    space = WindowLevels(
        PhaseBasis.of(chain.gamma, chain.Gamma, chain.Gamma0),
        full if window is None else min(window, full),
    )
    sweeper = Sweeper(chain, space, max_bytes, vectors=4 + mixing if mixing else 1)
    if start is None and sweeper.states > NEST_ABOVE and space.window > NEST_WINDOW:
        start = _nested_start(chain, space)
    sweeper.begin(start)
    krylov = Anderson(mixing, sweeper.bounds) if mixing else None
    change, rate, resume = 1.0, 0.5, 0
    for sweeps in range(1, max_sweeps + 1):
        previous = change
        sweeper.correct()
        mix = krylov is not None and previous < MIX_BELOW and sweeps >= resume
        before = sweeper.scaled_copy() if mix else None
        change, total = sweeper.sweep()
        if progress is not None:
            progress("sweeps", min(1.0, max(0.0, np.log10(max(change, 1e-300)) / np.log10(tolerance))))
        if not np.isfinite(change):
            break
        if change > FLOOR:
            # A ratio above one half of the last is believed at once, a faster one only by and by.
            observed = change / previous if krylov is None or not mix else krylov.contraction
            rate = min(max(observed, 0.7 * rate), 0.999)
        error = change * rate / (1.0 - rate)
        if error <= tolerance or change <= FLOOR:
            return LevelSolution(
                sweeper.summary(),
                tuple(sweeper.levels),
                space,
                sweeper.clocks,
                sweeper.states,
                sweeps,
                2.0 * total,
                error,
            )
        if krylov is not None and before is not None:
            if change > 2 * previous and krylov.plain is not None:
                # The mixture went astray: back to the last plain step, and some more of them.
                sweeper.vector[:] = krylov.plain
                krylov.forget()
                change, resume = previous, sweeps + PAUSE
            else:
                krylov.mix(before, sweeper.vector)
            sweeper.measure()
    raise ConvergenceError(
        f"the sweeps must reach a relative change of {tolerance:g} in {max_sweeps} sweeps; "
        f"got {change:g}. Raise max_sweeps, or check for rates many orders of magnitude apart.",
    )


def _nested_start(chain: Chain, space: WindowLevels) -> list[AnyArray]:
    """Levels of a narrow window, widened one page at a time."""
    rough = solve_matrix_free(chain, tolerance=NEST_TOLERANCE, window=NEST_WINDOW)
    levels = list(rough.levels)
    for window in range(rough.space.window, space.window):
        narrow = WindowLevels(space.basis, window)
        levels = [narrow.refine(x, chain.indexers.waiting(level)) for level, x in enumerate(levels)]
    return levels
