"""A stretch of one run, event by event: level, active robots and losses, which is how people understand a queue."""

from __future__ import annotations

import pandas as pd

from crawltwin.model import Scenario, checks
from crawltwin.model.errors import Faults
from crawltwin.model.scenario import takes_scenario
from simulate.engine import reference
from simulate.engine.length import Length, Start
from simulate.engine.run_plan import draw_opening, make_plan, opening
from simulate.engine.streams import check_seed, open_streams


@takes_scenario
def timeline(scenario: Scenario, *, begin: float = 0.0, end: float, seed: int = 1) -> pd.DataFrame:
    """Events between two moments of a run that starts empty, one row each.

    Columns: `time`, `event` (`delivered`, `lost`, `obsolete`, `served`; `switched` when a controller that polls changes
    the number of robots), `pages` that it concerns, `level` and `robots` wanted after it. A first row, event `start`,
    holds the state at `begin`. Cost: the reference engine up to `end`.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> timeline(examples.load("mm1k"), end=5.0, seed=2)["event"].iloc[0]
    'start'
    """
    faults = Faults()
    first = checks.number(begin, "begin", faults, at_least=0)
    checks.number(end, "end", faults, above=0 if first is None else first, way_out="It is a moment after the begin.")
    with faults.under(""):
        check_seed(seed)
    faults.raise_if_any()
    plan = make_plan(scenario, Length(time=end, bins=1))
    streams = open_streams(seed, 0)
    state = (0, int(plan.robots[plan.first_mode]))
    rows: list[tuple[float, str, int, int, int]] = []

    def watch(moment: float, event: str, pages: int, level: int, robots: int) -> None:
        nonlocal state
        if moment < begin:
            state = level, robots
        else:
            rows.append((moment, event, pages, level, robots))

    reference.run(plan, streams, *draw_opening(opening(scenario, plan), Start(), streams), watch=watch)
    return pd.DataFrame([(begin, "start", 0, *state), *rows], columns=["time", "event", "pages", "level", "robots"])
