"""Judging one cell: a number, or a policy together with the cost printed beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from crawltwin.model import ThresholdPolicy
from validate.paper.judging.finding import Finding, Place, TableCell
from validate.paper.judging.landscape import Landscape
from validate.paper.judging.neighbours import NearbyValue, explain
from validate.paper.printed.number import Printed
from validate.paper.printed.source import robots_of, thresholds_of


def judge_number(
    place: Place,
    printed: Printed,
    ours: float,
    candidates: Iterable[NearbyValue] = (),
    proof: Callable[[], str] = str,
) -> Finding:
    """A printed number beside ours; `candidates` and `proof` are asked for only where they disagree."""
    how, shown = printed.agreement(ours), show(ours, printed)
    if how:
        return Finding(place, printed.text, shown, "reproduced", how, "", ours)
    found = explain(printed, ours, candidates)
    units = abs(ours - float(printed.value)) / float(printed.unit)
    off = (
        f"{units:,.0f} units of the last printed digit"
        if units >= 100
        else f"{units:.3g} units of the last printed digit"
    )
    if found is None:
        words = f"The print is {off} away from ours, and no neighbour, digit or sign explains it. {proof()}"
        return Finding(place, printed.text, shown, "not reproducible", "unexplained", words.strip(), ours)
    words = f"The print is {off} away from ours; {found.words} (explanations tried: {found.tried}). {proof()}"
    return Finding(place, printed.text, shown, "misprint", found.kind, words.strip(), ours)


@dataclass(frozen=True)
class PrintedPolicy:
    """The policy printed in a row of a table.

    Parameters
    ----------
    robots, thresholds : str
        As printed.
    cost : Printed
        The optimal cost printed in the same row.
    thresholds_cell : TableCell
        Where the thresholds stand.
    robots_cell : TableCell, optional
        Where the robots stand, if they are a claim of the row; otherwise `robots` names the set that is meant.
    """

    robots: str
    thresholds: str
    cost: Printed
    thresholds_cell: TableCell
    robots_cell: TableCell | None = None


def judge_policy(printed: PrintedPolicy, landscape: Landscape) -> tuple[Finding, ...]:
    """The printed policy of a row beside the best one; the cost printed in that row is the witness."""
    said = robots_of(printed.robots), thresholds_of(printed.thresholds)
    best = landscape.best_of(said[0]) if printed.robots_cell is None else landscape.best
    thresholds = ",".join(map(str, best.thresholds)) or "--"
    cells = [(printed.thresholds_cell, printed.thresholds, thresholds, said[1] == best.thresholds)]
    if printed.robots_cell is not None:
        cells.insert(0, (printed.robots_cell, printed.robots, ",".join(map(str, best.robots)), said[0] == best.robots))
    words, explained = "", False
    if not all(right for *_, right in cells):
        words, explained = _policy_words(said, printed.cost, landscape, best.robots, best.thresholds)
    return tuple(
        Finding(cell, text, ours, "reproduced", "same")
        if right
        else Finding(
            cell,
            text,
            ours,
            "misprint" if explained else "not reproducible",
            "another policy" if explained else "unexplained",
            words,
        )
        for cell, text, ours, right in cells
    )


def _policy_words(
    said: tuple[tuple[int, ...], tuple[int, ...]],
    cost: Printed,
    landscape: Landscape,
    robots: tuple[int, ...],
    thresholds: tuple[int, ...],
) -> tuple[str, bool]:
    at_ours, at_said = landscape.cost(robots, thresholds), landscape.cost(*said)
    again = landscape.solved_again(*said)
    fits_ours, fits_said = bool(cost.agreement(at_ours)), bool(cost.agreement(at_said))
    words = (
        f"The optimum is {ThresholdPolicy(robots, thresholds).phrase} with cost {at_ours:.4f}; the printed policy, "
        f"{ThresholdPolicy(*said).phrase}, costs {at_said:.4f} (by another method {again:.4f}). "
    )
    if fits_ours and not fits_said:
        words += f"The cost printed in the same row, {cost.text}, is that of the optimum, not of the printed policy."
    if said[0] != robots and tuple(sorted(said[0])) == thresholds:
        moved = ",".join(map(str, sorted(said[0])))
        words += f" The printed robots {moved} are the thresholds of the optimum, one column early."
    if said[0] != robots and len(robots) != len(said[0]):
        pair = min(
            (item for item in landscape.optimum.policies if len(item.robots) == len(said[0])),
            key=lambda item: item.cost,
        )
        words += (
            f" Among policies of {len(said[0])} numbers of robots the best is "
            f"{ThresholdPolicy(pair.robots, pair.thresholds).phrase}: {pair.cost:.2f}."
        )
    return words, fits_ours and not fits_said


def show(value: float, printed: Printed) -> str:
    """Ours with two digits more than were printed."""
    exponent = printed.unit.as_tuple().exponent
    assert isinstance(exponent, int)
    return f"{value:.{max(0, 2 - exponent)}f}" if exponent > -9 else repr(value)
