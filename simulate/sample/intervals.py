"""Intervals that cover what they claim, from a sample.

A measure's interval is Student's t about the mean of its pseudo-values. A probability of which a run sees few cases has
a skewed estimate: its interval is Wilson's for the number of independent pages that would have the same variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from crawltwin.model import Interval
from crawltwin.model.checks import FloatArray
from simulate.engine.columns import SUM
from simulate.engine.tables import IntArray
from simulate.sample.estimates import FATES, Sample, pseudo_values, standard_errors
from simulate.sample.settings import Method

FEW = 5
"""A fate is rare when units see it (or its opposite) less often than this on average."""
_PROBABILITIES = {
    "loss_probability": SUM.lost,
    "obsolescence_probability": SUM.obsolete,
    "success_probability": SUM.served,
}
_ROUNDING = 1e-12
_SKEWED = 0.1  # relative standard error from which the estimate of a level is skewed


@dataclass(frozen=True)
class Intervals:
    """An interval for each measure and each level, and the number of independent observations that tell as much."""

    measures: dict[str, Interval | None]
    levels: tuple[Interval, ...]
    effective: dict[str, float]


def intervals_of(sample: Sample, confidence: float, method: Method = "jackknife") -> Intervals:
    """Intervals of all measures and of the level distribution."""
    measures: dict[str, Interval | None] = {}
    errors: dict[str, float] = {}
    for name, values in sample.pseudo(method).items():
        if not np.isfinite(values).all():
            # No such page was seen, or all of them by one unit: nothing can be said about the spread.
            measures[name], errors[name] = None, math.nan
            continue
        centre, error = float(values.mean()), float(standard_errors(values))
        if error <= _ROUNDING * abs(centre):
            # All units say the same: what is left is rounding, which must not look like an interval.
            measures[name], errors[name] = _certain(sample.plain[name], confidence), 0.0
        else:
            measures[name], errors[name] = student(centre, error, values.size, confidence), error
    reading, total = sample.reading, sample.total
    least, most = float(reading.robots.min()), float(reading.robots.max())
    if least == most:
        measures["mean_active_robots"] = _certain(most, confidence)
    elif total[SUM.switches] < FEW * sample.units.count:
        measures["switch_rate"] = _few_switches(float(total[SUM.switches]), sample.time, confidence)
        unseen = _most_unseen(sample, confidence)
        for name in ("mean_active_robots", "mean_fetches"):
            if errors.get(name) == 0.0:
                value = sample.plain[name]
                low, high = (value + unseen * (end - value) for end in (least, most))
                measures[name] = Interval(value, min(low, value), max(high, value), confidence)
    if errors["starvation_probability"] or not sample.plain["starvation_probability"]:
        (measures["starvation_probability"],) = _shares_of_time(
            sample, lambda sums: reading.idle_time(sums)[..., None], confidence
        )
    if not reading.ages:
        measures["obsolescence_probability"] = _certain(0.0, confidence)
        measures["mean_sojourn_obsolete"] = None
    effective = {
        name: spread / errors[name] ** 2
        for name, spread in reading.spreads(total).items()
        if math.isfinite(errors[name]) and errors[name] > 0 and math.isfinite(spread)
    }
    pages = float(total[[SUM.lost, SUM.obsolete, SUM.served]].sum())
    for name, column in _PROBABILITIES.items():
        cases = float(total[column])
        certain = name == "obsolescence_probability" and not reading.ages
        few = pages > 0 and min(cases, pages - cases) < FEW * sample.units.count
        if few and not certain and measures[name] is not None:
            size = max(1.0, effective.get(name, float(total[SUM.batches])))
            measures[name] = wilson(sample.plain[name], min(size, pages), confidence)
    for name, one in measures.items():
        if one is not None and name != "cost":
            measures[name] = _possible(one, sample.plain[name], 1.0 if "probability" in name else math.inf)
    return Intervals(measures, _shares_of_time(sample, reading.at_levels, confidence), effective)


def quantile_intervals(
    sample: Sample, orders: tuple[float, ...], confidence: float
) -> dict[str, dict[float, Interval]]:
    """For each fate its quantiles of the sojourn time; those that too few pages tell are left out."""
    found: dict[str, dict[float, Interval]] = {}
    for fate in FATES:
        estimates = {order: sample.quantile(fate, order) for order in orders}
        found[fate] = {
            order: student(one.value, one.error, sample.units.histograms.shape[0], confidence)
            for order, one in estimates.items()
            if one is not None
        }
    return found


def student(centre: float, error: float, units: int, confidence: float) -> Interval:
    """Student's t about a mean of `units` values with standard error `error`."""
    reach = student_factor(units, confidence) * error
    return Interval(centre, centre - reach, centre + reach, confidence)


