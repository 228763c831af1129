"""What every arrival fitter works on: gaps in one or several stretches, with the batch at the end of each gap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import InputError

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

EVEN_BLOCKS = 8
"""Blocks of a sample up to which they lie at even distances."""
_GOLDEN = (math.sqrt(5) - 1) / 2


def protected(values: npt.ArrayLike, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """The values as an array that nobody can change: a copy, unless it is such an array already."""
    if isinstance(values, np.ndarray) and values.dtype == kind and not values.flags.writeable:
        owner = values if values.base is None else values.base
        if isinstance(owner, np.ndarray) and owner.base is None and not owner.flags.writeable:
            return values
    column = np.array(values, dtype=kind)
    column.setflags(write=False)
    return column


def _own(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column that was just made, protected in place."""
    column.setflags(write=False)
    return column


def ones(count: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """So many ones that nobody can change, in the memory of a single one."""
    return np.broadcast_to(_own(np.ones(1, dtype=kind)), count)


def every_block(count: int, blocks: int, every: int) -> npt.NDArray[np.bool_]:
    """Which of `count` places lie in the middle one of each `every` of `blocks` blocks of equal length."""
    out = np.zeros(count, dtype=bool)
    for block in range(every // 2, blocks, every):
        out[-(-block * count // blocks) : -(-(block + 1) * count // blocks)] = True
    return out


def spread_blocks(total: int, most: int, blocks: int) -> list[tuple[int, int]]:
    """Begins and ends of `blocks` blocks spread over `total` places, `most` places together; one block if all fit in.

    Up to `EVEN_BLOCKS` lie at even distances. More of them could all fall into the same hour of the day, so each lies
    somewhere in its own part of the whole, by multiples of the golden ratio.
    """
    if total <= most:
        return [(0, total)]
    width = most // blocks
    place = np.arange(blocks)
    if blocks <= EVEN_BLOCKS:
        begins = np.linspace(0, total - width, blocks).astype(np.int64)
    else:
        begins = place * width + ((place + place * _GOLDEN % 1.0) * (total / blocks - width)).astype(np.int64)
    return [(begin, begin + width) for begin in begins.tolist()]


@dataclass(frozen=True, eq=False)
class Segments:
    """Positive gaps between batches, in stretches, each gap with the size of the batch that ends it.

    Parameters
    ----------
    gaps : array
        Seconds, greater than 0.
    sizes : array of int
        Pages of the batch that ends each gap, at least 1.
    first : array of int
        Index of the first gap of every stretch, beginning with 0.
    """

    fewest_pages: ClassVar[int] = 1

    gaps: Float
    sizes: Int
    first: Int

    def __post_init__(self) -> None:
        for name, kind in (("gaps", np.float64), ("sizes", np.int64), ("first", np.int64)):
            object.__setattr__(self, name, protected(getattr(self, name), kind))
        bad = ~(np.isfinite(self.gaps) & (self.gaps > 0))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise InputError.at(
                f"gaps[{row}]",
                f"gaps must be positive and finite; got {self.gaps[row]}",
                "Gaps of zero belong to one batch: choose a batch limit that is not negative.",
            )
        if self.sizes.size != self.gaps.size or (self.sizes.size and self.sizes.min() < self.fewest_pages):
            raise InputError.at(
                "sizes", f"sizes must give at least {self.fewest_pages} pages for every gap; got other ones"
            )

    @classmethod
    def of(cls, gaps: npt.ArrayLike, sizes: npt.ArrayLike | None = None) -> Segments:
        """One uninterrupted stretch; single pages unless batch sizes are given."""
        column = np.asarray(gaps, dtype=np.float64)
        return cls(column, ones(column.size, np.int64) if sizes is None else np.asarray(sizes), np.zeros(1, np.int64))

    def __len__(self) -> int:
        return int(self.gaps.size)

    @cached_property
    def log_gaps(self) -> Float:
        """Natural logarithms of the gaps."""
        return np.log(self.gaps)

    @cached_property
    def batch_counts(self) -> Int:
        """How many batches have 1, 2, ... pages."""
        return np.bincount(self.sizes, minlength=2)[1:]

    @property
    def batch_shares(self) -> Float:
        """Shares of the batches that have 1, 2, ... pages."""
        return np.asarray(self.batch_counts / len(self))

    def stretches(self) -> list[slice]:
        """The stretches as slices of the columns."""
        ends = [*self.first[1:].tolist(), len(self)]
        return [slice(a, b) for a, b in zip(self.first.tolist(), ends) if b > a]

    @property
    def mean_gap(self) -> float:
        """Seconds between batches, on average."""
        return float(self.gaps.mean())

    def split(self, blocks: int = 20, every: int = 5) -> tuple[Self, Self]:
        """Training and held-out parts: of `blocks` blocks of equal length, every `every`-th one is held out."""
        out, breaks = self._left_out(blocks, every)
        return self._where(~out, breaks), self._where(out, breaks)

    def held_out(self, blocks: int = 20, every: int = 5) -> Self:
        """The held-out part of `split` alone."""
        return self._where(*self._left_out(blocks, every))

    def _left_out(self, blocks: int, every: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Which gaps are held out, and which begin a stretch of their part."""
        n = len(self)
        out = every_block(n, blocks, every)
        breaks = np.zeros(n, dtype=bool)
        breaks[self.first[self.first < n]] = True
        breaks[1:] |= out[1:] != out[:-1]
        return out, breaks

    def _where(self, mask: npt.NDArray[np.bool_], breaks: npt.NDArray[np.bool_]) -> Self:
        first = np.flatnonzero(breaks[mask])
        gaps, sizes = (_own(column[mask]) for column in (self.gaps, self.sizes))
        return type(self)(gaps, sizes, first if first.size else np.zeros(1, np.int64))

    def sample(self, gaps: int, blocks: int = 8) -> Self:
        """About `gaps` gaps in `blocks` blocks spread evenly over the trace; the whole trace when it is not longer."""
        n = len(self)
        if n <= gaps:
            return self
        width = gaps // blocks
        begins = np.array([begin for begin, _ in spread_blocks(n, gaps, blocks)])
        pieces = [slice(begin, begin + width) for begin in begins.tolist()]
        inside = np.searchsorted(self.first, np.concatenate([begins, begins + width]))
        cuts = [
            self.first[low:high] - begin + at * width
            for at, (begin, low, high) in enumerate(zip(begins, inside[:blocks], inside[blocks:]))
        ]
        first = np.union1d(np.arange(blocks) * width, np.concatenate(cuts))
        kept, sizes = (np.concatenate([column[piece] for piece in pieces]) for column in (self.gaps, self.sizes))
        return type(self)(kept, sizes, first)

    def scaled(self, factor: float) -> Self:
        """Every gap times `factor`."""
        return type(self)(_own(self.gaps * factor), self.sizes, self.first)


class CountedIntervals(Segments):
    """Intervals and the pages that were counted in each: `gaps` are the intervals' lengths, `sizes` the counts.

    Nothing is known of where in its interval a page came, and an interval may be empty.
    """

    fewest_pages = 0

    @property
    def mean_gap(self) -> float:
        """Seconds between pages, on average."""
        return float(self.gaps.sum()) / max(int(self.sizes.sum()), 1)
