"""Which members of an archive are the log: of a WACZ its list of pages, of any other archive all, or those asked for.

A WACZ (a zip as browsertrix-crawler, ArchiveWeb.page and py-wacz write it) tells the same crawl several times: the list
of its pages (``pages/pages.jsonl`` holds the seeds, ``pages/extraPages.jsonl`` the others), the records
(``archive/*.warc.gz``), an index of these, and the crawler's log. One of them is read, so that a page counts once. The
list of pages goes first: it has one row per page, where the records have one for each image too. Where it is empty, as
py-wacz leaves it without ``--detect-pages``, the records are read, then the index. Source:
specs.webrecorder.net/wacz/1.1.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from crawltwin.model.errors import InputError

PACKAGE = "datapackage.json"
_PARTS = {"pages": "list of pages", "archive": "records", "indexes": "index", "logs": "crawler's log"}
"""Folders of a WACZ and what they hold, in the order in which one of them is chosen; the log only on request."""
_ARCHIVE = re.compile(r"\.(?:zip|wacz|tar(?:\.\w{1,4})?|tgz|tbz2?|txz|tzst)$", re.IGNORECASE)
_SHOWN = 6


def is_rubbish(name: str) -> bool:
    """Whether an archiver of some system has added the member for itself."""
    last = name.rpartition("/")[2]
    return name.startswith("__MACOSX/") or last.startswith("._") or last in (".DS_Store", "Thumbs.db")


def is_wanted(name: str, wanted: str) -> bool:
    """Whether a member has that name, whole or behind its folders, or fits that pattern; archives are looked into."""
    last = name.rpartition("/")[2]
    if wanted in (name, last) or fnmatchcase(name, wanted) or fnmatchcase(last, wanted):
        return True
    return _ARCHIVE.search(last) is not None


def log_members(
    place: str, names: Sequence[str], wanted: str | None, has_pages: Callable[[str], bool]
) -> tuple[list[str], str]:
    """The members that are read, and words about what was chosen; `has_pages` looks into a list of pages.

    Raises
    ------
    InputError
        When there is no file at all.
    """
    useful = [name for name in names if not is_rubbish(name)]
    if not useful:
        raise InputError.at(place, "a zip archive must hold at least one file that is not empty; got none")
    if wanted is not None:
        return [name for name in useful if is_wanted(name, wanted)], ""
    parts = {folder: [name for name in useful if name.startswith(folder + "/")] for folder in _PARTS}
    if PACKAGE not in useful or not any(parts.values()):
        return useful, ""
    parts["pages"] = [name for name in parts["pages"] if has_pages(name)]
    folder = next(folder for folder, found in parts.items() if found)
    others = [
        f"{_PARTS[other]} ({listed(found)}; --member '{other}/*')"
        for other, found in parts.items()
        if found and other != folder
    ]
    words = f"{place} is a WACZ archive: its {_PARTS[folder]} was read ({listed(parts[folder])})"
    words = words.replace("records was", "records were")
    return parts[folder], words + (
        f"; it also holds its {', its '.join(others)}, which tell the same" if others else ""
    )


def none_wanted(place: str, names: Sequence[str], wanted: str) -> InputError:
    """What is told where no member is asked for."""
    return InputError.at(
        place, f"member must be the name of a member, or a pattern for some; got {wanted!r} among {listed(names)}"
    )


def listed(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "") if names else "none"
