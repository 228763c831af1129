"""Judging one cell: a number, or a policy together with the cost printed beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from validate.paper.finding import Finding
from validate.paper.landscape import Landscape, name_policy
from validate.paper.neighbours import Candidate, explain
from validate.paper.printed import Printed
from validate.paper.source import robots_of, thresholds_of


def judge_number(
    where: str,
    what: str,
    printed: Printed,
    ours: float,
    candidates: Iterable[Candidate] = (),
    proof: Callable[[], str] = str,
) -> Finding:
    """A printed number beside ours; `candidates` and `proof` are asked for only where they disagree."""
    how, shown = printed.agreement(ours), show(ours, printed)
    if how:
        return Finding(where, what, printed.text, shown, "reproduced", how, "", ours)
    found = explain(printed, ours, candidates)
    off = f"{abs(ours - float(printed.value)) / float(printed.unit):.3g} units of the last printed digit"
    if found is None:
        words = f"The print is {off} away from ours, and no neighbour, digit or sign explains it. {proof()}"
        return Finding(where, what, printed.text, shown, "not reproducible", "unexplained", words.strip(), ours)
    words = f"The print is {off} away from ours; {found.words} (explanations tried: {found.tried}). {proof()}"
    return Finding(where, what, printed.text, shown, "misprint", found.kind, words.strip(), ours)


def judge_policy(
    where: str, row: str, robots: str, thresholds: str, cost: Printed, landscape: Landscape, cells: tuple[str, ...]
) -> tuple[Finding, ...]:
    """The printed policy of a row beside the best one; the cost printed in that row is the witness.

    Parameters
    ----------
    where, row : str
    robots, thresholds : str
        As printed. `robots` names the set whose best thresholds are meant, or is itself a claim when it is in `cells`.
    cost : Printed
        The optimal cost printed in the same row.
    landscape : Landscape
    cells : tuple of str
        Which of "robots" and "thresholds" are printed in the row, and so get a finding.
    """
    said = robots_of(robots), thresholds_of(thresholds)
    best = landscape.best if "robots" in cells else landscape.best_of(said[0])
    ours = {"robots": ",".join(map(str, best.robots)), "thresholds": ",".join(map(str, best.thresholds)) or "--"}
    texts = {"robots": robots, "thresholds": thresholds}
    right = {"robots": said[0] == best.robots, "thresholds": said[1] == best.thresholds}
    if all(right[cell] for cell in cells):
        return tuple(Finding(where, f"{row}, {cell}", texts[cell], ours[cell], "reproduced", "same") for cell in cells)
    words, explained = _policy_words(said, cost, landscape, best.robots, best.thresholds)
    return tuple(
        Finding(where, f"{row}, {cell}", texts[cell], ours[cell], "reproduced", "same")
        if right[cell]
        else Finding(
            where,
            f"{row}, {cell}",
            texts[cell],
            ours[cell],
            "misprint" if explained else "not reproducible",
            "another policy" if explained else "unexplained",
            words,
        )
        for cell in cells
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
        f"The optimum is {name_policy(robots, thresholds)} with cost {at_ours:.4f}; the printed policy, "
        f"{name_policy(*said)}, costs {at_said:.4f} (by another method {again:.4f}). "
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
            f"{name_policy(pair.robots, pair.thresholds)}: {pair.cost:.2f}."
        )
    return words, fits_ours and not fits_said


def show(value: float, printed: Printed) -> str:
    """Ours with two digits more than were printed."""
    exponent = printed.unit.as_tuple().exponent
    assert isinstance(exponent, int)
    return f"{value:.{max(0, 2 - exponent)}f}" if exponent > -9 else repr(value)
