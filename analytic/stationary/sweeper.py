"""The iterate of the matrix-free solution and one sweep over it (see `analytic.stationary.matrix_free`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analytic.chain.primitives import Chain
from analytic.chain.summary import Summary
from analytic.chain.transitions import rates_by_step
from analytic.linear import level_kernels as kernels
from analytic.linear.count_vectors import count_states
from analytic.linear.elimination import reachable
from analytic.linear.kronecker import AnyArray
from analytic.stationary.banded import level_marginals
from analytic.stationary.window_levels import WindowLevels
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import Fault, TooLargeError

MAX_BYTES = 4 * 2**30
"""Most memory that the level arrays may take."""


@dataclass(frozen=True)
class _SmallRates:
    """Rates between small states out of one level, the waiting pages aside.

    Parameters
    ----------
    inside : ndarray
        Within the level, off the diagonal.
    up : dict
        Levels up -> rates.
    down : ndarray
        With the end of a service.
    stale : ndarray or None
        What happens when a page becomes obsolete, probabilities; None where the small state stays.
    out : ndarray
        Total rate to other levels.
    """

    inside: FloatArray
    up: dict[int, FloatArray]
    down: FloatArray
    stale: FloatArray | None
    out: FloatArray

    @classmethod
    def by_level(cls, chain: Chain) -> list[_SmallRates]:
        """Those of all levels; levels with the same transitions share them."""
        found: dict[int, _SmallRates] = {}
        for levels, transitions in chain.transitions:
            by_step = rates_by_step(transitions)
            n = chain.small_states(int(levels[0]))
            out = sum((rates.sum(axis=1) for step, rates in by_step.items() if step), start=np.zeros(n))
            up = {step: rates for step, rates in by_step.items() if step > 0}
            down = by_step.get(-1, np.zeros((n, 0)))
            stale = sum((one.small for one in transitions if one.waiting == "one of all"), start=np.zeros_like(down))
            stays = down.shape == (n, n) and (np.array_equal(stale, np.eye(n)) or not stale.any())
            shared = cls(by_step[0], up, down, None if stays else stale, np.asarray(out))
            found.update(dict.fromkeys(levels.tolist(), shared))
        return [found[level] for level in range(chain.top + 1)]


class Sweeper:
    """The iterate and one sweep over it. Mutable on purpose: it owns the memory of the iteration."""

    def __init__(self, chain: Chain, space: WindowLevels, max_bytes: int = MAX_BYTES, vectors: int = 1) -> None:
        self.chain, self.space = chain, space
        self._waiting = [chain.indexers.waiting(level) for level in range(chain.top + 1)]
        small = chain.small_sizes.tolist()
        sizes = [size * space.size(waiting) for size, waiting in zip(small, self._waiting, strict=True)]
        self.states = sum(sizes)
        tables = sum(
            size**2 * count_states(waiting, space.basis.order)
            for size, waiting in zip(small, self._waiting, strict=True)
        )
        need = (vectors * self.states + 2 * max(sizes) + tables) * space.dtype.itemsize
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
        self._small = _SmallRates.by_level(chain)
        self._tables = [
            space.tables(waiting, rates.inside, rates.out)
            for waiting, rates in zip(self._waiting[1:], self._small[1:], strict=True)
        ]
        # Where no batch fits an empty system, level 0 has no balance to solve: the aggregated chain is its law.
        first = self._small[0]
        self._stays_empty = not (reachable(first.inside) @ (first.out > 0)).all()
        self.levels: list[AnyArray] = []
        self._scales: list[AnyArray] = []
        self.clocks = np.zeros((chain.top + 1, max(small)))
        self._totals: list[FloatArray] = []

    def begin(self, start: Sequence[AnyArray] | None) -> None:
        """Take a warm start, or fresh clocks on every waiting page."""
        space, sizes = self.space, self.chain.small_sizes.tolist()
        self.vector = np.zeros(self.states, dtype=space.dtype)
        shapes = [(*space.shape(waiting), size) for waiting, size in zip(self._waiting, sizes, strict=True)]
        self.levels = [
            self.vector[a:b].reshape(shape)
            for a, b, shape in zip(self.bounds[:-1], self.bounds[1:], shapes, strict=True)
        ]
        if start is not None:
            for own, given in zip(self.levels, start, strict=True):
                own[:] = given
            self.measure()
            return
        for level, (waiting, size) in enumerate(zip(self._waiting, sizes, strict=True)):
            if waiting == 0:
                self.levels[level][:] = 1.0 / size
            else:
                self.levels[level][:] = space.add(self.levels[level - 1][:, :, :1], waiting - 1)
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
        with np.errstate(divide="ignore", invalid="ignore"):
            clocks = np.where(total > 0, flow / total, 0.0)
        self.clocks[level, : total.size] = np.maximum(np.where(np.isfinite(clocks), clocks, 0.0), 0.0)

    def correct(self) -> None:
        """Aggregation and disaggregation: make the law of level and small state exact for the present clocks."""
        for level, (total, wanted) in enumerate(
            zip(self._totals, level_marginals(self.chain, self.clocks), strict=True)
        ):
            target = wanted[: total.size]
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
            waiting, small = self._waiting[level], self._small[level]
            change, total, flow = space.solve(right, waiting, self._tables[level - 1], x, self._scales[level])
            del right
            self._record(level, total.real, flow.real)
            self._scales[level] = np.ones_like(self._scales[level])
            mass = float(np.abs(x).sum()) if not space.basis.natural else float(total.sum())
            if mass > 0:
                worst = max(worst, change / mass)
            total_change += change
            below = space.down(x, waiting, small.down, small.stale) if waiting else x @ small.down
        old = self.levels[0] * self._scales[0]
        if below is not None:
            new = old if self._stays_empty else self._bottom(below[0, 0].real)
            self.levels[0][:] = new
            difference = float(np.abs(new - old).sum())
            mass = float(np.abs(new).sum())
            if mass > 0:
                worst = max(worst, difference / mass)
            total_change += difference
        self._totals[0] = self.levels[0][0, 0].real.copy()
        self._scales[0] = np.ones_like(self._scales[0])
        return worst, total_change

    def _bottom(self, below: FloatArray) -> AnyArray:
        """Level 0 from the flow into it."""
        first = self._small[0]
        system = np.diag(first.inside.sum(axis=1) + first.out) - first.inside
        return np.linalg.solve(system.T, below)[None, None, :].astype(self.space.dtype)

    def _arrivals(self, level: int) -> AnyArray:
        """Flow into a level from those below it, by Horner's rule on the batch size: each page is appended once."""
        space, A = self.space, int(self.chain.small_sizes[level])
        flow: AnyArray | None = None
        for step in range(self.chain.reach, 0, -1):
            source = level - step
            if source < 0:
                continue
            small, waiting = self._small[source].up.get(step), self._waiting[source]
            if small is not None:
                if flow is None:
                    flow = np.zeros((*space.shape(waiting), A), dtype=space.dtype)
                kernels.times_small(self.levels[source], self._scales[source][:, None] * small, flow)
            if flow is not None and source >= self.chain.indexers.number:
                flow = space.add(flow, waiting)
        if flow is None:
            flow = np.zeros((*space.shape(self._waiting[level]), A), dtype=space.dtype)
        return flow

    def summary(self) -> Summary:
        """Normalised marginals of the iterate; the level arrays are normalised too."""
        mass = float(sum(total.sum() for total in self._totals))
        self.vector /= mass
        laws = np.zeros_like(self.clocks)
        for law, total in zip(laws, self._totals, strict=True):
            law[: total.size] = total / mass
        return Summary.of(self.chain, laws, self.clocks)
