"""The measures of a record, with intervals from batch means: the same algebra and the same jackknife as a simulation's.

The record is cut into batches of equal length. Each batch gives amounts (pages delivered, lost, stale and indexed,
sojourn times booked, time integrals of the level, of the robots wanted and of the fetches under way); the measures are
those of `crawltwin.model.rates.Rates` for the sums, and their standard errors come from the jackknife over batches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawltwin.live.record import Float, Record
from crawltwin.model import CostWeights, Interval
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import InputError
from crawltwin.model.rates import Rates
from simulate.sample.estimates import pseudo_values, standard_errors
from simulate.sample.intervals import student

BATCHES = 10
"""Few and long: neighbours are nearly independent, and Student's t pays for the small number."""
_AMOUNTS = (
    *("time", "pages", "lost", "obsolete", "served", "sojourn_served", "sojourn_obsolete", "switches"),
    *("level", "robots", "fetches", "starvation"),
)


@dataclass(frozen=True)
class Measured:
    """What a record tells of each measure.

    Attributes
    ----------
    values : dict
        The plain ratio of all amounts.
    errors : dict
        Standard errors on `freedom` degrees of freedom; infinite where the batches do not tell.
    freedom : int
    seconds : float
        Length of the part that was measured.
    pages : int
        Pages delivered in it.
    """

    values: dict[str, float]
    errors: dict[str, float]
    freedom: int
    seconds: float
    pages: int

    def interval(self, name: str, confidence: float = 0.95) -> Interval:
        """Student's interval of a measure."""
        return student(self.values[name], self.errors[name], self.freedom + 1, confidence)


def measure(
    record: Record,
    begin: float = 0.0,
    end: float | None = None,
    weights: CostWeights | None = None,
    batches: int = BATCHES,
) -> Measured:
    """The measures between two moments of a record, in seconds since its first line; from the whole by default."""
    stop = record.seconds if end is None else min(end, record.seconds)
    if not stop > begin:
        raise InputError(f"the measured part must be longer than nothing; got {begin:g} to {stop:g} seconds")
    sums = amounts(record, np.linspace(begin, stop, batches + 1))
    total = sums.sum(axis=0)

    def measures(rows: FloatArray) -> FloatArray:
        found = _rates(rows).measures(weights)
        return np.stack(list(found.values()), axis=-1)

    names = list(_rates(total).measures(weights))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = measures(total)
        errors = standard_errors(pseudo_values(sums, measures))
    errors = np.where(np.isfinite(errors), errors, np.inf)
    return Measured(
        dict(zip(names, values.tolist(), strict=True)),
        dict(zip(names, errors.tolist(), strict=True)),
        batches - 1,
        float(stop - begin),
        int(total[_AMOUNTS.index("pages")]),
    )


def amounts(record: Record, edges: Float) -> Float:
    """For each batch between `edges` its amounts, in the order of `_AMOUNTS`."""

    def count(times: Float, weight: Float | None = None) -> Float:
        return np.histogram(times, edges, weights=weight)[0].astype(np.float64)

    def integral(values: Float) -> Float:
        return time_integrals(record, values, edges)

    indexers = int(record.opened.get("indexers") or 1)
    idle = (indexers - np.minimum(record.level, indexers)) / indexers
    columns = {
        "time": np.diff(edges),
        "pages": count(record.delivered),
        "lost": count(record.delivered[record.lost]),
        "obsolete": count(record.stale),
        "served": count(record.indexed),
        "sojourn_served": count(record.indexed, record.sojourn_served),
        "sojourn_obsolete": count(record.stale, record.sojourn_stale),
        "switches": count(record.switches),
        "level": integral(record.level.astype(np.float64)),
        "robots": integral(record.robots.astype(np.float64)),
        "fetches": integral(record.in_flight.astype(np.float64)),
        "starvation": integral(idle),
    }
    return np.stack([columns[name] for name in _AMOUNTS], axis=1)


def time_integrals(record: Record, values: Float, edges: Float) -> Float:
    """Time integrals of a value of the state between neighbouring `edges`; it holds from its line to the next one."""
    lengths = np.diff(record.time, append=max(float(edges[-1]), float(record.time[-1])))
    grown = np.concatenate([[0.0], np.cumsum(lengths * values)])
    return np.diff(np.interp(edges, np.append(record.time, record.time[-1] + lengths[-1]), grown))


def _rates(rows: FloatArray) -> Rates:
    given = dict(zip(_AMOUNTS, np.moveaxis(rows, -1, 0), strict=True))
    return Rates(**given, decided=given["lost"] + given["obsolete"] + given["served"])
