"""What people see of the demonstration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawltwin.cli.output import number, say, show_table
from crawltwin.live.demo.predictions import BAR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawltwin.live.arena.standings import Standing
    from crawltwin.live.demo.demonstration import Demonstration


def show_demonstration(found: Demonstration) -> None:
    """Predicted against measured for each policy, and what the recommended one saved."""
    rows = []
    settings = found.settings
    for one in found.judged:
        words = {verdict.comparison.measure: verdict.word for verdict in one.verdicts}
        for name in BAR:
            seen = one.measured.interval(name, settings.confidence)
            rows.append(
                (
                    one.prediction.policy.short,
                    name.replace("_", " "),
                    number(one.prediction.values[name], 4),
                    number(seen.value, 4),
                    f"{number(seen.low, 4)} to {number(seen.high, 4)}",
                    f"{one.prediction.values[name] / seen.value - 1:+.0%}" if seen.value else "-",
                    words.get(name, "-"),
                )
            )
    headings = ("policy", "measure", ">predicted", ">measured", ">interval", ">off by", "verdict")
    show_table(f"Predicted before, measured afterwards: {found.verdict}", headings, rows)
    saved = found.saved
    bar = "all" if found.within_bar else "NOT all"
    say(
        f"Under thresholds {bar} of these lie in their intervals or within {settings.margin:.0%}.",
        f"{found.first.prediction.policy.phrase}: cost {number(saved['always'], 4)}; "
        f"{found.recommended.phrase}: {number(saved['recommended'], 4)}, {number(saved['saved'], 4)} saved.",
        f"Processes waiting per core at the end: {number(found.busy, 2)}. {found.seconds:.0f} s.",
    )


def show_standings(standings: Sequence[Standing]) -> None:
    """The cost of each rule, and how far it is from ours."""
    rows = [
        (
            one.name,
            number(one.cost, 4),
            number(one.difference.value, 3),
            f"{number(one.difference.low, 3)} to {number(one.difference.high, 3)}",
            one.word() if place else "ours",
        )
        for place, one in enumerate(standings)
    ]
    headings = ("rule", ">cost", ">less ours", ">interval, all at once", "against ours")
    show_table("One recorded crawl under several rules", headings, rows)
    for one in standings[1:]:
        if one.better_in:
            say(f"{one.name} is better than ours in: {', '.join(one.better_in).replace('_', ' ')}.")
