"""What people see of a sweep: one row per point, with the best policy or the measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawltwin.cli.output import number, say, show_table

if TYPE_CHECKING:
    from crawltwin.plan.what_if.sweeps import Sweep

SHOWN = 60
"""Rows that are printed for people; all of them go to --out."""
HEADINGS = {
    "profit_percent": "R, %",
    "loss_probability": "lost",
    "obsolescence_probability": "obsolete",
    "starvation_probability": "idle",
    "mean_sojourn_served": "response",
}


def show_sweep(found: Sweep) -> None:
    """The first points of the grid that were solved."""
    say(found.scenario.title or "scenario", style="bold")
    solved = found.frame[found.frame["error"].isna()]
    if solved.empty:
        say("no point was solved")
        return
    frame = solved.head(SHOWN)
    optimised = frame["policy"].notna().any()
    names = [axis.name for axis in found.axes]
    if optimised:
        names += ["policy", "cost", *(str(name) for name in frame if str(name).startswith("cost_")), "profit_percent"]
    else:
        names += ["loss_probability", "obsolescence_probability", "starvation_probability", "mean_sojourn_served"]
    rows = [[_cell(value) for value in row] for row in frame[names].itertuples(index=False)]
    show_table("", [_heading(str(name)) for name in names], rows, keys=len(found.axes))
    if len(solved) > SHOWN:
        say(f"{len(solved) - SHOWN:,} more points are not shown; --out FILE has all.")
    if optimised:
        words = "policy 3,1@2: 3 robots up to 2 pages in the system, 1 above. C_r: cost of r robots always."
        say(words, style="dim")


def _heading(name: str) -> str:
    if name == "policy":
        return name
    fixed = name.startswith("cost_") and name[5:].isdigit()
    return f">C_{name[5:]}" if fixed else f">{HEADINGS.get(name, name)}"


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return "-"
    return str(value) if isinstance(value, int) else number(float(value), 5)
