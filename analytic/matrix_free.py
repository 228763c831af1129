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
from analytic.banded import level_marginals
from analytic.chain import Chain
from analytic.kronecker import AnyArray, PhaseBasis
from analytic.summary import Summary
from analytic.window_levels import WindowLevels
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError, Fault, TooLargeError

Progress = Callable[[str, float], None]

MAX_BYTES = 4 * 2**30
"""Most memory that the level arrays may take."""


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
    states, sweeps : int
        Size of the chain, and sweeps done.
    residual : float
        Bound of the 1-norm of p Q over the fastest rate.
    converged : bool
        Always true for a returned solution; a failure raises.
    seconds : float
        Time taken.
    """

    summary: Summary
    levels: tuple[AnyArray, ...]
    space: WindowLevels
    states: int
    sweeps: int
    residual: float
    converged: bool
    seconds: float


def solve_matrix_free(
    chain: Chain,
    *,
    tolerance: float = 1e-12,
    max_sweeps: int = 1000,
    window: int | None = None,
    start: Sequence[AnyArray] | None = None,
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
    sweeper = Sweeper(chain, space, max_bytes)
    sweeper.begin(start)
    change, rate, sweeps = 1.0, 0.5, 0
    total = 1.0
    while sweeps < max_sweeps:
        previous = change
        sweeper.correct()
        change, total = sweeper.sweep()
        sweeps += 1
        # The slowest of the last ratios is the safe one; early ratios are not asymptotic.
        ratio = change / previous if previous > 0 else 0.0
        rate = min(max(ratio, 0.5 * rate), 0.999)
        if progress is not None:
            progress("sweeps", min(1.0, np.log10(max(change, 1e-300)) / np.log10(tolerance)))
        if not np.isfinite(change):
            break
        if change * rate / (1.0 - rate) <= tolerance or change <= 4e-16:
            summary = sweeper.summary()
            return LevelSolution(
                summary,
                tuple(sweeper.levels),
                space,
                sweeper.states,
                sweeps,
                2.0 * total,
                converged=True,
                seconds=time.perf_counter() - began,
            )
    raise ConvergenceError(
        f"the sweeps must reach a relative change of {tolerance:g} in {max_sweeps} sweeps; "
        f"got {change:g} after {sweeps}. Raise max_sweeps, or check for rates many orders of magnitude apart.",
    )


class Sweeper:
    """The iterate and one sweep over it. Mutable on purpose: it owns the memory of the iteration."""

    def __init__(self, chain: Chain, space: WindowLevels, max_bytes: int = MAX_BYTES) -> None:
        W, M, top = chain.arrival_phases, chain.service_phases, chain.top
        self.chain, self.space = chain, space
        sizes = [W] + [W * M * space.size(level - 1) for level in range(1, top + 1)]
        self.states = sum(sizes)
        need = (self.states + 2 * max(sizes)) * space.dtype.itemsize
        if need > max_bytes:
            raise TooLargeError(
                [
                    Fault(
                        "capacity",
                        f"the level vectors must fit in {max_bytes / 2**30:.3g} GiB; got {need / 2**30:.3g} GiB for "
                        f"{self.states:,} states",
                        "Use --method window, a smaller capacity or fewer phases.",
                    )
                ]
            )
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
        self._clocks = np.zeros((top + 1, W * M))
        self._totals: list[FloatArray] = []
        self._flow = np.zeros(top + 1)

    def begin(self, start: Sequence[AnyArray] | None) -> None:
        """Take a warm start, or fresh clocks on every waiting page."""
        chain, space, top = self.chain, self.space, self.chain.top
        W, A = chain.arrival_phases, chain.arrival_phases * chain.service_phases
        if start is not None:
            self.levels = [np.array(level, dtype=space.dtype) for level in start]
            self._measure()
            return
        self.levels = [np.full((1, 1, W), 1.0 / W, dtype=space.dtype)]
        if top > 0:
            self.levels.append(np.full((1, 1, A), 1.0 / A, dtype=space.dtype))
        for level in range(2, top + 1):
            self.levels.append(space.add(self.levels[-1], level - 2))
        self._measure()

    def _measure(self) -> None:
        """Level totals and conditional obsolescence rates of the iterate as it stands."""
        space = self.space
        self._totals = [self.levels[0][0, 0].real.copy()]
        self._clocks[:] = 0.0
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
        self._clocks[level] = np.maximum(np.where(np.isfinite(clocks), clocks, 0.0), 0.0)

    def correct(self) -> None:
        """Aggregation and disaggregation: make the (level, arrival, service) law exact for the present clocks."""
        empty, busy = level_marginals(self.chain, self._clocks)
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
            self.levels[0] = new
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
        for level in self.levels:
            level /= mass
        busy = np.array(self._totals[1:]).reshape(top, W, M) / mass
        return Summary(self._totals[0] / mass, busy, self._flow / mass)
