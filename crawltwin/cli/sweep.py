"""`crawltwin sweep`: measures and best policies over a grid."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from crawltwin.cli import arguments
from crawltwin.cli.output import complain, console, number, print_json, progress, table

if TYPE_CHECKING:
    from crawltwin.plan.sweep import Sweep

EPILOG = """examples:
  crawltwin sweep paper.toml --vary capacity=1:100 --out table2.csv              the paper's Table 2
  crawltwin sweep paper.toml --vary service.scale=0.1,0.5,1,2,3,5,10,15          its Table 3
  crawltwin sweep paper.toml --vary obsolescence.scale=0.01:30 --out stale.parquet
  crawltwin sweep paper.toml --vary capacity=1:50 --vary service.scale=0.1:15:20log --resume sweep.d --out grid.parquet
  crawltwin sweep paper.toml --vary capacity=2:30 --vary cost.loss=1:50 --picture regions.svg

quantities: capacity, robots, service.scale, service.mean, arrivals.scale, obsolescence.scale, obsolescence.mean,
  admission, cost.loss, cost.obsolescence, cost.response, cost.robots, cost.starvation
ranges: a:b (whole numbers one by one; ten reals, evenly spaced in ratio), a:b:step, a:b:20log, a:b:20lin, a,b,c

With --resume DIR finished points are kept there: after Ctrl-C or a crash the same command goes on.
"""

SHOWN = 60
"""Rows that are printed for people; all of them go to --out."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    arguments.add_scenario(parser)
    arguments.add_policy(parser)
    parser.add_argument(
        "--vary", action="append", required=True, metavar="NAME=RANGE", help="what to vary; several make a grid"
    )
    parser.add_argument("--out", metavar="FILE", help="one row a point, by its ending: .parquet, .csv or .json")
    parser.add_argument("--picture", metavar="FILE.svg", help="draw where which policy is best (one or two quantities)")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: every core)")
    parser.add_argument("--cluster", metavar="ADDRESS", help="a running Dask scheduler, such as tcp://host:8786")
    parser.add_argument("--resume", metavar="DIR", help="keep finished points there, and go on from them")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, nothing else")


def run(options: argparse.Namespace) -> int:
    """Sweep and show."""
    from crawltwin.model.errors import Faults, InputError
    from crawltwin.plan.sweep import check_ending, sweep
    from crawltwin.plan.vary import Axis, read_axis
    from crawltwin.store import Store

    faults = Faults()
    axes: list[Axis] = []
    for text in options.vary:
        with faults.under(""):
            axes.append(read_axis(text))
    if options.out:
        with faults.under(""):
            check_ending(options.out)
    if options.picture and not options.picture.endswith(".svg"):
        faults.add("--picture", f"--picture must end in .svg; got {options.picture!r}")
    if options.picture and len(options.vary) > 2:
        faults.add("--picture", f"--picture must have one or two quantities to draw; got {len(options.vary)}")
    faults.raise_if_any()
    scenario = arguments.read_scenario(options)
    if options.picture and scenario.cost is None:
        raise InputError("--picture must have cost weights to tell the best policy; got none. Add [cost]")
    store = Store(options.resume) if options.resume else None
    try:
        with progress("sweeping", quiet=options.json) as update:
            found = sweep(
                scenario, axes, workers=options.workers, cluster=options.cluster, store=store, progress=update
            )
    except KeyboardInterrupt:
        kept = f"finished points are in {options.resume}: the same command goes on" if store else "nothing was kept"
        complain([f"interrupted; {kept}"])
        return 130
    if options.out:
        found.write(options.out)
        complain([f"wrote {len(found.rows):,} points to {options.out}"])
    if options.picture:
        from crawltwin.cli.output import save
        from crawltwin.plan.regions import regions

        save(options.picture, regions(found, "regions").svg)
    if options.json:
        print_json(found.to_json())
    else:
        _show(found)
    for row in found.failed[:5]:
        at = ", ".join(f"{name} {value}" for name, value in row["point"].items())
        complain([f"at {at}: {row['error']}"])
    return 3 if found.failed else 0


def _show(found: Sweep) -> None:
    screen = console()
    screen.print(found.scenario.title or "scenario", style="bold", markup=False)
    frame = found.frame.head(SHOWN)
    optimised = frame["policy"].notna().any()
    names = [axis.name for axis in found.axes]
    if optimised:
        names += ["policy", "cost", *(str(name) for name in frame if str(name).startswith("cost_")), "profit_percent"]
    else:
        names += ["loss_probability", "obsolescence_probability", "starvation_probability", "mean_sojourn_served"]
    columns = [(_heading(str(name)), "left" if name == "policy" else "right") for name in names]
    rows = [[_cell(value) for value in row] for row in frame[names].itertuples(index=False)]
    screen.print(table("", columns, rows))
    if len(found.rows) > SHOWN:
        screen.print(f"{len(found.rows) - SHOWN:,} more points are not shown; --out FILE has all.", markup=False)
    if optimised:
        screen.print(
            "policy 3,1@2: 3 robots up to 2 pages in the system, 1 above. C_r: cost of r robots always.",
            style="dim",
            markup=False,
        )


def _heading(name: str) -> str:
    shown = {
        "profit_percent": "R, %",
        "loss_probability": "lost",
        "obsolescence_probability": "obsolete",
        "starvation_probability": "idle",
        "mean_sojourn_served": "response",
    }
    return f"C_{name[5:]}" if name.startswith("cost_") and name[5:].isdigit() else shown.get(name, name)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return "-"
    return str(value) if isinstance(value, int) else number(float(value), 5)
