"""The layout of help: every line fits the terminal, and every example can still be copied.

A text below the options (`EPILOG`) is written with one example per line, its words behind it, and paragraphs. Where a
line is wider than the terminal, the words of all examples go below their commands, a long command goes on after a
backslash as a shell reads it, and paragraphs are filled anew.
"""

from __future__ import annotations

import argparse
import re

TYPE_CHECKING = False  # what `typing` would say: help is shown without loading it
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_GAP = re.compile(r" {2,}")
_ITEM = re.compile(r"[a-z][a-z ]*: ")


class HelpLayout(argparse.RawDescriptionHelpFormatter):
    r"""A text whose lines fit is shown as it is written.

    Examples
    --------
    >>> print(HelpLayout("crawltwin")._fill_text("examples:\n  crawltwin plan a.log --robots 4   a plan", 30, ""))
    examples:
      crawltwin plan a.log \
          --robots 4
          a plan
    """

    _in_usage = False

    def _format_usage(self, *words: Any, **more: Any) -> str:
        self._in_usage = True
        try:
            return super()._format_usage(*words, **more)
        finally:
            self._in_usage = False

    def _metavar_formatter(self, action: argparse.Action, default_metavar: str) -> Callable[[int], tuple[str, ...]]:
        # Usage is never broken inside an option; the list below it names all choices.
        choices = super()._metavar_formatter(action, default_metavar)
        if self._in_usage and len(choices(1)[0]) > 0.6 * self._width:
            return lambda size: (default_metavar,) * size
        return choices

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002 - argparse indents nothing here
        blocks = text.strip("\n").split("\n\n")
        return "\n\n".join("\n".join(_fitted(block.splitlines(), width)) for block in blocks)


def _fitted(lines: list[str], width: int) -> list[str]:
    """The lines of one block, none wider than `width` where it can be broken."""
    if all(len(line) <= width for line in lines):
        return lines
    fitted: list[str] = []
    paragraph: list[str] = []
    for line in lines:
        example = line.startswith("  ")
        if paragraph and (example or _ITEM.match(line)):
            fitted += _filled(" ".join(paragraph), width)
            paragraph = []
        if example:
            fitted += _example(line, width)
        else:
            paragraph.append(line)
    return fitted + (_filled(" ".join(paragraph), width) if paragraph else [])


def _example(line: str, width: int) -> list[str]:
    command, *words = _GAP.split(line.strip(), maxsplit=1)
    # An option stays beside its value: the command is broken before options alone.
    pieces = _filled(re.sub(r" (?!-)", "\0", command), width - 2, "  ", "      ")
    return [f"{piece} \\" for piece in pieces[:-1]] + [
        pieces[-1],
        *(_filled(words[0], width, "      ", "      ") if words else []),
    ]


def _filled(text: str, width: int, first: str = "", later: str = "") -> list[str]:
    from textwrap import wrap

    lines = wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]
