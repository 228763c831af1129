"""The printed arrival matrices: which signs must change to make them generators, and that no other repair does.

D_0 + D_1 + ... must have rows that sum to zero, a negative diagonal of D_0 and no other negative rate. All sets of sign
changes are tried, smallest first; the repair is accepted where exactly one smallest set exists.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from crawltwin.model import BMAP, InputError
from validate.paper.judging.finding import Finding, TextPlace
from validate.paper.printed.source import paper

Entry = tuple[int, int, int]
_ROW_SUM = 1e-12


def printed_matrices(robots: int) -> list[npt.NDArray[np.float64]]:
    """D_0, D_1, ... as printed."""
    given = next(item for item in paper()["matrices"] if item["robots"] == robots)
    return [np.array(block, dtype=float) for block in given["D"]]


@cache
def sign_repairs(robots: int, at_most: int = 3) -> tuple[tuple[Entry, ...], ...]:
    """All smallest sets of entries (k, row, column) whose signs must change; an empty set when nothing is wrong.

    Cost: at most C(20, 3) = 1,140 checks of a 2 by 2 matrix.
    """
    blocks = printed_matrices(robots)
    entries = [(k, int(row), int(column)) for k, block in enumerate(blocks) for row, column in np.argwhere(block != 0)]
    for size in range(at_most + 1):
        found = tuple(chosen for chosen in combinations(entries, size) if _sound(_flip(blocks, chosen)))
        if found:
            return found
    raise InputError(f"the printed matrices of {robots} robots must become generators by sign changes; none found")


def repaired(robots: int) -> list[npt.NDArray[np.float64]]:
    """The matrices after the only smallest repair."""
    found = sign_repairs(robots)
    if len(found) != 1:
        raise InputError(f"the repair for {robots} robots must be unique; got {len(found)}")
    return _flip(printed_matrices(robots), found[0])


def findings() -> tuple[Finding, ...]:
    """One finding for each number of robots that prints nothing wrong, one for each entry that does."""
    results: list[Finding] = []
    for item in paper()["matrices"]:
        robots = item["robots"]
        chosen = sign_repairs(robots)[0]
        where = "section 7, arrival matrices"
        if not chosen:
            results.append(
                Finding(TextPlace(where, f"D^({robots})"), "all entries", "rows sum to 0", "reproduced", "as printed")
            )
        for k, row, column in chosen:
            value = printed_matrices(robots)[k][row, column]
            results.append(
                Finding(
                    TextPlace(where, f"D_{k}^({robots}), entry ({row + 1},{column + 1})"),
                    f"{value:g}",
                    f"{-value:g}",
                    "misprint",
                    "sign",
                    _words(robots, chosen, (k, row, column)),
                    -value,
                )
            )
    return tuple(results)


def _words(robots: int, chosen: tuple[Entry, ...], entry: Entry) -> str:
    blocks = printed_matrices(robots)
    total = np.sum(blocks, axis=0)[entry[1]].sum()
    value = blocks[entry[0]][entry[1], entry[2]]
    fault = "a diagonal of D_0 must be negative" if entry[0] == 0 else "a rate of deliveries must not be negative"
    others = len(chosen) - 1
    together = f" together with {others} more in the same matrices" if others else ""
    mode = BMAP(repaired(robots))
    return (
        f"{value:g} cannot be: {fault}, and the row sums to {total:.4g} instead of 0. Changing this sign{together} is "
        f"the only smallest change of signs that gives a generator; it gives the printed rate {mode.page_rate:.4g}, "
        f"batch rate {mode.batch_rate:.4g} and correlation {mode.correlation():.3f}."
    )


def _flip(blocks: list[npt.NDArray[np.float64]], chosen: tuple[Entry, ...]) -> list[npt.NDArray[np.float64]]:
    changed = [block.copy() for block in blocks]
    for k, row, column in chosen:
        changed[k][row, column] *= -1
    return changed


def _sound(blocks: list[npt.NDArray[np.float64]]) -> bool:
    first = blocks[0]
    off = first - np.diag(np.diag(first))
    rates = [off, *blocks[1:]]
    sums = np.sum(blocks, axis=0).sum(axis=1)
    return bool(
        (np.diag(first) < 0).all() and all((block >= 0).all() for block in rates) and (abs(sums) < _ROW_SUM).all()
    )
