r"""Controlled arrivals as a chain needs them: what happens to the arrival phase when the number of robots changes.

For each number r of robots that may be wanted, :math:`D_0^{(r)}` holds the changes of the phase without a delivery and
:math:`D_k^{(r)}` those with k pages. When the number wanted becomes r', two matrices tell what the robots do at once:

- the *entrance matrix* :math:`U^{(r')}` multiplies every transition into mode r' that is no delivery: the end of an
  indexing, a page that becomes obsolete, a poll of the controller;
- the *return matrix* :math:`R^{(r')}` multiplies a delivery after which r' robots are wanted. The number wanted follows
  the level *after* the delivery, whether its pages enter or are lost.

In the paper's model the phase stays, so both are the identity. Robots that finish their fetch begin anew through them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray, frozen

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ArrivalMatrices:
    """The matrices of each number of robots, on one phase space.

    Parameters
    ----------
    D : mapping
        Robots wanted -> D_0, D_1, ..., before a robot begins anew: D_1, D_2, ... lead to the rows of R where there is
        one. All have the same number of matrices.
    start_law : mapping
        Robots wanted -> equilibrium of the phase when that number is wanted for ever.
    entrances, returns : mapping, optional
        Robots wanted -> U and R; missing: the identity, the phase stays.
    least_fetches : mapping, optional
        Robots wanted -> fetches in flight at least; phases with fewer are never met then. Missing: all are met.
    counts : ndarray, shape (phases, phases of a fetch), optional
        Fetches in flight by their own phase; missing where the model has no fetches.
    spell : ndarray, shape (phases,), optional
        Spell of the web.
    """

    D: Mapping[int, tuple[FloatArray, ...]] = field(repr=False)
    start_law: Mapping[int, FloatArray] = field(repr=False)
    entrances: Mapping[int, FloatArray] | None = field(default=None, repr=False)
    returns: Mapping[int, FloatArray] | None = field(default=None, repr=False)
    least_fetches: Mapping[int, int] | None = field(default=None, repr=False)
    counts: IntArray | None = field(default=None, repr=False)
    spell: IntArray | None = field(default=None, repr=False)

    @property
    def robots(self) -> tuple[int, ...]:
        """The numbers of robots that may be wanted."""
        return tuple(self.D)

    @property
    def phases(self) -> int:
        """Number of arrival phases."""
        return int(next(iter(self.D.values()))[0].shape[0])

    @property
    def max_batch(self) -> int:
        """Largest delivery."""
        return len(next(iter(self.D.values()))) - 1

    @property
    def phase_stays(self) -> bool:
        """Whether the phase stays when the number of robots changes, as in the paper."""
        return self.entrances is None and self.returns is None

    @property
    def fetches(self) -> IntArray | None:
        """Fetches in flight in each phase; None where the model has none."""
        return None if self.counts is None else np.asarray(self.counts.sum(axis=1))

    def silent(self, robots: int) -> FloatArray:
        """D_0 with so many robots wanted."""
        return self.D[robots][0]

    def delivery(self, size: int, robots: int, then: int) -> FloatArray:
        """Rates of deliveries of `size` pages while `robots` are wanted, and after which `then` are."""
        rates = self.D[robots][size]
        return rates if self.returns is None else frozen(rates @ self.returns[then])

    def entrance(self, then: int) -> FloatArray:
        """U of a transition, no delivery, after which `then` robots are wanted: rows sum to one."""
        return np.eye(self.phases) if self.entrances is None else self.entrances[then]

    def possible(self, robots: int) -> BoolArray:
        """Mask of the phases that can be met while `robots` are wanted; the others have no weight in equilibrium."""
        if self.least_fetches is None or self.counts is None:
            return np.ones(self.phases, dtype=bool)
        return np.asarray(self.counts.sum(axis=1) >= self.least_fetches[robots])
