"""The test that matters for a fit: whether the model loses what the trace would have lost.

The recorded batches run through a buffer, event by event; the fitted process runs through the same buffer as a chain.
Indexing times are exponential in both, so that only the arrivals differ. A Poisson stream of the same batches stands
beside them: how wrong one would be without a fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analytic import solve
from crawltwin.model import BMAP, ScaledStream, Scenario, exponential
from crawltwin.model.errors import Fault, InputError
from fitting import FitResult
from simulate import RecordedTrace, replay

RELATIVE = 0.2
ABSOLUTE = 0.005
"""A loss probability is met within 20 % of its size, or within half a percentage point."""


@dataclass(frozen=True)
class ReplayRow:
    """One load: losses of the replayed trace with their interval, of the fitted model, and of a Poisson stream.

    `verdict` is ``equivalent`` when the model is within the margin of the replayed value, ``different`` when it is
    outside the margin and outside the interval, else ``inconclusive``.
    """

    load: float
    replayed: float
    low: float
    high: float
    solved: float
    poisson: float
    verdict: str


@dataclass(frozen=True)
class ReplayCheck:
    """Losses over several loads.

    Attributes
    ----------
    capacity : int
        Pages that the system holds.
    rows : tuple of ReplayRow
        One a load.
    seed : int
        Of the indexing times.
    """

    capacity: int
    rows: tuple[ReplayRow, ...]
    seed: int

    @property
    def verdict(self) -> str:
        """The worst of the rows: ``different``, ``inconclusive`` or ``equivalent``."""
        found = {row.verdict for row in self.rows}
        return next(name for name in ("different", "inconclusive", "equivalent") if name in found)

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
            f"{judged}: at worst {worst.solved:.4f} against {worst.replayed:.4f} [{worst.low:.4f}, {worst.high:.4f}] "
            f"at load {worst.load:g} with {self.capacity} places, a Poisson stream {worst.poisson:.4f}"
        )

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        rows = [asdict(row) for row in self.rows]
        return {
            "capacity": self.capacity,
            "seed": self.seed,
            "verdict": self.verdict,
            "words": self.words,
            "rows": rows,
        }


def replay_fit(
    result: FitResult, *, capacity: int = 20, loads: Sequence[float] = (0.5, 0.8, 0.95), seed: int = 1
) -> ReplayCheck:
    """Replay a fit's trace and compare the losses with those of its model.

    Parameters
    ----------
    result : FitResult
        From `fitting.fit`; its cleaned trace is replayed, pauses left out.
    capacity : int
        Pages that the system holds.
    loads : sequence of float
        Pages a second times the mean indexing time.
    seed : int
        Of the indexing times.

    Notes
    -----
    Cost: a chain and a pass over the trace a load; about a second each.
    """
    if not loads or any(not load > 0 for load in loads):
        raise InputError([Fault("loads", f"loads must be positive numbers; got {list(loads)}")])
    data = result.batches.segments
    trace = RecordedTrace(np.cumsum(data.gaps), data.sizes)
    rate = float(data.sizes.sum() / data.gaps.sum())
    shares = data.batch_counts / len(data)
    poisson = BMAP.poisson(1 / float(data.gaps.mean()), shares.tolist())
    rows = []
    for load in loads:
        service = exponential(load / rate)

        def system(process: BMAP, service: Any = service) -> Scenario:
            return Scenario(capacity=capacity, arrivals=ScaledStream(process, 1), service=service)

        fitted = system(result.process)
        replayed = replay(fitted, trace, seed=seed, replications=5)["loss_probability"]
        solved = float(solve(fitted).measures["loss_probability"])
        rows.append(
            ReplayRow(
                float(load),
                float(replayed.value),
                float(replayed.low),
                float(replayed.high),
                solved,
                float(solve(system(poisson)).measures["loss_probability"]),
                _judge(solved, float(replayed.value), float(replayed.low), float(replayed.high)),
            )
        )
    return ReplayCheck(capacity, tuple(rows), seed)


def _judge(solved: float, value: float, low: float, high: float) -> str:
    if abs(solved - value) <= max(RELATIVE * value, ABSOLUTE):
        return "equivalent"
    return "inconclusive" if low <= solved <= high else "different"
