r"""Exact stationary solution for phase-type obsolescence without a stored generator.

The level vectors of equation (4) are arrays (see `analytic.level_kernels`); the generator is only ever
applied. One *sweep* is block Gauss-Seidel over the levels from the top down,

.. math:: p_i \leftarrow \Big(\sum_{l \ge 1} p_{i-l} Q_{i-l,i} + p_{i+1} Q_{i+1,i}\Big)(-Q_{i,i})^{-1},

with the diagonal block solved exactly (see `analytic.kronecker`). Between sweeps the level masses are
corrected by iterative aggregation and disaggregation (Takahashi's method): given the iterate, the chain
aggregated to (level, arrival phase, service phase) has known rates but one, the conditional rate at which
some waiting page becomes obsolete; its exact stationary law, found by elimination without subtraction
(`analytic.banded`), rescales the iterate. What is slow in plain Gauss-Seidel, the exchange between levels and
between nearly decomposable arrival phases, is thereby exact at every sweep.

Stopping: the change of the last sweep, relative to the mass of *each* level, times q / (1 - q) with q the
observed rate of convergence, must fall below the tolerance. For the vector x before a sweep and y after it, x
Q = (x - y)(L + D) with block triangular L + D, so :math:`\|xQ\|_1 \le 2 \Lambda \|x - y\|_1`, with
:math:`\Lambda` the fastest rate: the residual reported is that bound over :math:`\Lambda`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analytic import level_kernels as kernels
from analytic.anderson import Anderson
from analytic.banded import level_marginals
from analytic.chain import Chain
from analytic.kronecker import AnyArray, PhaseBasis
from analytic.summary import Summary
from analytic.window_levels import WindowLevels
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import ConvergenceError, Fault, TooLargeError

Progress = Callable[[str, float], None]

MAX_BYTES = 4 * 2**30
"""Most memory that the level arrays may take."""

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
        Level 0: shape (1, 1, W); level i: shape (ordered strings, count vectors, W M), in the basis of `space`.
    space : WindowLevels
        What the axes mean.
    clocks : ndarray, shape (top + 1, W M)
        Conditional rate at which some waiting page becomes obsolete, by level and small state.
    states, sweeps : int
        Size of the chain, and sweeps done.
    residual : float
        Bound of the 1-norm of p Q over the fastest rate.
    error : float
        Estimate of the largest relative error of a level's vector, from the last change and the rate of convergence.
    converged : bool
        Always true for a returned solution; a failure raises.
    seconds : float
        Time taken.
    """

    summary: Summary
    levels: tuple[AnyArray, ...]
    space: WindowLevels
    clocks: FloatArray
    states: int
    sweeps: int
    residual: float
    error: float
    converged: bool
    seconds: float


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

    Cost: a sweep does about (K + W M + 4) operations a state; 8 bytes a state and half as much for work.

    Parameters
    ----------
    chain : Chain
        The pieces of the generator.
    tolerance : float
        Relative error of each level's vector at which to stop (estimated from the observed convergence).
    max_sweeps : int
        The cap; reaching it is an error, not an answer.
    window : int, optional
        Keep only this many of the oldest waiting pages in order (see `analytic.window`). Default: all, exact.
    start : sequence of ndarray, optional
        Warm start: the `levels` of a solution of the same shape, for instance under another policy.
    mixing : int
        Sweeps that the Krylov acceleration mixes (`analytic.anderson`); 0 for plain sweeps in the least memory.
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
    began = time.perf_counter()
    top = chain.top
    full = max(top - 1, 0)
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
                converged=True,
                seconds=time.perf_counter() - began,
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
        levels[2:] = [narrow.refine(x, waiting) for waiting, x in enumerate(levels[2:], start=1)]
    return levels


