"""What people see of a plan: the verdict, the instruction, today beside it, what supports it; or why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawltwin.cli.output import say, show_notes, show_table
from crawltwin.plan.day.logged_crawl import RobotsLogged
from crawltwin.plan.evidence.replayed import WORDS
from crawltwin.plan.what_if.polling import HEADINGS
from crawltwin.plan.wording import in_percent, is_told, kind_of, named, with_interval
from crawltwin.report.inline import plain

if TYPE_CHECKING:
    from crawltwin.plan.evidence.unsuitable import Unsuitable
    from crawltwin.plan.result import Plan

_STYLES = {"TRUSTED": "bold green", "PROVISIONAL": "bold yellow", "NOT TRUSTED": "bold red"}
_ORIGINS = {"given": "given", "log": "log", "default": "assumed"}


def show_plan(found: Plan) -> None:
    """The verdict, the instruction and today against recommended; then how sure it is and every input."""
    say(found.verdict.in_words(), style=_STYLES[found.verdict.word])
    say(*found.orders, style="bold")
    if not found.by_part and named(found.policy) == found.policy:
        say(f"In short: {found.policy}.", style="bold")
    say(*map(plain, found.warnings), style="bold")
    if found.day is not None:
        say(*found.day.in_words())
        shown = [
            (found.day.clock(part), f"{part.pace:.2f}", f"{part.share:.0%}", policy.short)
            for part, policy in zip(found.day.parts, found.day.policies, strict=True)
        ]
        show_table(f"parts of the {found.day.season.name}", ("time", ">pace", ">share of the time", "policy"), shown)
    robots, logged = found.settings.recorded, RobotsLogged.of(found.fit, found.settings)
    ran = f"{robots} robot{'s' if robots > 1 else ''}" if logged is None else logged.in_words()
    rows = [(line.question.words, line.shown(line.today), line.shown(line.recommended)) for line in found.compared]
    headings = ("measure", f">today, {ran}", ">recommended")
    show_table("today and recommended" + ("" if found.doubt is None else " (95%)"), headings, rows)
    if found.clock is not None:
        show_table(
            "what the clock hides", ("measure", *(f">{one}" for one in found.clock.headings)), found.clock.rows()
        )
    if found.finish is not None:
        say(found.finish.in_words())
    _show_choice(found)
    say(*map(plain, found.doubt_words))
    for one in found.assumed:
        if one.moves:
            points = [(point.value, named(point.policy or "none found")) for point in one.points]
            show_table(f"missing: {one.name} ({one.option})", (one.name.removeprefix("the "), "policy"), points)
    if found.polling:
        columns = (HEADINGS[0], *(f">{one}" for one in HEADINGS[1:]))
        own = f", over the {found.day.season.name}" if found.day is not None else ""
        show_table(f"the same policy, looked at less often{own}", columns, [point.shown() for point in found.polling])
    _show_checks(found)
    inputs = [(one.name, one.value, _ORIGINS[one.source]) for one in found.inputs]
    show_table("what this rests on", ("input", "value", "origin"), inputs)
    show_notes((plain(words).rstrip(".") for words in found.missing), "Left out", "")
    told = " ".join((found.verdict.in_words(), *found.warnings))
    warnings = (words for words in found.fit.warnings if not is_told(words, told))
    show_notes((plain(words).rstrip(".") for words in warnings), "Warning", "")


def _show_choice(found: Plan) -> None:
    if found.limited is not None:
        say(found.limited.in_words())
        return
    if found.clock is not None:
        say(plain(found.clock.choice_in_words()))
    proved = found.certificate is not None and found.certificate.threshold_is_best
    say(
        f"{plain(found.cost_words)}{' No better backlog rule exists.' if proved else ''}",
        f"The cost comes from: {', '.join(f'{one.words} {in_percent(one.share)}' for one in found.terms if one.cost)}.",
    )


def _show_checks(found: Plan) -> None:
    if found.check is not None:
        short = found.check.verdict == "inconclusive"
        say(f"Solved against simulated: {'not checked, too few pages' if short else found.check.verdict}.")
    if found.replay is None:
        return
    rows = [
        (
            WORDS[one.measure].removeprefix("the "),
            with_interval(one.mean, one.low, one.high, kind=kind_of(one.measure)),
            with_interval(one.replayed, kind=kind_of(one.measure)),
            one.verdict.word,
        )
        for one in found.replay.predictions
    ]
    how = "under this policy" if found.replay.scenario.arrivals.kind == "thinned" else "as it was written"
    show_notes((plain(words) for words in found.replay.notes), "Replay", "")
    show_table(f"the log replayed {how}", ("measure", ">predicted (95%)", ">replayed", "verdict"), rows)


def show_unsuitable(found: Unsuitable) -> None:
    """Why the log allows no plan, and what would help."""
    say(found.verdict.in_words(), style=_STYLES[found.verdict.word])
    for heading, sentences in (
        ("What can be concluded", found.can),
        ("What cannot", found.cannot),
        ("What would help", found.instead),
    ):
        say(heading, style="bold")
        say(*(f"- {sentence}" for sentence in sentences))
