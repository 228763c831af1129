r"""What the counts of successive clock ticks tell of pages that carry the same time.

Below the clock's step nothing can be told apart, so pages of one tick need a judgement. Let :math:`N_t` be the pages of
tick t. A page shares its tick with :math:`E N_t (N_t - 1) / E N_t` others. Single pages at a rate :math:`\lambda_t`
that changes slowly have :math:`E N_t (N_t - 1) = \lambda_t^2 = E N_t N_{t+1}`: neighbouring ticks hold as many pairs as
one tick. Batches add the pairs of one batch to the left side alone. So

.. math:: \theta = 1 - \sum N_t N_{t+1} / \sum N_t (N_t - 1)

is the share of the pairs within ticks that is more than chance: 0 for single pages, c / (c + rate) for batches in which
a page has c companions. Where it is above one half, two pages of one tick belong together more likely than not. It is a
ratio of two sums over the log, so it does not depend on the log's length; and a fast stream whose rate changes a little
from tick to tick does not look like batches, as it does to the dispersion of the counts. `CHANCE` pairs of chance are
added to both sums, so that a handful of ties decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawltwin.work.compiling import njit

Float = npt.NDArray[np.float64]

CHANCE = 10.0
TIES = 0.01
"""Companions of a page below which it is immaterial how pages of one tick are read."""
EDGE = 5
"""Ticks beside the first and the last one that tell how many pages a whole tick has."""


@dataclass(frozen=True)
class Ticks:
    """Counts of clock ticks, as sums over the used stretches.

    Attributes
    ----------
    pages, used : int
        All pages, and the ticks that have any.
    within, across : float
        Ordered pairs of pages in one tick, and pairs of pages in neighbouring ticks: equal on average for single pages.
    """

    pages: int
    used: int
    within: float
    across: float

    @property
    def companions(self) -> float:
        """Other pages in the tick of a page, on average."""
        return self.within / self.pages if self.pages else 0.0

    @property
    def together(self) -> float:
        """Share of the pairs within ticks that is more than chance, see this file's head."""
        return min(max((self.within - self.across) / (self.within + CHANCE), 0.0), 1.0)

    @property
    def dispersion(self) -> float:
        """Mean square of the differences of neighbouring counts over twice their mean: 1 for single pages."""
        return 1 + (self.within - self.across) / self.pages if self.pages else math.nan

    @property
    def batches(self) -> bool:
        """Whether pages of one tick are batches rather than the clock's doing."""
        return self.together > 0.5

    @property
    def by_chance(self) -> bool:
        """Whether many pages share their tick, and that is the clock's doing."""
        return self.companions > TIES and not self.batches

    def to_json(self) -> dict[str, float]:
        """Plain numbers."""
        names = ("pages", "used", "companions", "together", "dispersion")
        return {name: float(getattr(self, name)) for name in names}


def count_ticks(parts: Sequence[Float], resolution: float) -> Ticks:
    """The sums over the stretches; each holds times that never fall. Cost: linear in the pages, whatever the time."""
    pages, used, within, across = 0, 0, 0.0, 0.0
    for part in parts:
        own = _pairs(part, resolution)
        pages += part.size
        used += own[0]
        within += own[1]
        across += own[2]
    return Ticks(pages, used, within, across)


@njit(cache=True, nogil=True)
def _pairs(part: Float, resolution: float) -> tuple[int, float, float]:
    """Ticks that have pages, pairs of pages within ticks, and pairs of pages in neighbouring ticks."""
    used, within, across = 0, 0.0, 0.0
    count, before, now = 0.0, 0.0, 0
    for i in range(part.size):
        tick = int(np.rint((part[i] - part[0]) / resolution))
        if i == 0 or tick > now:
            within += count * (count - 1)
            across += before * count
            before = count if i > 0 and tick == now + 1 else 0.0
            count, now = 0.0, tick
            used += 1
        count += 1
    within += count * (count - 1)
    across += before * count
    return used, within, across


def spread(part: Float, resolution: float, rng: np.random.Generator) -> Float:
    """Times at random moments of their clock tick, in order.

    A stretch begins and ends within a tick. Where its first tick has fewer pages than the next ones, they lie at the
    tick's end, as close together as those; and likewise those of the last tick at its beginning.
    """
    place = rng.random(part.size)
    tick = np.rint((part - part[0]) / resolution) if part.size else part
    reach = EDGE + 1
    if part.size and tick[-1] >= reach:
        head, tail = (int(np.searchsorted(tick, at)) for at in (1, tick[-1]))
        after = int(np.searchsorted(tick, reach)) - head
        before = tail - int(np.searchsorted(tick, tick[-1] - EDGE))
        place[:head] = 1 - (1 - place[:head]) * min(1.0, EDGE * head / max(after, 1))
        place[tail:] *= min(1.0, EDGE * (part.size - tail) / max(before, 1))
    return np.sort(part + place * resolution)


def at_one_moment(part: Float, resolution: float, rng: np.random.Generator) -> Float:
    """Times of pages that come as one batch at a random moment of their clock tick."""
    _, tick = np.unique(part, return_inverse=True)
    return np.asarray(part + (rng.random(int(tick.max()) + 1) * resolution)[tick]) if part.size else part
