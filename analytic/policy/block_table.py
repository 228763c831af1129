r"""Many policies of one scenario with phase-type obsolescence: the paper's block recursion with its tails shared.

As in `banded_table`, the first-passage matrices :math:`G_i` depend only on the numbers of robots from level
i up. Here blocks are dense and grow as :math:`W M R^{i-1}`: the highest levels cost most and change least, so sharing
their recursion over the tables is nearly all of the work saved. Blocks of each mode are cut from the chain once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from analytic.linear.elimination import MMatrix, in_range
from analytic.policy.modes import IntArray, ModeChains
from crawltwin.model import Fault, TooLargeError
from crawltwin.model.bmap import stationary
from crawltwin.model.checks import FloatArray, count
from crawltwin.work.progress import ProgressCallback

MAX_WIDTH = 4_096
"""Largest level, in states, for which dense blocks are formed."""

RARELY_DOWN = 1e-6
"""Share of the rates down below which a level is factored without subtraction, whatever its width."""
EXACT_WIDTH = 256
"""Up to this size blocks are factored without subtraction; beyond it by LAPACK, which is much faster there."""


class _Factor(Protocol):
    def solve(self, right: FloatArray) -> FloatArray: ...
    def solve_left(self, left: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class _Dense:
    """LU factors by LAPACK, with the interface of `MMatrix`."""

    factors: Any

    def solve(self, right: FloatArray) -> FloatArray:
        return np.asarray(lu_solve(self.factors, right))

    def solve_left(self, left: FloatArray) -> FloatArray:
        return np.asarray(lu_solve(self.factors, left, trans=1))


@dataclass
class _Tail:
    """The recursion's results at one level, for the modes at this level and above."""

    mode: int = -1
    censored: list[FloatArray] = field(default_factory=list)
    factor: _Factor | None = None
    passage: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class BlockTables(ModeChains):
    """Evaluates tables of robots by level, any number of obsolescence phases.

    Parameters
    ----------
    scenario : Scenario
        Its policy is ignored.

    Raises
    ------
    TooLargeError
        When the widest level has more than `MAX_WIDTH` states.
    """

    def __post_init__(self) -> None:
        width = self.chain.level_states(self.chain.top)
        if width > MAX_WIDTH:
            rule = f"the widest level must have at most {MAX_WIDTH:,} states for shared recursions over policies"
            raise TooLargeError([Fault("capacity", f"{rule}; got {count(width)}", "Use a smaller capacity.")])

    @cached_property
    def _blocks(self) -> dict[tuple[int, int, int], FloatArray]:
        return {}

    def _block(self, mode: int, level: int, target: int) -> FloatArray:
        """Q_{i,i'} of one mode, the diagonal set to zero; cut from the chain once."""
        key = (mode, level, target)
        if key not in self._blocks:
            events = self.events[mode]
            s = events.starts
            block = events.matrix[s[level] : s[level + 1], s[target] : s[target + 1]].toarray()
            if level == target:
                np.fill_diagonal(block, 0.0)
            self._blocks[key] = block
        return self._blocks[key]

    def rates(self, tables: IntArray, progress: ProgressCallback | None = None) -> FloatArray:
        """The linear rates `RATES` of each table, shape (tables, 8).

        Parameters
        ----------
        tables : ndarray of int, shape (tables, capacity + 1)
            Robots at each level; sort them so that high levels change least.

        Notes
        -----
        Cost: one factorisation and (largest batch) products of dense blocks for each level of each distinct tail.
        """
        tails = [_Tail() for _ in range(self.chain.top + 1)]
        found = []
        for done, modes in enumerate(self.modes_by_level(tables).tolist()):
            changed = [level for level, mode in enumerate(modes) if tails[level].mode != mode]
            for level in range(max(changed, default=0), -1, -1):
                self._recur(tails, level, modes[level])
            found.append(self._forward(tails))
            if progress is not None:
                progress(done + 1, len(tables))
        return np.array(found)

    def _recur(self, tails: list[_Tail], level: int, mode: int) -> None:
        top, tail = self.chain.top, tails[level]
        reach = min(self.scenario.arrivals.max_batch, top - level)
        tail.mode = mode
        tail.censored = [self._block(mode, level, level + step) for step in range(reach + 1)]
        for step in range(reach, 0, -1):
            passage = tails[level + step].passage
            assert passage is not None
            tail.censored[step - 1] = tail.censored[step - 1] + tail.censored[step] @ passage
        if reach:
            np.fill_diagonal(tail.censored[0], 0.0)
        if level == 0:
            return
        down = self._block(mode, level, level - 1)
        sums, inner = down.sum(axis=1), tail.censored[0]
        # Subtraction loses the rates down where they are tiny beside the others.
        if len(inner) <= EXACT_WIDTH or sums.max() < RARELY_DOWN * inner.sum(axis=1).max():
            tail.factor = MMatrix.from_parts(inner, sums)
        else:
            tail.factor = _Dense(lu_factor(np.diag(inner.sum(axis=1) + sums) - inner, overwrite_a=True))
        tail.passage = tail.factor.solve(down)

    def _forward(self, tails: list[_Tail]) -> FloatArray:
        levels = [stationary(tails[0].censored[0])]
        for level in range(1, self.chain.top + 1):
            inflow = sum(
                levels[level - step] @ tails[level - step].censored[step]
                for step in range(1, level + 1)
                if step < len(tails[level - step].censored)
            )
            factor = tails[level].factor
            assert factor is not None
            levels = in_range([*levels, factor.solve_left(np.asarray(inflow))])
        starts = self.events[0].starts
        total = sum(float(part.sum()) for part in levels)
        earned = sum(
            part @ self.rewards[tail.mode, starts[level] : starts[level + 1]]
            for level, (part, tail) in enumerate(zip(levels, tails, strict=True))
        )
        return np.asarray(earned) / total