def student_factor(units: int, confidence: float) -> float:
    """Quantile of Student's t: how many standard errors of a mean of `units` values the interval reaches."""
    return float(special.stdtrit(units - 1, 0.5 + confidence / 2))


def wilson(share: float, size: float, confidence: float) -> Interval:
    """Wilson's interval for a share of `size` independent cases; never empty, also where none was seen."""
    z = float(-special.ndtri((1 - confidence) / 2))
    scale = 1 + z**2 / size
    centre = (share + z**2 / (2 * size)) / scale
    reach = z * math.sqrt(share * (1 - share) / size + z**2 / (4 * size**2)) / scale
    return Interval(share, max(0.0, min(centre - reach, share)), min(1.0, max(centre + reach, share)), confidence)


def _shares_of_time(
    sample: Sample, times: Callable[[FloatArray], FloatArray], confidence: float
) -> tuple[Interval, ...]:
    """Shares of the time, given the times along the last axis of sums: Student's t for those that are well known.

    One that was seen seldom has a skewed estimate, and a low one has a low standard error too, so Student's t
    misses on the low side. Where most units saw it, t is applied to the logarithm. Where few did, the share of
    time is the product of the share of units that saw it (exact binomial limits) and the mean time in those (a visit
    lasts an exponential time, nearly: limits of the gamma law), and the distances of their limits are added as squares
    of logarithms. What nobody saw has an upper limit from the number of batches.
    """

    def shares(sums: FloatArray) -> FloatArray:
        return np.asarray(times(sums) / sums[..., SUM.time, None])

    sums, n, p = sample.units.sums, sample.units.count, shares(sample.total)
    pseudo = pseudo_values(sums, shares)
    errors, t = standard_errors(pseudo), student_factor(n, confidence)
    centre = np.clip(pseudo.mean(axis=0), 0.0, 1.0)
    low, high = np.clip(centre - t * errors, 0.0, 1.0), np.clip(centre + t * errors, 0.0, 1.0)
    seen = (times(sums) > 0).sum(axis=0)
    skewed = (seen > n / 2) & (errors > _SKEWED * p) & (p < 0.5)
    below, above = np.ones(p.size), np.ones(p.size)
    below[skewed] = above[skewed] = np.exp(t * errors[skewed] / p[skewed])
    rare = (seen > 0) & (seen <= n / 2)
    below[rare], above[rare] = _rare_factors(seen[rare], n, (1 - confidence) / 2)
    other = skewed | rare
    centre[other], low[other], high[other] = p[other], (p / below)[other], np.minimum(p * above, 1.0)[other]
    centre[seen == 0] = low[seen == 0] = 0.0
    high[seen == 0] = _most_unseen(sample, confidence)
    columns = (centre.tolist(), low.tolist(), high.tolist())
    return tuple(Interval(*numbers, confidence) for numbers in zip(*columns, strict=True))


def _most_unseen(sample: Sample, confidence: float) -> float:
    """Upper limit of a share of the time in which no batch of a run found the crawler."""
    return wilson(0.0, max(1.0, float(sample.total[SUM.batches])), confidence).high


def _rare_factors(seen: IntArray, n: int, tail: float) -> tuple[FloatArray, FloatArray]:
    """How far down and up the limits are, as factors, for levels that `seen` of `n` units saw."""
    share, half = seen / n, seen.astype(np.float64)
    lowest, highest = special.betaincinv(seen, n - seen + 1, tail), special.betaincinv(seen + 1, n - seen, 1 - tail)
    longest, shortest = special.gammaincinv(half, 1 - tail) / half, half / special.gammaincinv(half, tail)
    down = np.hypot(np.log(share / lowest), np.log(longest))
    up = np.hypot(np.log(highest / share), np.log(shortest))
    return np.exp(down), np.exp(up)


def _few_switches(switches: float, time: float, confidence: float) -> Interval:
    """Limits of the rate of a Poisson process that was seen seldom: each switch comes with the one back."""
    pairs, tail = switches / 2, (1 - confidence) / 2
    low = special.gammaincinv(pairs, tail) if pairs > 0 else 0.0
    high = special.gammaincinv(pairs + 1, 1 - tail)
    return Interval(switches / time, 2 * float(low) / time, 2 * float(high) / time, confidence)


def _certain(value: float, confidence: float) -> Interval:
    return Interval(value, value, value, confidence)


def _possible(found: Interval, plain: float, most: float) -> Interval:
    """An interval cut to what is possible; the plain ratio where the jackknife leaves that range."""
    value = found.value if 0 <= found.value <= most else plain
    low, high = (min(max(limit, 0.0), most) for limit in (found.low, found.high))
    return Interval(value, min(low, value), max(high, value), found.confidence)
