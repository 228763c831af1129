"""Losses of a fitted process against those of its trace, over several loads of the indexer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from analytic import solve
from crawltwin.model import BMAP, ScaledStream, Scenario, exponential
from crawltwin.model.errors import Fault, InputError
from fitting import FitResult
from validate.logs.agreement import compare_log
from validate.logs.trace import even_trace_of, trace_of_fit
from validate.plan import ValidationPlan
from validate.verdict import Word, worst_word

LOSS_PLAN = ValidationPlan(
    margin=0.2, absolute_margin=0.005, confidence=0.95, power=0.9, measures=("loss_probability",)
)
"""Losses of a fitted process agree within 20 % of their size, or within half a percentage point."""


@dataclass(frozen=True)
class LossRow:
    """One load: losses of the replayed trace with their bounds, of the fitted model, and of a Poisson stream."""

    load: float
    replayed: float
    low: float
    high: float
    solved: float
    poisson: float
    verdict: Word


@dataclass(frozen=True)
class LossAgreement:
    """Losses over several loads: whether the fitted process loses what the trace would have lost.

    Attributes
    ----------
    capacity : int
        Pages that the system holds.
    rows : tuple of LossRow
        One for each load.
    seed : int
        Of the indexing times.
    pages : int
        Pages that were replayed.
    """

    capacity: int
    rows: tuple[LossRow, ...]
    seed: int
    pages: int

    @property
    def verdict(self) -> Word:
        """The worst of the rows."""
        return worst_word(row.verdict for row in self.rows)

    @property
    def words(self) -> str:
        """The verdict as a sentence."""
        worst = max(self.rows, key=lambda row: abs(row.solved - row.replayed))
        judged = {
            "equivalent": "the model loses what the trace would have lost",
            "different": "the model does not lose what the trace would have lost",
            "inconclusive": "the trace is too short to tell whether the model loses what it would have lost",
        }[self.verdict]
        return (
            f"{judged}: at worst {worst.solved:.4f} against {worst.replayed:.4f} ({worst.low:.4f} to {worst.high:.4f}) "
            f"at load {worst.load:g} with {self.capacity} places, a Poisson stream {worst.poisson:.4f}"
        )

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        rows = [asdict(row) for row in self.rows]
        return {
            "capacity": self.capacity,
            "seed": self.seed,
            "pages": self.pages,
            "verdict": self.verdict,
            "words": self.words,
            "rows": rows,
        }


def compare_losses(
    result: FitResult, *, capacity: int = 20, loads: Sequence[float] = (0.5, 0.8, 0.95), seed: int = 1
) -> LossAgreement:
    """The test that matters for a fit: whether the model loses what the trace would have lost.

    The recorded batches run through a buffer, event by event; the fitted process runs through the same buffer. Indexing
    times are exponential in both, so that only the arrivals differ. A Poisson stream of the same batches stands beside
    them: how wrong one would be without a fit.

    Parameters
    ----------
    result : FitResult
        From `fitting.fit`; its cleaned trace is replayed, pauses left out.
    capacity : int
        Pages that the system holds.
    loads : sequence of float
        Pages per second times the mean indexing time.
    seed : int
        Of the indexing times.

    Notes
    -----
    Cost: that of `compare_log` for each load, on at most half a million pages.
    """
    if not loads or any(not load > 0 for load in loads):
        raise InputError([Fault("loads", f"loads must be positive numbers; got {list(loads)}")])
    data = result.segments
    # Where the rate follows the time of day, the process stands for the trace on the clock on which it does not.
    trace = trace_of_fit(result, seed)[0] if result.evened is None else even_trace_of(data)
    rate = float(data.sizes.sum() / data.gaps.sum())
    poisson = BMAP.poisson(1 / float(data.gaps.mean()), (data.batch_counts / len(data)).tolist())
    rows = []
    for load in loads:
        fitted = Scenario(capacity=capacity, arrivals=ScaledStream(result.process, 1), service=exponential(load / rate))
        plain = solve(fitted.replace(arrivals=ScaledStream(poisson, 1))).measures["loss_probability"]
        (found,) = compare_log(fitted, trace, replace(LOSS_PLAN, seed=seed)).verdicts
        seen = found.comparison
        rows.append(LossRow(float(load), seen.simulated, found.low, found.high, seen.solved, float(plain), found.word))
    return LossAgreement(capacity, tuple(rows), seed, trace.pages)
