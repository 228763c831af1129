"""What people see of a reproduction: what differs from the print, claims, other authors, an earlier report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawltwin.cli.output import say, show_table

if TYPE_CHECKING:
    from validate.paper import Reproduction


def show_reproduction(found: Reproduction, differences: list[str] | None) -> None:
    """What differs from the print, then the counts; `differences` are those from an earlier report."""
    wrong = [item for item in found.findings if item.verdict != "reproduced"]
    rows = [(item.where, item.what, item.printed, item.ours, item.verdict, item.how) for item in wrong]
    show_table("what differs from the print", ("where", "what", "printed", "is", "verdict", "kind"), rows)
    failed = [claim for claim in found.claims if not claim.holds]
    say(*(f"Does not hold ({claim.place}): {claim.says} {claim.words}" for claim in failed))
    counts = ", ".join(f"{len(found.of(name))} {name}" for name in ("reproduced", "misprint", "not reproducible"))
    holding = f"{len(found.claims) - len(failed)} of {len(found.claims)} claims hold"
    agreed = sum(item.verdict == "reproduced" for item in found.others)
    say(
        f"{len(found.findings)} printed numbers: {counts}. {holding}.",
        f"Other authors' results: {agreed} of {len(found.others)} reproduced.",
        style="bold",
    )
    if found.simulated:
        same = sum(item.verdict == "equivalent" for item in found.simulated)
        say(f"Simulated rows: {same} of {len(found.simulated)} are equivalent to the solved ones.", style="bold")
    if differences is not None:
        say(*(f"differs: {line}" for line in differences))
        say("The earlier report differs." if differences else "The same as the earlier report.", style="bold")
