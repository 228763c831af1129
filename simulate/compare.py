"""Policies side by side on common random numbers, with paired intervals.

All policies run the same replications of one seed, so they meet the same phases, coins, indexing and obsolescence
times as far as their decisions allow, and the noise that they share cancels in the difference. The interval of a
difference is Student's t on the differences of the replications' pseudo-values; with several policies it is widened
(Bonferroni) so that all differences from the first policy hold together at the stated confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from crawltwin import workers as work
from crawltwin.model import SCALAR_MEASURES, InputError, Policy, Scenario, checks
from crawltwin.model.errors import Faults
from simulate.intervals import Interval, pseudo_values, student
from simulate.plan import Length, bins_for
from simulate.replay import RecordedTrace, replay_order
from simulate.replications import Job, Piece, run_piece
from simulate.run_statistics import RunStatistics
from simulate.streams import check_seed
from simulate.units import Reading, Units
from simulate.warmup import find_warm_up

_WARM_BINS = 5
_BATCHES = 20


@dataclass(frozen=True)
class Difference:
    """One measure of one policy less that of the first policy.

    `saved` is the share of the difference's variance that common random numbers took away, against independent runs.
    """

    policy: str
    measure: str
    difference: Interval
    saved: float

    @property
    def verdict(self) -> str:
        """`smaller`, `larger` or `undecided`."""
        if self.difference.high < 0:
            return "smaller"
        return "larger" if self.difference.low > 0 else "undecided"


@dataclass(frozen=True)
class Comparison:
    """Measures of every policy, and differences from the first one."""

    policies: tuple[str, ...]
    measures: Mapping[str, Mapping[str, Interval]]
    differences: tuple[Difference, ...]
    confidence: float
    units: int
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """One row a policy and measure: value, interval, difference from the first policy and its interval."""
        rows: list[dict[str, Any]] = []
        of = {(found.policy, found.measure): found for found in self.differences}
        for policy in self.policies:
            for name, interval in self.measures[policy].items():
                row: dict[str, Any] = {"policy": policy, "measure": name, **interval.to_json()}
                if found := of.get((policy, name)):
                    gap = found.difference
                    row |= {"difference": gap.value, "difference_low": gap.low, "difference_high": gap.high}
                    row |= {"verdict": found.verdict, "saved": found.saved}
                rows.append(row)
        return pd.DataFrame(rows)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "policies": list(self.policies),
            "measures": {p: {n: i.to_json() for n, i in own.items()} for p, own in self.measures.items()},
            "differences": [
                {
                    "policy": found.policy,
                    "measure": found.measure,
                    **found.difference.to_json(),
                    "verdict": found.verdict,
                    "saved": found.saved,
                }
                for found in self.differences
            ],
            "confidence": self.confidence,
            "units": self.units,
            "seed": self.seed,
        }


def compare(
    scenario: Scenario,
    policies: Mapping[str, Policy],
    *,
    pages: int | None = None,
    time: float | None = None,
    replications: int = 20,
    seed: int = 1,
    confidence: float = 0.95,
    trace: RecordedTrace | None = None,
    workers: int | None = 1,
    cluster: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    **replayed: Any,
) -> Comparison:
    """Compare policies with the first of them.

    Parameters
    ----------
    policies : mapping
        Name to policy, two at least; the first one is what the others are compared with.
    pages, time : int or float, optional
        Length of each replication; 20,000 pages where nothing is said.
    trace : RecordedTrace, optional
        Compare on recorded batches; the pairs are then batches of time. Further arguments go to `replay`.

    Examples
    --------
    >>> from crawltwin.model import ThresholdPolicy, examples
    >>> found = compare(
    ...     examples.load("thinned"),
    ...     {"four": ThresholdPolicy([4]), "one": ThresholdPolicy([1])},
    ...     pages=4000,
    ... )
    >>> next(d.verdict for d in found.differences if d.measure == "arrival_rate")
    'smaller'
    """
    faults = Faults()
    if len(policies) < 2:
        faults.add("policies", f"policies must be two at least; got {len(policies)}")
    checks.integer(replications, "replications", faults, at_least=2)
    checks.number(confidence, "confidence", faults, above=0, at_most=1 - 1e-9)
    with faults.under(""):
        check_seed(seed)
    faults.raise_if_any()
    if trace is not None:
        orders = [
            replay_order(scenario.replace(policy=policy), trace, seed=seed, **replayed) for policy in policies.values()
        ]
        jobs, count = [order.job for order in orders], orders[0].replications
    else:
        length = Length(
            time=time, pages=20_000 if pages is None and time is None else pages, bins=bins_for(scenario.top_level + 1)
        )
        jobs = [Job(scenario.replace(policy=policy), length, seed) for policy in policies.values()]
        count = replications
    pieces = [Piece(job, index) for job in jobs for index in range(count)]
    runs: list[RunStatistics] = []
    for run, _ in work.run(run_piece, pieces, workers=workers, cluster=cluster):
        runs.append(run)
        if progress is not None:
            progress(len(runs), len(pieces))
    readings = [Reading.of(job.scenario, job.plan().robots.size) for job in jobs]
    own = [runs[index * count : (index + 1) * count] for index in range(len(jobs))]
    if trace is not None:
        units = [Units.batches(mine, 0, _BATCHES) for mine in own]
    else:
        cut = max(find_warm_up(mine, reading, _WARM_BINS).bins for mine, reading in zip(own, readings))
        units = [Units.replications(mine, cut) for mine in own]
    names = tuple(policies)
    pseudo = {name: pseudo_values(unit.sums, reading) for name, unit, reading in zip(names, units, readings)}
    return Comparison(
        policies=names,
        measures={name: _intervals(pseudo[name], confidence) for name in names},
        differences=tuple(_differences(names, pseudo, confidence)),
        confidence=confidence,
        units=units[0].count,
        seed=seed,
    )


def _intervals(pseudo: dict[str, Any], confidence: float) -> dict[str, Interval]:
    found = {}
    for name in SCALAR_MEASURES:
        values = pseudo.get(name)
        if values is not None and np.isfinite(values).all():
            found[name] = student(float(values.mean()), _error(values), values.size, confidence)
    return found


def _differences(names: Sequence[str], pseudo: dict[str, dict[str, Any]], confidence: float) -> list[Difference]:
    found = []
    joint = 1 - (1 - confidence) / (len(names) - 1)
    for name in names[1:]:
        for measure in SCALAR_MEASURES:
            pair = [pseudo[policy].get(measure) for policy in (name, names[0])]
            if any(values is None or not np.isfinite(values).all() for values in pair):
                continue
            mine, first = (np.asarray(values) for values in pair)
            gaps = mine - first
            apart = float(mine.var(ddof=1) + first.var(ddof=1))
            saved = 1 - float(gaps.var(ddof=1)) / apart if apart > 0 else 0.0
            interval = student(float(gaps.mean()), _error(gaps), gaps.size, joint)
            stated = Interval(interval.value, interval.low, interval.high, confidence)
            found.append(Difference(name, measure, stated, saved))
    return found


def _error(values: Any) -> float:
    return float(values.std(ddof=1)) / math.sqrt(values.size)


__all__ = ["Comparison", "Difference", "InputError", "compare"]
