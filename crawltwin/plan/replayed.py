"""The real log through the chosen policy, beside what the model says of a stretch of that length.

The model is simulated many times over the same length, from the same empty start: one run of it differs from the next
as one stretch of crawling differs from another. What the replayed log shows should lie where 95 of 100 such runs lie.
Where it does not, the model is not to be trusted for that number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scipy.stats import t as student

from crawltwin.model import Policy, Scenario
from crawltwin.plan.recorded import recorded_trace
from fitting import FitResult
from simulate import replay, simulate

RUNS = 40
CONFIDENCE = 0.95
COMPARED = (
    "arrival_rate",
    "loss_probability",
    "obsolescence_probability",
    "starvation_probability",
    "mean_pages",
    "mean_sojourn_served",
)


@dataclass(frozen=True)
class Prediction:
    """One measure: what the model says of a stretch of this length, and what the log gave.

    Parameters
    ----------
    low, high : float
        Where 95 of 100 stretches lie by the model.
    replayed : float
    """

    measure: str
    mean: float
    low: float
    high: float
    replayed: float

    @property
    def inside(self) -> bool:
        """Whether the log gave what the model says."""
        return self.low <= self.replayed <= self.high

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "predicted": self.mean,
            "low": self.low,
            "high": self.high,
            "replayed": self.replayed,
            "inside": self.inside,
        }


@dataclass(frozen=True)
class Replayed:
    """The replay of the log under one policy."""

    predictions: tuple[Prediction, ...]
    pages: int
    seconds: float
    notes: tuple[str, ...]

    @property
    def trusted(self) -> bool:
        """Whether deliveries, losses and stale pages are where the model says."""
        return all(one.inside for one in self.predictions if one.measure in COMPARED[:3])

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and numbers."""
        return {
            "measures": {one.measure: one.to_json() for one in self.predictions},
            "pages": self.pages,
            "log_seconds": self.seconds,
            "trusted": self.trusted,
            "notes": list(self.notes),
        }


def replayed(
    fit: FitResult, scenario: Scenario, policy: Policy, recorded: int, bytes_rate: float | None, seed: int
) -> Replayed:
    """Replay the log under `policy` and predict what it should show.

    Cost: `RUNS` simulated runs of the log's length, some 0.2 microseconds a page.
    """
    trace, notes = recorded_trace(fit, seed)
    chosen = scenario.replace(policy=policy)
    rate = bytes_rate if trace.content is not None else None
    shown = replay(chosen, trace, processing_rate=rate, recorded_robots=recorded, replications=10, seed=seed)
    span = float(trace.times[-1] - trace.times[0]) * trace.times.size / max(1, trace.times.size - 1)
    predicted = simulate(chosen, time=span, replications=RUNS, warmup=0.0, seed=seed + 1, confidence=CONFIDENCE)
    quantile = float(student.ppf((1 + CONFIDENCE) / 2, RUNS - 1))
    found = []
    for name in COMPARED:
        model, real = predicted.measures.get(name), shown.measures.get(name)
        if model is None or real is None or not math.isfinite(model.value):
            continue
        # The interval is one of the mean of RUNS runs; a single run scatters sqrt(RUNS) times as far.
        scatter = (model.high - model.low) / 2 / quantile * math.sqrt(RUNS)
        half = quantile * scatter * math.sqrt(1 + 1 / RUNS)
        found.append(Prediction(name, model.value, max(0.0, model.value - half), model.value + half, real.value))
    return Replayed(tuple(found), trace.pages, span, notes)
