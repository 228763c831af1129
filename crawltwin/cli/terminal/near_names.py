"""What somebody meant who wrote a name that there is not."""

from __future__ import annotations

import re
from difflib import get_close_matches

TYPE_CHECKING = False  # what `typing` would say: help is shown without loading it
if TYPE_CHECKING:
    from collections.abc import Sequence

_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)$", re.DOTALL)
_UNKNOWN = re.compile(r"unrecognized arguments: (.*)$", re.DOTALL)


def meant(complaint: str, options: Sequence[str]) -> str:
    """The end of a complaint of argparse: the commands, values or options that are near what was written.

    Examples
    --------
    >>> meant("argument COMMAND: invalid choice: 'slove' (choose from 'solve', 'sweep')", [])
    ". Did you mean 'solve'?"
    >>> meant("unrecognized arguments: --robot=4", ["--robots", "--report"])
    ". Did you mean '--robots'?"
    """
    found: list[str] = []
    if match := _CHOICE.search(complaint):
        known = re.findall(r"'([^']*)'", match[2])
        found = get_close_matches(match[1], [*known, *(options if "COMMAND" in complaint else [])], n=1)
    elif match := _UNKNOWN.search(complaint):
        written = [word.partition("=")[0] for word in match[1].split() if word.startswith("-")]
        found = [near for word in written for near in get_close_matches(word, options, n=1)]
    return f". Did you mean {' or '.join(map(repr, dict.fromkeys(found)))}?" if found else ""
