"""The pages of an earlier report compared with the pages that the same report would have now.

A report that was made again is given what tells of the making alone (the command, times, versions, machine, commit and
names of the files that were read) from the earlier one. Everything else must be the same: the words, tables and
pictures of every page, and the files beside them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from crawltwin.model.errors import InputError
from crawltwin.model.files import parse, read_text
from crawltwin.model.results.comparing import differences, same_text
from crawltwin.report import Provenance, Report, render
from crawltwin.report.as_json import FORMAT, to_json

JSON, PAGES = "report.json", ("report.md", "report.html")
OF_THE_MAKING = frozenset({"versions", "platform", "sources", "commit", "times"})
"""Parts of the provenance that may differ from run to run."""
MOST = 5
"""Differences between the words of report.json that are told one by one."""
POINT = 1e-3
"""Difference of two places in a picture that counts as the same, in points: nobody sees it."""
SHOWN = 60
"""Characters of a line that are shown around its first difference."""
_DRAWN = re.compile(r'(<svg class="drawn".*?</svg>)', re.DOTALL)
_INSIDE = re.compile(r"(<svg [^>]*>(?:<title.*?</desc>)?).*?(</svg>)", re.DOTALL)
_HASHED = re.compile(r"-[a-z][0-9a-f]{10}\b")
_VERSION = re.compile(r"crawltwin \d[\w.+]*\w")


@dataclass(frozen=True)
class EarlierReport:
    """A report as it lies in a directory, or its report.json alone.

    Parameters
    ----------
    held : mapping
        What report.json holds.
    directory : Path or None
        Where the pages lie; None where report.json alone is to be compared.
    files : mapping
        Text of each page and picture by its name.
    """

    held: Mapping[str, Any]
    directory: Path | None
    files: Mapping[str, str]

    @classmethod
    def read(cls, path: str | Path) -> EarlierReport:
        """From a directory, whose report must be whole, or from a report.json."""
        given = Path(path)
        directory = given if given.is_dir() else None
        if directory is not None and not (directory / JSON).exists():
            raise InputError(f"--check must be the directory of a report; got {str(path)!r}, where no {JSON} is")
        held = parse(read_text(given if directory is None else directory / JSON, "--check"), "--check", json_text=True)
        _check(held, path)
        if directory is None:
            return cls(held, None, {})
        names = [*PAGES, *_pictures(held["sections"])]
        missing = [name for name in names if not (directory / name).exists()]
        if missing:
            raise InputError(
                f"--check must be the directory of a whole report; got {str(path)!r} without {', '.join(missing)}. "
                f"To compare what {JSON} holds alone, give {str(directory / JSON)!r}"
            )
        return cls(held, directory, {name: read_text(directory / name, "--check") for name in names})

    def differences(self, report: Report, beside: Mapping[str, str] | None = None) -> list[str]:
        """What differs in words, tables and pictures, from the same report made now; `data` is not looked at.

        Parameters
        ----------
        report : Report
        beside : mapping, optional
            Further files of the directory by their names, as they would be written now.
        """
        now = self._made_then(report)
        told = list(_words_of_json(self.held, json.loads(to_json(now))))
        found = told[:MOST] + ([f"{JSON}: {len(told) - MOST:,} more of the kind"] if len(told) > MOST else [])
        if self.directory is None:
            return found
        made = dict(render(now))
        for name in self.files:
            if name in made:
                found += _file_differences(name, self.files[name], made[name], self._drawn_alike(report))
        for name, text in (beside or {}).items():
            try:
                old = read_text(self.directory / name, "--check")
            except InputError:
                found.append(f"{name}: only in the new one")
            else:
                found += _file_differences(name, old, text, drawn=True)
        return found

    def _made_then(self, report: Report) -> Report:
        """The report with what tells of its making taken from the earlier one."""
        origin = self.held["provenance"]
        kept: dict[str, Any] = {name: origin[name] for name in OF_THE_MAKING}
        return replace(report, command=self.held["command"], provenance=replace(report.provenance, **kept))

    def _drawn_alike(self, report: Report) -> bool:
        """Whether the same library drew the pictures; another one draws the same numbers with other lines."""
        held = self.held["provenance"]["versions"]
        return bool(held.get("matplotlib") == report.provenance.versions.get("matplotlib"))


def _check(held: Any, path: str | Path) -> None:
    """Refuse what is no report, or one of another shape."""
    wrong = f"--check must be a report of crawltwin; got {str(path)!r}"
    if not isinstance(held, dict) or "format" not in held:
        raise InputError(f"{wrong}, whose {JSON} does not hold one")
    if held["format"] != FORMAT:
        raise InputError(
            f"{wrong}, which was written by a version with another form of report ({held['format']!r}, here {FORMAT}). "
            "Make it again with --report"
        )
    try:
        origin = held["provenance"]
        Provenance(**{name: origin[name] for name in ("scenarios", "seeds", "settings", *OF_THE_MAKING)})
        sound = all(isinstance(held[name], str) for name in ("title", "command")) and all(
            isinstance(origin[name], str) for name in ("platform", "commit", "settings")
        )
        list(_pictures(held["sections"]))
        list(map(_with_cells, held["sections"]))
        sound = sound and all(isinstance(held[name], list) for name in ("summary", "unconfirmed"))
    except (AttributeError, KeyError, TypeError, ValueError):
        sound = False
    if not sound or not isinstance(held.get("data"), dict):
        raise InputError(f"{wrong}, whose {JSON} is damaged: parts of it are missing or of another kind")


def _pictures(sections: Any) -> Iterator[str]:
    """Files of the pictures that sections show."""
    for section in sections:
        for block in section["blocks"]:
            if block["kind"] == "figure":
                if not re.fullmatch(r"figures/[a-z0-9-]+\.svg", block["file"]):
                    raise ValueError(block["file"])
                yield block["file"]
        yield from _pictures(section["sections"])


def _words_of_json(held: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for part in ("title", "summary", "unconfirmed"):
        yield from differences(part, held[part], now[part])
    then, today = ([_with_cells(section) for section in one["sections"]] for one in (held, now))
    yield from differences("sections", then, today)
    yield from differences("provenance", held["provenance"], now["provenance"], OF_THE_MAKING)


def _with_cells(section: Mapping[str, Any]) -> dict[str, Any]:
    """A section whose cells all have a value and a text: one whose text is its value is written as the value alone."""
    blocks = [
        {**block, "rows": [[_cell(cell) for cell in row] for row in block["rows"]]}
        if block["kind"] == "table"
        else block
        for block in section["blocks"]
    ]
    return {**section, "blocks": blocks, "sections": [_with_cells(inner) for inner in section["sections"]]}


def _cell(cell: Any) -> dict[str, Any]:
    return cell if isinstance(cell, dict) else {"value": cell, "shown": str(cell)}


def _file_differences(name: str, old: str, new: str, drawn: bool) -> Iterator[str]:
    """At most one line: where the file differs first, and in how many lines."""
    if name.endswith(".svg"):
        if drawn:
            yield from _text_differences(name, _named_alike(old), _named_alike(new), POINT)
        return
    old, new = (_VERSION.sub("crawltwin", text) for text in (old, new))
    if name.endswith(".html"):
        pieces = [_DRAWN.split(text) for text in (old, new)]
        if len(pieces[0]) == len(pieces[1]):
            pictures = [[_named_alike(piece) for piece in text[1::2]] for text in pieces]
            if drawn and not all(same_text(one, other, POINT) for one, other in zip(*pictures, strict=True)):
                yield f"{name}: a picture is drawn otherwise"
        # The pictures with their words alone; their lines are told above.
        old, new = (_DRAWN.sub(lambda found: _INSIDE.sub(r"\1\2", found.group()), text) for text in (old, new))
    yield from _text_differences(name, old, new)


def _named_alike(picture: str) -> str:
    """A picture without the names that hash its last bits."""
    return _HASHED.sub("-", picture)


def _text_differences(name: str, old: str, new: str, within: float | None = None) -> Iterator[str]:
    same: Callable[[str, str], bool] = same_text if within is None else partial(same_text, within=within)
    left, right = old.splitlines(), new.splitlines()
    first = next((at for at, pair in enumerate(zip(left, right)) if not same(*pair)), min(len(left), len(right)))
    if first == len(left) == len(right):
        return
    rest = [text[first:][::-1] for text in (left, right)]
    after = next((at for at, pair in enumerate(zip(*rest)) if not same(*pair)), min(map(len, rest)))
    count = max(map(len, rest)) - after
    was, now = (text[first] if first < len(text) else "nothing" for text in (left, right))
    at = max(0, next((i for i, pair in enumerate(zip(was, now)) if pair[0] != pair[1]), 0) - SHOWN // 3)
    more = f" (and further ones among {count - 1:,} lines after it)" if count > 1 else ""
    yield f"{name}, line {first + 1}: was {was[at : at + SHOWN]!r}, is {now[at : at + SHOWN]!r}{more}"
