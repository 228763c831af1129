"""`crawltwin sweep`: measures and best policies over a grid."""

from __future__ import annotations

import argparse

from crawltwin.cli.options import add_json, add_policy, add_scenario, add_workers, read_scenario
from crawltwin.cli.output import complain, save, tell
from crawltwin.cli.terminal.progress_line import progress

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

REASONS = 5
"""Points that were not solved whose reasons are printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_scenario(parser)
    add_policy(parser)
    parser.add_argument(
        "--vary", action="append", required=True, metavar="NAME=RANGE", help="what to vary; several make a grid"
    )
    parser.add_argument("--out", metavar="FILE", help="one row per point, by its ending: .parquet, .csv or .json")
    parser.add_argument("--picture", metavar="FILE.svg", help="draw where which policy is best (one or two quantities)")
    add_workers(parser)
    parser.add_argument("--resume", metavar="DIR", help="keep finished points there, and go on from them")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Sweep and show."""
    from crawltwin.model.errors import Faults, InputError
    from crawltwin.plan.what_if.axes import Axis, read_axis
    from crawltwin.plan.what_if.sweeps import check_ending, sweep
    from crawltwin.work.store import Store

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
    scenario = read_scenario(options.scenario, options.policy)
    if options.picture and scenario.cost is None:
        raise InputError("--picture must have cost weights to tell the best policy; got none. Add [cost]")
    store = Store(options.resume) if options.resume else None
    try:
        with progress("sweeping", options) as update:
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
        from crawltwin.pages.regions import sweep_picture

        save(options.picture, sweep_picture(found, "regions").svg)

    def show() -> None:
        from crawltwin.cli.tables.sweep import show_sweep

        show_sweep(found)

    tell(options, found.to_json(), show)
    for row in found.failed[:REASONS]:
        at = ", ".join(f"{name} {value}" for name, value in row["point"].items())
        complain([f"at {at}: {row['error']}"])
    if len(found.failed) > REASONS:
        complain(
            [f"{len(found.failed) - REASONS:,} more points were not solved; --out FILE and --json have the reasons"]
        )
    return 3 if found.failed else 0
