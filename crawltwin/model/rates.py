r"""The algebra of measures: every scalar measure and the cost (2), from the linear rates of a solution or of a run.

Pages delivered, lost, obsolete and served, active robots, idle indexers, pages in the system, the sojourn times booked
by pages, switches and fetches in flight all grow linearly with time. A measure is one of these rates or the quotient of
two (`LINEAR_MEASURES`, `QUOTIENT_MEASURES`). The cost (2) is linear in the rates but for one quotient, the response
time :math:`\bar V^{(1)}` = sojourn_served / served:

.. math:: J = c_{loss}\,\text{lost} + c_{obs}\,\text{obsolete} + c_{rob}\,\text{robots} + c_{star}\,\text{starvation}
          + c_{sw}\,\text{switches} + a\,\frac{\text{sojourn\_served}}{\text{served}} .

**Equilibrium or run.** In equilibrium every delivered page has its fate and Little's law holds: `decided` equals
`pages`, and `level` is the sojourn of all pages per unit of time. A run of finite length has pages whose fate is open,
so shares are taken among the `decided` ones, and the cost takes the rate of lost pages as the arrival rate times their
share. Leaving `decided` out says that the rates are those of an equilibrium.

**Derivatives.** One quotient rule, `slope`, gives the gradient (slopes along the single rates), the error (absolute
slopes times errors, all with the same sign) and the variance (delta method). This module knows neither chain nor event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Fault, InputError
from crawltwin.model.measures import LINEAR_MEASURES, QUOTIENT_MEASURES
from crawltwin.model.policies.cost import CostWeights
from crawltwin.model.value import Amount, PerhapsAmount, Value

RATES = ("pages", "lost", "obsolete", "served", "robots", "starvation", "sojourn_served", "level")
"""The rates that every equilibrium has, in the order of the columns of a table of rates (`Rates.from_table`)."""
EVERY_RATE = (*RATES, "switches", "fetches")
"""Columns of a table of rates; those of the paper's model end with `RATES`."""


