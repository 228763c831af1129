"""`reproduce`: every table, number, formula, claim and figure of the paper, in pieces that can be kept and resumed.

A piece is plain data: what is computed here does not depend on how many workers computed it, nor on whether it was
computed now or taken from a store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import crawltwin
from crawltwin import workers as work
from crawltwin.store import Store, key_of
from validate.paper import (
    claims,
    curves,
    formulas,
    matrices,
    measured,
    numbers,
    others,
    simulated,
    sweeps,
    table1,
    trace,
)
from validate.paper.claims import Claim
from validate.paper.curves import Curve, PairCosts
from validate.paper.finding import Finding
from validate.paper.simulated import Simulated
from validate.paper.source import paper

Progress = Callable[[float, float], None]

_FINDINGS: Mapping[str, Callable[[], tuple[Finding, ...]]] = {
    "matrices": matrices.judge,
    "formulas": formulas.judge,
    "numbers": numbers.judge,
    "table 1": table1.judge,
    **{f"table {sweep.number}": partial(sweeps.judge, sweep) for sweep in sweeps.SWEEPS},
    "trace": trace.judge,
    "others": others.judge,
}
_FIGURES: Mapping[str, Callable[[], tuple[Curve, ...]]] = {
    "1": curves.figure1,
    "2": curves.figure2,
    "3": curves.figure3,
}


@dataclass(frozen=True)
class Interval:
    """What the rounding of the inputs allows for one policy of Table 5."""

    robots: tuple[int, ...]
    thresholds: tuple[int, ...]
    printed: float
    as_printed: float
    low: float
    high: float
    witness: float


@dataclass(frozen=True)
class Reproduction:
    """The paper beside our numbers.

    Parameters
    ----------
    findings : tuple of Finding
        Every printed number, policy and formula.
    claims : tuple of Claim
    figures : mapping of "1" to "4" to tuple of Curve
    intervals : tuple of Interval
        Table 5 and the rounding of its inputs.
    others : tuple of Finding
        Results of other authors for special cases.
    simulated : tuple of Simulated
        The main rows, simulated; empty where that was not asked for.
    """

    findings: tuple[Finding, ...]
    claims: tuple[Claim, ...]
    figures: Mapping[str, tuple[Curve, ...]]
    intervals: tuple[Interval, ...]
    others: tuple[Finding, ...] = ()
    simulated: tuple[Simulated, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether every number is reproduced or explained, here and elsewhere, and no simulation contradicts."""
        known = not self.of("not reproducible") and all(item.verdict == "reproduced" for item in self.others)
        return known and all(item.verdict != "different" for item in self.simulated)

    def of(self, verdict: str) -> tuple[Finding, ...]:
        """The findings with one verdict."""
        return tuple(item for item in self.findings if item.verdict == verdict)

    def to_json(self) -> dict[str, Any]:
        """Plain values: what `crawltwin reproduce --json` prints and `--check` compares."""
        return {
            "paper": paper()["citation"],
            "counts": {name: len(self.of(name)) for name in ("reproduced", "misprint", "not reproducible")},
            "findings": [item.to_json() for item in self.findings],
            "claims": [asdict(item) for item in self.claims],
            "figures": {name: [_plain(curve) for curve in found] for name, found in self.figures.items()},
            "table_5_intervals": [_plain(item) for item in self.intervals],
            "others": [item.to_json() for item in self.others],
            "simulated": [asdict(item) for item in self.simulated],
        }


def reproduce(
    workers: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
    with_simulation: bool = False,
) -> Reproduction:
    """Compute everything.

    Parameters
    ----------
    workers : int, optional
        Processes; one a core by default.
    store : Store, optional
        Where finished pieces are kept: an interrupted run goes on, and gives the same result.
    progress : callable, optional
        Called with (pieces done, pieces in all).
    with_simulation : bool
        Simulate the main rows too.

    Notes
    -----
    Cost: about 20 s of one core, a third of it for the rounding box of Table 5; with simulation some minutes more.
    """
    # Short pieces first: results are kept in this order, so an early interruption loses little.
    pieces = [
        *_FINDINGS,
        *[f"figure {name}" for name in _FIGURES],
        "table 5",
        *[f"variance {rate!r}" for rate in curves.obsolescence_rates()],
        *[f"claim {name}" for name in claims.names() if not claims.on_figure_4(name)],
    ]
    if with_simulation:
        pieces += [f"simulated {index}" for index in range(len(simulated.rows()))]
    keys = [key_of("reproduce", crawltwin.__version__, paper(), name) for name in pieces]
    found: dict[str, Any] = {}
    for name, result in zip(pieces, work.run(compute, pieces, workers=workers, store=store, keys=keys), strict=True):
        found[name] = result
        if progress is not None:
            progress(len(found), len(pieces))
    return _assemble(found)


def compute(piece: str) -> dict[str, Any]:
    """One piece by its name, as plain values."""
    kind, _, name = piece.partition(" ")
    if piece == "table 5":
        return {"findings": [item.to_json() for item in measured.judge()], "intervals": _intervals()}
    if piece in _FINDINGS:
        return {"findings": [item.to_json() for item in _FINDINGS[piece]()]}
    if kind == "variance":
        return {"costs": [[*pair, list(costs)] for pair, costs in curves.costs_at_variance(float(name)).items()]}
    if kind == "simulated":
        return asdict(simulated.judge(int(name)))
    if kind == "figure":
        return {"curves": [_plain(curve) for curve in _FIGURES[name]()]}
    return asdict(claims.judge(name, {}))


def _assemble(found: Mapping[str, Any]) -> Reproduction:
    order = ["formulas", "matrices", "numbers", "table 1", "table 2", "table 3", "table 4", "table 5", "trace"]
    at: dict[float, PairCosts] = {
        rate: {(high, low): tuple(costs) for high, low, costs in found[f"variance {rate!r}"]["costs"]}
        for rate in curves.obsolescence_rates()
    }
    figures = {name: tuple(map(_curve, found[f"figure {name}"]["curves"])) for name in _FIGURES}
    return Reproduction(
        findings=tuple(Finding(**item) for name in order for item in found[name]["findings"]),
        claims=tuple(
            claims.judge(name, at) if claims.on_figure_4(name) else Claim(**found[f"claim {name}"])
            for name in claims.names()
        ),
        figures=figures | {"4": curves.figure4(at)},
        intervals=tuple(
            Interval(**item | {"robots": tuple(item["robots"]), "thresholds": tuple(item["thresholds"])})
            for item in found["table 5"]["intervals"]
        ),
        others=tuple(Finding(**item) for item in found["others"]["findings"]),
        simulated=tuple(Simulated(**item) for name, item in found.items() if name.startswith("simulated ")),
    )


def _intervals() -> list[dict[str, Any]]:
    box, printed, plain = measured.box(), measured.printed_costs(), measured.costs(measured.from_A())
    return [
        _plain(
            Interval(
                robots, thresholds, float(printed[k]), float(plain[k]), box.low[k], box.high[k], box.witness_costs[k]
            )
        )
        for k, (robots, thresholds) in enumerate(measured.policies())
    ]


def _plain(item: Curve | Interval) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(item).items()}


def _curve(item: Mapping[str, Any]) -> Curve:
    high, low = item["robots"]
    return Curve(item["label"], (high, low), item["parameter"], item["variance"], tuple(item["costs"]))
