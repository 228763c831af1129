"""`crawltwin plan --ask`: a dialogue that asks for what a plan needs and writes the answers into plan.toml."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from dataclasses import replace
from typing import Any

from crawltwin.cli.options import whole
from crawltwin.cli.output import save, say
from crawltwin.model.errors import InputError
from crawltwin.model.files import check_writable
from crawltwin.model.settings import settings_of
from crawltwin.plan.config import PlanFile
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.what_if.measuring import HOW_TO_MEASURE

QUESTIONS = (
    ("robots", "How many robots wrote the log, and may run at most?"),
    ("capacity", "How many pages may be in the system, the one being indexed included, before pages are dropped?"),
    ("service_mean", "How long does the indexer need for a page, on average (2s, 0.1s)?"),
    ("obsolescence_mean", "After how long is a waiting page stale, on average (30min, 2d)? Empty: never."),
    ("lose_at_most", "What share of the pages may be lost (1%)?"),
    ("index_within", "In what time must which share of the indexed pages be through (1h:95%)?"),
    ("index_at_least", "What share of the pages that are indexed today must still be indexed (90%)?"),
)
"""What is asked, in this order."""


def ask(said: PlanFile, path: str) -> None:
    """Ask for each number, show how to measure it, and write the file.

    An empty answer keeps what was given before; what cannot be read is asked for again; the end of the input ends the
    dialogue.
    """
    check_writable(path)
    say("Empty answers keep what stands in brackets. Times may have a unit: 90s, 5min, 1h, 2d.")
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
    save(path, replace(said, settings=settings).text())
    say(f"Plan with: crawltwin plan LOG --config {path}")


def _answered(settings: PlanSettings, name: str, words: str, read: Any) -> PlanSettings:
    """The settings with one more answer."""
    known = getattr(settings, name)
    while True:
        answer = _line(f"{words} [{'not known' if known is None else known}] ")
        if not answer:
            return settings
        try:
            return replace(settings, **{name: read(answer)}, given=settings.given | {name})
        except (InputError, ArgumentTypeError) as error:
            say(str(error))


def _line(prompt: str) -> str:
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        print()
        raise EOFError
    return line.strip()