@dataclass(frozen=True, eq=False)
class Rates(Value):
    """Linear rates per unit of time, or amounts in a run of length `time`.

    Parameters
    ----------
    pages, lost, obsolete, served : array_like
        Pages delivered, lost, obsolete and served. All arrays have one shape, or shapes that broadcast: one policy,
        many policies, or the units of a sample.
    robots, starvation, level : array_like
        Active robots, share of idle indexers, pages in the system.
    sojourn_served : array_like
        Sojourn time booked by pages that are served.
    sojourn_obsolete : array_like, optional
        Sojourn time booked by obsolete pages; missing: `level` minus `sojourn_served`.
    decided : array_like, optional
        Pages whose fate is known, the denominator of the shares; missing: an equilibrium, where it is `pages`.
    switches, fetches : array_like, optional
        Changes of the number of robots, fetches in flight; missing: not known, and no measure comes from them.
    time : array_like
        Length of the run in which the amounts were gathered; 1 for rates.

    Examples
    --------
    >>> rates = Rates(pages=2.0, lost=0.5, obsolete=0.5, served=1.0, robots=3.0, starvation=0.1, level=4.0,
    ...               sojourn_served=3.0)
    >>> float(rates.value("loss_probability")), float(rates.value("mean_sojourn_obsolete"))
    (0.25, 2.0)
    >>> float(rates.cost(CostWeights(loss=10, response=2)))
    11.0
    """

    pages: Amount = Amount()
    lost: Amount = Amount()
    obsolete: Amount = Amount()
    served: Amount = Amount()
    robots: Amount = Amount()
    starvation: Amount = Amount()
    level: Amount = Amount()
    sojourn_served: Amount = Amount()
    sojourn_obsolete: PerhapsAmount = PerhapsAmount()
    decided: PerhapsAmount = PerhapsAmount()
    switches: PerhapsAmount = PerhapsAmount()
    fetches: PerhapsAmount = PerhapsAmount()
    time: Amount = Amount(1.0)

    def __post_init__(self) -> None:
        shapes = {field.name: np.shape(getattr(self, field.name)) for field in fields(self)}
        try:
            np.broadcast_shapes(*shapes.values())
        except ValueError:
            raise InputError(f"rates must be arrays whose shapes go together; got the shapes {shapes}") from None

    @classmethod
    def from_table(cls, table: npt.ArrayLike, names: Sequence[str] | None = None, **more: npt.ArrayLike) -> Rates:
        """Rates from the columns of a table (last axis), named in order; `more` adds others, such as `time`.

        Without names the columns are the first of `EVERY_RATE`, as many as there are.

        Examples
        --------
        >>> Rates.from_table([[1, 0, 0, 1, 1, 0.5, 1, 1], [2, 1, 0, 1, 1, 0.2, 2, 3]]).pages.tolist()
        [1.0, 2.0]
        """
        columns = np.moveaxis(np.asarray(table, dtype=np.float64), -1, 0)
        return cls(**dict(zip(names or EVERY_RATE[: len(columns)], columns, strict=True)), **more)

    @classmethod
    def of_equilibrium(cls, measures: Mapping[str, Any]) -> Rates:
        """The rates of an equilibrium with these measures, per unit of time."""
        pages = measures["arrival_rate"]
        served = pages * measures["success_probability"]
        return cls(
            pages=pages,
            lost=pages * measures["loss_probability"],
            obsolete=pages * measures["obsolescence_probability"],
            served=served,
            robots=measures["mean_active_robots"],
            starvation=measures["starvation_probability"],
            level=measures["mean_pages"],
            sojourn_served=served * (measures["mean_sojourn_served"] or 0.0),
            switches=measures.get("switch_rate"),
            fetches=measures.get("mean_fetches"),
        )

    def columns(self, names: Sequence[str] = RATES) -> FloatArray:
        """The named amounts along a new last axis: a row of a table of rates."""
        return np.stack([self.amount(name) for name in names], axis=-1)

    @classmethod
    def from_measures(cls, measures: Mapping[str, Any]) -> Rates:
        """Rates that give these measures, for the cost and its error: a run in which one page was decided.

        Parameters
        ----------
        measures : mapping
            The names of `MEASURES`; None or missing where a measure does not exist.

        Examples
        --------
        >>> measures = {"arrival_rate": 2.0, "loss_probability": 0.25, "obsolescence_probability": 0.0,
        ...             "success_probability": 0.75, "starvation_probability": 0.5, "mean_active_robots": 3.0,
        ...             "mean_pages": 1.5, "mean_sojourn_served": 1.0, "mean_sojourn_obsolete": None}
        >>> float(Rates.from_measures(measures).cost(CostWeights(loss=10, response=2)))
        7.0
        """

        def given(name: str) -> FloatArray:
            value = measures.get(name)
            return np.zeros(()) if value is None else np.asarray(value, dtype=np.float64)

        linear = {
            rate: given(name)
            for name, rate in LINEAR_MEASURES.items()
            if rate != "lost" and (name in measures or rate not in ("switches", "fetches"))
        }
        shares = {rate: given(name) for name, (rate, below) in QUOTIENT_MEASURES.items() if below == "decided"}
        del shares["sojourn"]
        return cls(
            **linear,
            **shares,
            decided=1.0,
            sojourn_served=given("mean_sojourn_served") * shares["served"],
            sojourn_obsolete=given("mean_sojourn_obsolete") * shares["obsolete"],
        )

    @property
    def in_equilibrium(self) -> bool:
        """Whether the rates are those of an equilibrium, not of a run."""
        return self.decided is None

    @property
    def known_measures(self) -> tuple[str, ...]:
        """Names of the measures that these rates give, `loss_rate` included and the cost aside."""
        linear = (name for name, rate in LINEAR_MEASURES.items() if getattr(self, rate) is not None)
        return (*linear, *QUOTIENT_MEASURES)

    def amount(self, rate: str) -> FloatArray:
        """What `time` units of time bring of a rate: one of the fields, or `sojourn`, that of all pages."""
        if rate == "decided" and self.decided is None:
            return self.pages
        if rate == "sojourn_obsolete" and self.sojourn_obsolete is None:
            return np.asarray(self.level - self.sojourn_served)
        if rate == "sojourn":
            return self.level if self.in_equilibrium else self.sojourn_served + self.amount("sojourn_obsolete")
        found: FloatArray | None = getattr(self, rate)
        if found is None:
            raise InputError(f"{rate} must be known for this measure; got none")
        return found

    def value(self, measure: str, weights: CostWeights | None = None) -> FloatArray:
        """A measure; NaN where it does not exist (the sojourn time of obsolete pages where there are none)."""
        if measure == "cost":
            return self.cost(_given(weights))
        if measure in LINEAR_MEASURES:
            return self._rate(LINEAR_MEASURES[measure])
        above, below = (self.amount(rate) for rate in _quotient(measure))
        return _divided(above, below)

    def measures(self, weights: CostWeights | None = None) -> dict[str, FloatArray]:
        """Every known measure by name; the cost where weights are given."""
        found = {name: self.value(name) for name in self.known_measures}
        if weights is not None:
            found["cost"] = self.cost(weights)
        return found

    def linear_cost(self, weights: CostWeights) -> FloatArray:
        """Equation (2) without the response time: linear in the rates of an equilibrium."""
        return self._weighted(weights, self._cost_of_pages(weights), self._rate)

    def cost(self, weights: CostWeights) -> FloatArray:
        """Equation (2). Where no page is served the response time is infinite in equilibrium, unknown in a run."""
        pages = self._cost_of_pages(weights)
        if weights.response > 0:
            missing = np.inf if self.in_equilibrium else np.nan
            pages = pages + weights.response * np.where(self.served > 0, self.value("mean_sojourn_served"), missing)
        return self._weighted(weights, pages, self._rate)

    def slope(
        self, measure: str, direction: Mapping[str, npt.ArrayLike], weights: CostWeights | None = None
    ) -> FloatArray:
        """Derivative of a measure (or of the cost) when the rates move in a direction; rates left out stay.

        Parameters
        ----------
        measure : str
        direction : mapping
            Rate -> its derivative, per unit of time. What follows from other rates (`decided` in equilibrium,
            `sojourn_obsolete` where it was not given) follows here too.
        weights : CostWeights, optional
            Needed for the cost.

        Notes
        -----
        For a quotient v = A/B: (A' - v B')/B.
        """
        if measure == "cost":
            return self._cost_slope(direction, _given(weights))
        if measure in LINEAR_MEASURES:
            return self._move(LINEAR_MEASURES[measure], direction)
        above, below = _quotient(measure)
        change = self._move(above, direction) - self.value(measure) * self._move(below, direction)
        return _divided(change, self._rate(below))

    def gradient(self, measure: str, names: Sequence[str], weights: CostWeights | None = None) -> FloatArray:
        """Derivatives of a measure with respect to the named rates, along a new last axis."""
        slopes = [self.slope(measure, {name: 1.0}, weights) for name in names]
        return np.stack(np.broadcast_arrays(*slopes), axis=-1)

    def error(
        self, measure: str, errors: Mapping[str, npt.ArrayLike], weights: CostWeights | None = None
    ) -> FloatArray:
        """Largest error of a measure, to first order, from the largest errors of the rates."""
        parts = [np.abs(self.slope(measure, {name: error}, weights)) for name, error in errors.items()]
        return np.asarray(sum(parts, start=np.zeros(())))

    def variance(
        self, measure: str, covariances: npt.ArrayLike, names: Sequence[str], weights: CostWeights | None = None
    ) -> FloatArray:
        """Variance of a measure by the delta method, from the covariances of the named rates (last two axes)."""
        gradient = self.gradient(measure, names, weights)
        along = gradient[..., None, :] @ np.asarray(covariances, dtype=np.float64) @ gradient[..., :, None]
        return np.asarray(along[..., 0, 0])

    def _rate(self, rate: str) -> FloatArray:
        """Per unit of time."""
        return np.asarray(self.amount(rate) / self.time)

    def _move(self, rate: str, direction: Mapping[str, npt.ArrayLike]) -> FloatArray:
        """Derivative of a rate in a direction."""
        if rate == "decided" and self.in_equilibrium:
            rate = "pages"
        if rate == "sojourn":
            if self.in_equilibrium:
                rate = "level"
            else:
                return self._move("sojourn_served", direction) + self._move("sojourn_obsolete", direction)
        if rate == "sojourn_obsolete" and self.sojourn_obsolete is None:
            return self._move("level", direction) - self._move("sojourn_served", direction)
        return np.asarray(direction.get(rate, 0.0), dtype=np.float64)

    def _cost_of_pages(self, weights: CostWeights) -> FloatArray:
        """What lost and obsolete pages cost."""
        if self.in_equilibrium:
            return np.asarray(weights.loss * self._rate("lost") + weights.obsolescence * self._rate("obsolete"))
        return np.asarray(self._rate("pages") * self._cost_per_page(weights, self.value))

    def _cost_slope(self, direction: Mapping[str, npt.ArrayLike], weights: CostWeights) -> FloatArray:
        def move(rate: str) -> FloatArray:
            return self._move(rate, direction)

        if self.in_equilibrium:
            pages = np.asarray(weights.loss * move("lost") + weights.obsolescence * move("obsolete"))
        else:
            pages = move("pages") * self._cost_per_page(weights, self.value)
            pages = pages + self._rate("pages") * self._cost_per_page(weights, lambda name: self.slope(name, direction))
        if weights.response > 0:
            pages = pages + weights.response * self.slope("mean_sojourn_served", direction)
        return self._weighted(weights, pages, move)

    @staticmethod
    def _cost_per_page(weights: CostWeights, part: Callable[[str], FloatArray]) -> FloatArray:
        return np.asarray(
            weights.loss * part("loss_probability") + weights.obsolescence * part("obsolescence_probability")
        )

    @staticmethod
    def _weighted(weights: CostWeights, pages: FloatArray, part: Callable[[str], FloatArray]) -> FloatArray:
        """What pages cost, and what robots, idle indexers and switches add."""
        total = pages + weights.robots * part("robots") + weights.starvation * part("starvation")
        return np.asarray(total + weights.switching * part("switches") if weights.switching > 0 else total)


