"""What every arrival fitter works on: gaps in one or several stretches, with the batch at the end of each gap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import InputError

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]


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
            column = np.array(getattr(self, name), dtype=kind)
            column.setflags(write=False)
            object.__setattr__(self, name, column)
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
        return cls(
            column, np.ones(column.size, np.int64) if sizes is None else np.asarray(sizes), np.zeros(1, np.int64)
        )

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
        n = len(self)
        block = np.minimum(np.arange(n) * blocks // max(n, 1), blocks - 1)
        out = block % every == every // 2
        breaks = np.zeros(n, dtype=bool)
        breaks[self.first[self.first < n]] = True
        breaks[1:] |= out[1:] != out[:-1]
        return self._where(~out, breaks), self._where(out, breaks)

    def _where(self, mask: npt.NDArray[np.bool_], breaks: npt.NDArray[np.bool_]) -> Self:
        first = np.flatnonzero(breaks[mask])
        return type(self)(self.gaps[mask], self.sizes[mask], first if first.size else np.zeros(1, np.int64))

    def sample(self, gaps: int, blocks: int = 8) -> Self:
        """About `gaps` gaps in `blocks` blocks spread evenly over the trace; the whole trace when it is not longer."""
        n = len(self)
        if n <= gaps:
            return self
        width = gaps // blocks
        mask, breaks = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        breaks[self.first[self.first < n]] = True
        for begin in np.linspace(0, n - width, blocks).astype(np.int64):
            mask[begin : begin + width] = True
            breaks[begin] = True
        return self._where(mask, breaks)

    def scaled(self, factor: float) -> Self:
        """Every gap times `factor`."""
        return type(self)(self.gaps * factor, self.sizes, self.first)


class CountedIntervals(Segments):
    """Intervals and the pages that were counted in each: `gaps` are the intervals' lengths, `sizes` the counts.

    Nothing is known of where in its interval a page came, and an interval may be empty.
    """

    fewest_pages = 0

    @property
    def mean_gap(self) -> float:
        """Seconds between pages, on average."""
        return float(self.gaps.sum()) / max(int(self.sizes.sum()), 1)