class Sweeper:
    """The iterate and one sweep over it. Mutable on purpose: it owns the memory of the iteration."""

    def __init__(self, chain: Chain, space: WindowLevels, max_bytes: int = MAX_BYTES, vectors: int = 1) -> None:
        W, M, top = chain.arrival_phases, chain.service_phases, chain.top
        self.chain, self.space = chain, space
        sizes = [W] + [W * M * space.size(level - 1) for level in range(1, top + 1)]
        self.states = sum(sizes)
        need = (vectors * self.states + 2 * max(sizes)) * space.dtype.itemsize
        if need > max_bytes:
            raise TooLargeError(
                [
                    Fault(
                        "capacity",
                        f"the level vectors must fit in {max_bytes / 2**30:.3g} GiB; "
                        f"got {count(need // 2**30)} GiB for {count(self.states)} states",
                        "Use --method window, a smaller capacity or fewer phases.",
                    )
                ]
            )
        self.bounds = [0, *np.cumsum(sizes).tolist()]
        beta, S, S0 = chain.service.initial, chain.service.subgenerator, chain.service.exit_rates
        identity = np.eye(M)
        self._ends: FloatArray = np.kron(np.eye(W), np.outer(S0, beta)).astype(np.float64)
        self._last: FloatArray = np.kron(np.eye(W), S0[:, None]).astype(np.float64)
        inner = np.kron(np.eye(W), S)
        self._jumps: list[dict[int, FloatArray]] = []
        self._tables = []
        for level, flow in enumerate(chain.flows):
            with_service = beta[None, :] if level == 0 else identity
            self._jumps.append(
                {step: np.kron(rates, with_service).astype(np.float64) for step, rates in flow.jumps.items()}
            )
            out = sum((rates.sum(axis=1) for rates in flow.jumps.values()), np.zeros(W))
            if level > 0:
                row_sums = np.kron(out, np.ones(M)) + np.tile(S0, W)
                self._tables.append(space.tables(level - 1, np.kron(flow.stay, identity) + inner, row_sums))
            else:
                stay = flow.stay - np.diag(np.diag(flow.stay))
                self._empty = np.diag(stay.sum(axis=1) + out) - stay
        self.levels: list[AnyArray] = []
        self._scales: list[AnyArray] = []
        self.clocks = np.zeros((top + 1, W * M))
        self._totals: list[FloatArray] = []
        self._flow = np.zeros(top + 1)

    def begin(self, start: Sequence[AnyArray] | None) -> None:
        """Take a warm start, or fresh clocks on every waiting page."""
        chain, space, top = self.chain, self.space, self.chain.top
        W, A = chain.arrival_phases, chain.arrival_phases * chain.service_phases
        self.vector = np.zeros(self.states, dtype=space.dtype)
        shapes = [(1, 1, W)] + [(*space.shape(level - 1), A) for level in range(1, top + 1)]
        self.levels = [
            self.vector[a:b].reshape(shape)
            for a, b, shape in zip(self.bounds[:-1], self.bounds[1:], shapes, strict=True)
        ]
        if start is not None:
            for own, given in zip(self.levels, start, strict=True):
                own[:] = given
            self.measure()
            return
        self.levels[0][:] = 1.0 / W
        if top > 0:
            self.levels[1][:] = 1.0 / A
        for level in range(2, top + 1):
            self.levels[level][:] = space.add(self.levels[level - 1], level - 2)
        self.measure()

    def scaled_copy(self) -> AnyArray:
        """The iterate as the next sweep sees it, the correction of the level masses carried out."""
        for level, scale in zip(self.levels, self._scales, strict=True):
            level *= scale
            scale[:] = 1.0
        return self.vector.copy()

    def measure(self) -> None:
        """Level totals and conditional obsolescence rates of the iterate as it stands."""
        space = self.space
        self._totals = [self.levels[0][0, 0].real.copy()]
        self.clocks[:] = 0.0
        for level in range(1, self.chain.top + 1):
            x, tables = self.levels[level], self._tables[level - 1]
            weights = tables.sums[tables.pairs][tables.classes]
            rates = tables.flows[tables.pairs][tables.classes]
            total = np.tensordot(weights, x, axes=2).real
            self._record(level, total, np.tensordot(rates, x, axes=2).real)
        self._scales = [np.ones(x.shape[2], dtype=space.dtype) for x in self.levels]

    def _record(self, level: int, total: FloatArray, flow: FloatArray) -> None:
        if level == len(self._totals):
            self._totals.append(total)
        else:
            self._totals[level] = total
        self._flow[level] = float(flow.sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            clocks = np.where(total > 0, flow / total, 0.0)
        self.clocks[level] = np.maximum(np.where(np.isfinite(clocks), clocks, 0.0), 0.0)

    def correct(self) -> None:
        """Aggregation and disaggregation: make the (level, arrival, service) law exact for the present clocks."""
        empty, busy = level_marginals(self.chain, self.clocks)
        wanted = [empty, *busy.reshape(self.chain.top, -1)]
        for level, (total, target) in enumerate(zip(self._totals, wanted, strict=True)):
            with np.errstate(divide="ignore", invalid="ignore"):
                factor = np.where(total > 0, target / total, 1.0)
            self._scales[level] = np.where(np.isfinite(factor), factor, 1.0).astype(self.space.dtype)

    def sweep(self) -> tuple[float, float]:
        """One descending sweep; the largest change relative to a level's mass, and the total change."""
        space, top = self.space, self.chain.top
        worst = total_change = 0.0
        below: AnyArray | None = None
        for level in range(top, 0, -1):
            right = self._arrivals(level)
            if below is not None:
                right += below
            x = self.levels[level]
            change, total, flow = space.solve(right, level - 1, self._tables[level - 1], x, self._scales[level])
            del right
            self._record(level, total.real, flow.real)
            self._scales[level] = np.ones_like(self._scales[level])
            mass = float(np.abs(x).sum()) if not space.basis.natural else float(total.sum())
            if mass > 0:
                worst = max(worst, change / mass)
            total_change += change
            below = space.down(x, level - 1, self._ends) if level > 1 else x @ self._last
        old = self.levels[0] * self._scales[0]
        if below is not None:
            new = np.linalg.solve(self._empty.T, below[0, 0].real)[None, None, :].astype(space.dtype)
            self.levels[0][:] = new
            difference = float(np.abs(new - old).sum())
            worst = max(worst, difference / float(np.abs(new).sum()))
            total_change += difference
        self._totals[0] = self.levels[0][0, 0].real.copy()
        self._scales[0] = np.ones_like(self._scales[0])
        return worst, total_change

    def _arrivals(self, level: int) -> AnyArray:
        """Flow into a level from those below it, by Horner's rule on the batch size: each page is appended once."""
        space = self.space
        A = self.chain.arrival_phases * self.chain.service_phases
        flow: AnyArray | None = None
        for step in range(self.chain.reach, 0, -1):
            source = level - step
            if source < 0:
                continue
            small = self._jumps[source].get(step)
            waiting = max(source - 1, 0)
            if small is not None:
                if flow is None:
                    flow = np.zeros((*space.shape(waiting), A), dtype=space.dtype)
                kernels.times_small(self.levels[source], self._scales[source][:, None] * small, flow)
            if flow is not None and source > 0:
                flow = space.add(flow, waiting)
        if flow is None:
            flow = np.zeros((*space.shape(level - 1), A), dtype=space.dtype)
        return flow

    def summary(self) -> Summary:
        """Normalised marginals of the iterate; the level arrays are normalised too."""
        chain = self.chain
        W, M, top = chain.arrival_phases, chain.service_phases, chain.top
        mass = float(sum(total.sum() for total in self._totals))
        self.vector /= mass
        busy = np.array(self._totals[1:]).reshape(top, W, M) / mass
        return Summary(self._totals[0] / mass, busy, self._flow / mass)
