r"""Times in a chain that goes down one level at a time, without subtraction, however rarely it is left.

Let T be the generator among the states of levels 0, 1, ..., bounds of the levels given, and r the rates of leaving them
for good. Level by level from the bottom, :math:`-T` is factored as in `analytic.linear.elimination`: from its rates off
the diagonal and from r. Only level i + 1 leads to level i, so eliminating level i changes one row of blocks,

.. math:: N_{i+1,j} \leftarrow N_{i+1,j} + Y N_{i,j}, \quad r_{i+1} \leftarrow r_{i+1} + Y r_i, \qquad
          Y = N_{i+1,i} A_i^{-1},

sums and products of numbers that are not negative. A mean time of 1e60 has as many correct digits as one of 1; sparse
LU of T itself has none beyond 1e16 fastest sojourns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from analytic.linear.elimination import MMatrix
from crawltwin.model.checks import FloatArray


@dataclass(frozen=True)
class LevelElimination:
    """-T, factored once; for each level its factor, its rates to higher levels, and Y from the next level."""

    cuts: tuple[slice, ...]
    factors: tuple[MMatrix, ...]
    upward: tuple[dict[int, FloatArray], ...]
    shares: tuple[FloatArray, ...]

    @classmethod
    def of(cls, generator: Any, leaving: FloatArray, bounds: npt.NDArray[np.int64]) -> LevelElimination:
        """From the sparse generator among the states and the rates of leaving them.

        Cost: for each level one dense factorisation and one product per batch size.
        """
        cuts = [slice(int(a), int(b)) for a, b in pairwise(bounds)]
        factors, upward, shares = [], [], []
        extra: dict[int, FloatArray] = {}
        left = np.zeros(0)
        for level, cut in enumerate(cuts):
            rows = generator[cut]
            last = int(np.searchsorted(bounds, rows.indices.max(initial=0), side="right")) - 1
            reach = range(level, max([last, *extra, level]) + 1)
            blocks = {to: rows[:, cuts[to]].toarray() + extra.get(to, 0.0) for to in reach}
            out = leaving[cut] + (left if level else 0.0)
            above = {to: block for to, block in blocks.items() if to > level}
            factors.append(MMatrix.from_parts(blocks[level], sum((b.sum(axis=1) for b in above.values()), start=out)))
            upward.append(above)
            if level + 1 < len(cuts):
                share = factors[-1].solve_left(generator[cuts[level + 1]][:, cut].toarray())
                shares.append(share)
                extra, left = {to: share @ block for to, block in above.items()}, share @ out
        return cls(tuple(cuts), tuple(factors), tuple(upward), tuple(shares))

    def solve(self, right: FloatArray) -> FloatArray:
        """X with -T x = `right`, `right` >= 0. Beyond 1e308 x is infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            sums = [right[self.cuts[0]]]
            for share, cut in zip(self.shares, self.cuts[1:], strict=True):
                sums.append(right[cut] + share @ sums[-1])
            found = np.zeros_like(right)
            for level in range(len(self.cuts) - 1, -1, -1):
                for to, block in self.upward[level].items():
                    sums[level] = sums[level] + block @ found[self.cuts[to]]
                found[self.cuts[level]] = self.factors[level].solve(sums[level])
        return found
