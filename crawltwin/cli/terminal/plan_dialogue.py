"""`crawltwin plan --ask`: a dialogue that asks for what a plan needs and writes the answers into plan.toml."""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentTypeError
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crawltwin.cli.options import whole
from crawltwin.cli.output import save, say
from crawltwin.model.errors import InputError
from crawltwin.model.files import check_writable
from crawltwin.model.settings import settings_of
from crawltwin.plan.config import PlanFile
from crawltwin.plan.limits import IndexWithin
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.what_if.measuring import HOW_TO_MEASURE
from crawltwin.plan.wording import in_percent, in_time

QUESTIONS = (
    ("robots", "How many robots wrote the log, and may run at most?"),
    ("capacity", "How many pages may be in the system, the one being indexed included, before pages are dropped?"),
    ("service_mean", "How long does the indexer need for a page, on average (2s, 100ms)?"),
    ("obsolescence_mean", "After how long is a waiting page stale, on average (30min, 2d, never)?"),
    ("lose_at_most", "What share of the pages may be lost (1%)?"),
    ("index_within", "In what time must which share of the indexed pages be through (1h:95%)?"),
    ("index_at_least", "What share of the pages that are indexed today must still be indexed (90%)?"),
)
"""What is asked, in this order."""
_TAKEN_BACK = "none"


def ask(said: PlanFile, path: str, log: Sequence[str]) -> None:
    """Ask for each number, show how to measure it, and write the file; `log` is what the plan will be made of.

    An empty answer keeps what was given before; what cannot be read is asked for again; the end of the input ends the
    dialogue.
    """
    check_writable(path)
    say(
        "Empty answers keep what stands in brackets, none takes an answer back. Times may have a unit: 100ms, 90s, "
        "5min, 1h, 2d."
    )
    settings = said.settings
    readers = {field.name: one.read or whole for field, one in settings_of(PlanSettings)}
    for name, words in QUESTIONS:
        if name == "service_mean" and settings.processing_rate is not None:
            continue
        if name in HOW_TO_MEASURE:
            say(HOW_TO_MEASURE[name], style="dim")
        try:
            settings = _answered(settings, name, words, readers[name])
        except EOFError:  # a terminal goes on after Ctrl-D, and would ask all the other questions
            break
    made, there = replace(said, settings=settings), Path(path).exists()
    if made == (PlanFile.read(path) if there else PlanFile(PlanSettings())):
        say(f"Nothing new was answered: {path} is left as it is." if there else "Nothing was answered or written.")
    else:
        save(path, made.text())
        there = True
    files = " ".join(map(shlex.quote, log))
    say(f"Plan with: crawltwin plan {files}{f' --config {shlex.quote(path)}' if there else ''}", whole=True)


def _answered(settings: PlanSettings, name: str, words: str, read: Any) -> PlanSettings:
    """The settings with one more answer."""
    known = getattr(settings, name)
    while True:
        answer = _line(f"{words} [{_shown(name, known)}] ")
        if not answer:
            return settings
        try:
            if answer.lower() == _TAKEN_BACK:
                default = getattr(PlanSettings(), name)
                return replace(settings, **{name: default}, given=settings.given - {name})
            return replace(settings, **{name: read(answer)}, given=settings.given | {name})
        except InputError as error:
            for fault in error.faults:
                say(str(replace(fault, place="", text=fault.text.replace(name, "the answer"))))
        except ArgumentTypeError as error:
            say(f"the answer {error}.")


def _shown(name: str, known: Any) -> str:
    """What is known already, as it could be typed."""
    if known is None:
        return "not known"
    if isinstance(known, IndexWithin):
        return f"{in_time(known.seconds)}:{in_percent(known.share)}"
    if name.endswith("_mean"):
        return in_time(known)
    return in_percent(known) if isinstance(known, float) else str(known)


def _line(prompt: str) -> str:
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        print()
        raise EOFError
    return line.strip()
