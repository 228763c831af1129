"""Fast and slow spells of the web: a common environment of all fetches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model import checks
from crawltwin.model.bmap import stationary
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Faults
from crawltwin.model.value import Value


@dataclass(frozen=True, eq=False)
class Spells(Value):
    """A Markov chain of spells; in each of them all fetches go at its pace.

    Parameters
    ----------
    generator : array_like
        Rates from spell to spell; rows sum to zero, every spell leads to every other.
    pace : array_like
        Factor on the rates of all fetches in each spell, not negative, somewhere positive.

    Examples
    --------
    >>> round(Spells([[-0.2, 0.2], [0.5, -0.5]], [1.0, 0.3]).mean_pace, 6)
    0.8
    """

    generator: FloatArray
    pace: FloatArray

    def __init__(self, generator: npt.ArrayLike | Sequence[Any], pace: npt.ArrayLike | Sequence[Any]) -> None:
        faults = Faults()
        G = checks.square_matrix(generator, "generator", faults)
        factors = checks.vector(pace, "pace", faults)
        if G is not None:
            _check_generator(G, faults)
        if factors is not None:
            for place in np.flatnonzero(factors < 0)[:3]:
                faults.add(f"pace[{place}]", f"pace must be not negative; got {factors[place]:g}")
            if not (factors > 0).any():
                faults.add("pace", f"pace must be positive in some spell; got {checks.show(factors)}")
            if G is not None and factors.size != G.shape[0]:
                faults.add("pace", f"pace must have one number for each spell ({G.shape[0]}); got {factors.size}")
        faults.raise_if_any()
        object.__setattr__(self, "generator", checks.frozen(G if G is not None else ()))
        object.__setattr__(self, "pace", checks.frozen(factors if factors is not None else ()))

    @property
    def count(self) -> int:
        """Number of spells."""
        return int(self.pace.size)

    @cached_property
    def shares(self) -> FloatArray:
        """Share of the time in each spell."""
        return checks.frozen(stationary(self.generator))

    @property
    def mean_pace(self) -> float:
        """Pace averaged over time."""
        return float(self.shares @ self.pace)

    def to_mapping(self) -> dict[str, Any]:
        """As in the scenario file."""
        return {"generator": self.generator.tolist(), "pace": self.pace.tolist()}


def _check_generator(G: FloatArray, faults: Faults) -> None:
    off = G - np.diag(np.diag(G))
    for row, column in np.argwhere(off < 0)[:3]:
        faults.add(f"generator[{row}][{column}]", f"rates must be not negative; got {G[row, column]:g}")
    sums, scale = G.sum(axis=1), np.abs(np.diag(G))
    wrong = np.flatnonzero(np.abs(sums) > checks.ROW_SUM_TOLERANCE * scale)
    for row in wrong[:3]:
        faults.add(
            f"generator[{row}]",
            f"row {row} of the generator must sum to 0; got {sums[row]:.6g} from {checks.show(G[row])}",
            "The diagonal is minus the total rate out of the spell.",
        )
    if not faults and not checks.is_irreducible(off):
        faults.add("generator", "the spells must all lead to one another; got a reducible generator")


ALWAYS = Spells([[0.0]], [1.0])
"""One spell that never ends, at pace one."""
