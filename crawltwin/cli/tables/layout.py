"""How wide the columns of a table for people are, so that no word and no number is broken.

A column is at least as wide as its longest word. Where that leaves room, the widest columns give way first. Where the
words do not fit, the space around them goes; where that is not enough, columns move into further tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """One table: which columns, how wide, and the space on both sides of a cell."""

    columns: tuple[int, ...]
    widths: tuple[int, ...]
    padding: int
    first: bool


def laid_out(columns: Sequence[Sequence[str]], keys: int, width: int) -> Iterator[Layout]:
    """The tables that hold these columns of cells, headings included; the first `keys` columns stand in each.

    Examples
    --------
    >>> [part.widths for part in laid_out([["a", "one two"], ["b", "12.345"]], 1, 80)]
    [(7, 6)]
    >>> [part.columns for part in laid_out([["a", "one"], ["b", "12.345"], ["c", "67.890"]], 1, 13)]
    [(0, 1), (0, 2)]
    """
    least = [max(_longest_word(cell) for cell in column) for column in columns]
    wanted = [max(_wide(cell) for cell in column) for column in columns]
    every = tuple(range(len(columns)))
    padding = next((space for space in (1, 0) if _taken(least, space) <= width), None)
    if padding is not None:
        yield Layout(every, _shrunk(wanted, least, width - _lines(len(every), padding)), padding, True)
        return
    groups: list[list[int]] = []
    for at in every[keys:]:
        if not groups or _taken([least[one] for one in (*every[:keys], *groups[-1], at)], 0) > width:
            groups.append([])
        groups[-1].append(at)
    for index, group in enumerate(groups or [[]]):
        chosen = (*every[:keys], *group)
        room = width - _lines(len(chosen), 0)
        widths = _shrunk([wanted[at] for at in chosen], [least[at] for at in chosen], room)
        yield Layout(chosen, _shrunk(widths, [1] * len(chosen), room), 0, index == 0)


def _shrunk(wanted: Sequence[int], least: Sequence[int], room: int) -> tuple[int, ...]:
    """The wanted widths, the widest made narrower one by one until they fit or nothing can give way."""
    widths = list(wanted)
    while sum(widths) > room:
        loose = [at for at in range(len(widths)) if widths[at] > least[at]]
        if not loose:
            break
        widths[max(loose, key=lambda at: widths[at])] -= 1
    return tuple(widths)


def _taken(widths: Sequence[int], padding: int) -> int:
    return sum(widths) + _lines(len(widths), padding)


def _lines(columns: int, padding: int) -> int:
    """What the lines between columns and the space around cells take; there is none at the two edges."""
    return columns + 1 + 2 * padding * (columns - 1)


def _wide(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _longest_word(text: str) -> int:
    return max((_wide(word) for word in text.split()), default=0)
