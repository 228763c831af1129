"""`reproduce`: every table, number, formula, claim and figure of the paper, in pieces that can be kept and resumed.

A piece is plain data: what is computed here does not depend on how many workers computed it, nor on whether it was
computed now or taken from a store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from crawltwin.model.results.display import Shown
from crawltwin.work import workers as work
from crawltwin.work.progress import ProgressCallback
from crawltwin.work.store import Store, key_of
from validate.paper.figures import curves, simulated_rows
from validate.paper.figures.curves import Curve, PairCosts
from validate.paper.figures.simulated_rows import SimulatedRow
from validate.paper.judging.finding import Finding
from validate.paper.printed import matrices
from validate.paper.printed.source import paper
from validate.paper.tables import first_table, measured, sweeps
from validate.paper.text import claims, correlations, formulas, numbers, other_authors
from validate.paper.text.claims import Claim

if TYPE_CHECKING:
    import pandas as pd

_FINDINGS: Mapping[str, Callable[[], tuple[Finding, ...]]] = {
    "matrices": matrices.findings,
    "formulas": formulas.findings,
    "numbers": numbers.findings,
    "table 1": first_table.findings,
    **{f"table {sweep.number}": partial(sweeps.findings, sweep) for sweep in sweeps.SWEEPS},
    "trace": correlations.findings,
    "others": other_authors.findings,
}
"""Short pieces, each with all its findings; Table 5 takes longer and has intervals too."""
_FIGURES: Mapping[str, Callable[[], tuple[Curve, ...]]] = {
    "1": curves.figure1,
    "2": curves.figure2,
    "3": curves.figure3,
}


@dataclass(frozen=True)
class PaperPiece:
    """One piece of the work: a kind, and which one of that kind."""

    kind: Literal["findings", "table 5", "figure", "variance", "claim", "simulated"]
    name: str = ""
    rate: float = 0.0
    row: int = 0


@dataclass(frozen=True)
class RoundingInterval:
    """What the rounding of the inputs allows for one policy of Table 5."""

    robots: tuple[int, ...]
    thresholds: tuple[int, ...]
    printed: float
    as_printed: float
    low: float
    high: float
    witness: float


@dataclass(frozen=True, repr=False)
class Reproduction(Shown):
    """The paper beside our numbers.

    Parameters
    ----------
    findings : tuple of Finding
        Every printed number, policy and formula.
    claims : tuple of Claim
    figures : mapping of "1" to "4" to tuple of Curve
    intervals : tuple of RoundingInterval
        Table 5 and the rounding of its inputs.
    others : tuple of Finding
        Results of other authors for special cases.
    simulated : tuple of SimulatedRow
        The main rows, simulated; empty where that was not asked for.
    """

    findings: tuple[Finding, ...]
    claims: tuple[Claim, ...]
    figures: Mapping[str, tuple[Curve, ...]]
    intervals: tuple[RoundingInterval, ...]
    others: tuple[Finding, ...] = ()
    simulated: tuple[SimulatedRow, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether every number is reproduced or explained, here and elsewhere, and no simulation contradicts."""
        known = not self.of("not reproducible") and all(item.verdict == "reproduced" for item in self.others)
        return known and all(item.verdict != "different" for item in self.simulated)

    def of(self, verdict: str) -> tuple[Finding, ...]:
        """The findings with one verdict."""
        return tuple(item for item in self.findings if item.verdict == verdict)

    def headline(self) -> str:
        """The counts of the verdicts."""
        counts = ", ".join(f"{len(self.of(word))} {word}" for word in ("reproduced", "misprint", "not reproducible"))
        return f"{len(self.findings)} printed things: {counts}"

    def to_frame(self) -> pd.DataFrame:
        """One row for each printed thing: where, what, as printed, as computed, the verdict and why."""
        import pandas as pd

        return pd.DataFrame([item.to_json() for item in self.findings])

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
    progress: ProgressCallback | None = None,
    with_simulation: bool = False,
) -> Reproduction:
    """Compute everything.

    Parameters
    ----------
    workers : int, optional
        Processes; one per core by default.
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
        *[PaperPiece("findings", name) for name in _FINDINGS],
        *[PaperPiece("figure", name) for name in _FIGURES],
        PaperPiece("table 5"),
        *[PaperPiece("variance", rate=rate) for rate in curves.obsolescence_rates()],
        *[PaperPiece("claim", name) for name in claims.names() if not claims.on_figure_4(name)],
    ]
    if with_simulation:
        pieces += [PaperPiece("simulated", row=row) for row in range(len(simulated_rows.main_rows()))]
    keys = [key_of("reproduce", paper(), asdict(piece)) for piece in pieces]
    results = work.run(compute, pieces, workers=workers, store=store, keys=keys, progress=progress)
    return _assemble(dict(zip(pieces, results, strict=True)))


def compute(piece: PaperPiece) -> dict[str, Any]:
    """One piece, as plain values."""
    if piece.kind == "findings":
        return {"findings": [item.to_plain() for item in _FINDINGS[piece.name]()]}
    if piece.kind == "table 5":
        return {"findings": [item.to_plain() for item in measured.findings()], "intervals": _intervals()}
    if piece.kind == "variance":
        return {"costs": [[*pair, list(costs)] for pair, costs in curves.costs_at_variance(piece.rate).items()]}
    if piece.kind == "simulated":
        return asdict(simulated_rows.simulate_row(piece.row))
    if piece.kind == "figure":
        return {"curves": [_plain(curve) for curve in _FIGURES[piece.name]()]}
    return asdict(claims.check_claim(piece.name, {}))


def _assemble(found: Mapping[PaperPiece, Any]) -> Reproduction:
    def findings_of(*pieces: PaperPiece) -> tuple[Finding, ...]:
        return tuple(Finding.from_plain(item) for piece in pieces for item in found[piece]["findings"])

    first = [PaperPiece("findings", name) for name in ("formulas", "matrices", "numbers", "table 1")]
    varied = [PaperPiece("findings", f"table {sweep.number}") for sweep in sweeps.SWEEPS]
    at: dict[float, PairCosts] = {
        rate: {(high, low): tuple(costs) for high, low, costs in found[PaperPiece("variance", rate=rate)]["costs"]}
        for rate in curves.obsolescence_rates()
    }
    return Reproduction(
        findings=findings_of(*first, *varied, PaperPiece("table 5"), PaperPiece("findings", "trace")),
        claims=tuple(
            claims.check_claim(name, at) if claims.on_figure_4(name) else Claim(**found[PaperPiece("claim", name)])
            for name in claims.names()
        ),
        figures={name: tuple(map(_curve, found[PaperPiece("figure", name)]["curves"])) for name in _FIGURES}
        | {"4": curves.figure4(at)},
        intervals=tuple(
            RoundingInterval(**item | {"robots": tuple(item["robots"]), "thresholds": tuple(item["thresholds"])})
            for item in found[PaperPiece("table 5")]["intervals"]
        ),
        others=findings_of(PaperPiece("findings", "others")),
        simulated=tuple(SimulatedRow(**item) for piece, item in found.items() if piece.kind == "simulated"),
    )


def _intervals() -> list[dict[str, Any]]:
    box, printed, plain = measured.box(), measured.printed_costs(), measured.costs(measured.from_A())
    return [
        _plain(
            RoundingInterval(
                robots, thresholds, float(printed[k]), float(plain[k]), box.low[k], box.high[k], box.witness_costs[k]
            )
        )
        for k, (robots, thresholds) in enumerate(measured.policies())
    ]


def _plain(item: Curve | RoundingInterval) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(item).items()}


def _curve(item: Mapping[str, Any]) -> Curve:
    high, low = item["robots"]
    return Curve(item["label"], (high, low), item["parameter"], item["variance"], tuple(item["costs"]))