def cost_error(measures: Mapping[str, Any], errors: Mapping[str, Any], weights: CostWeights) -> float:
    """Error of (2) from the errors of the measures in it, all with the same sign; a missing error is 0."""
    rates = Rates.from_measures(measures)
    moved = {
        "pages": errors.get("arrival_rate", 0.0),
        "lost": errors.get("loss_probability", 0.0),
        "obsolete": errors.get("obsolescence_probability", 0.0),
        "sojourn_served": errors.get("mean_sojourn_served", 0.0) * rates.served,
        "robots": errors.get("mean_active_robots", 0.0),
        "starvation": errors.get("starvation_probability", 0.0),
        "switches": errors.get("switch_rate", 0.0),
    }
    return float(rates.error("cost", moved, weights))


def _divided(above: FloatArray, below: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, above / below, np.nan)


def _quotient(measure: str) -> tuple[str, str]:
    if measure not in QUOTIENT_MEASURES:
        known = ", ".join((*LINEAR_MEASURES, *QUOTIENT_MEASURES, "cost"))
        raise InputError(f"measure must be one of {known}; got {measure!r}")
    return QUOTIENT_MEASURES[measure]


def _given(weights: CostWeights | None) -> CostWeights:
    if weights is None:
        raise InputError([Fault("weights", "weights must be given for the cost; got none")])
    return weights
