"""The weights of the cost criterion, equation (2)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from crawltwin.model import checks
from crawltwin.model.errors import Faults
from crawltwin.model.value import Value


@dataclass(frozen=True, eq=False)
class CostWeights(Value):
    """Weights, all not negative; one that is not given is 0.

    Parameters
    ----------
    loss, obsolescence : float
        Per lost and per obsolete page (c_loss, c_obs); they multiply rates of pages per unit of time.
    response : float
        Per unit of mean sojourn time of served pages (the paper's a).
    robots : float
        Per active robot (c_rob).
    starvation : float
        Per unit of the probability that the indexer is idle (c_star); of the mean share of idle indexers.
    switching : float
        Per change of the number of robots.

    Examples
    --------
    >>> CostWeights(loss=5, starvation=300).starvation
    300.0
    """

    loss: float = 0.0
    obsolescence: float = 0.0
    response: float = 0.0
    robots: float = 0.0
    starvation: float = 0.0
    switching: float = 0.0

    def __post_init__(self) -> None:
        faults = Faults()
        for field in fields(self):
            value = checks.number(getattr(self, field.name), field.name, faults, at_least=0, at_most=checks.LARGEST)
            object.__setattr__(self, field.name, value)
        faults.raise_if_any()

    def _content(self) -> tuple[Any, ...]:
        return tuple(self.to_mapping().values())

    def to_mapping(self) -> dict[str, float]:
        """Weights by name; without `switching` where it is 0, so that such weights keep their identity and file."""
        names = [field.name for field in fields(self) if field.name != "switching" or self.switching]
        return {name: getattr(self, name) for name in names}

    @property
    def words(self) -> str:
        """The weights that are charged, for people.

        Examples
        --------
        >>> CostWeights(loss=5, starvation=300).words
        'loss 5, starvation 300'
        """
        return ", ".join(f"{name} {value:g}" for name, value in self.to_mapping().items() if value) or "none"
