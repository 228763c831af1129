"""A stretch of a simulated run as a picture: level, active robots, pages lost and obsolete."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawltwin.report.blocks import Figure
from crawltwin.report.drawing import COLOURS, FAINT, draw, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def timeline_figure(events: pd.DataFrame, capacity: int, end: float, name: str = "timeline") -> Figure:
    """The picture of what `simulate.timeline` returns.

    The level is a staircase, shaded by the number of active robots (the darker, the more); pages lost stand as crosses
    above the capacity, obsolete ones as circles on the staircase. Cost: some milliseconds for a hundred events.
    """
    times = np.append(events["time"].to_numpy(), end)
    level, robots = events["level"].to_numpy(), events["robots"].to_numpy()
    lost, obsolete = events[events["event"] == "lost"], events[events["event"] == "obsolete"]
    numbers = sorted(set(robots.tolist()))
    turns = np.concatenate([[0], np.flatnonzero(np.diff(robots)) + 1])
    stretches = list(zip(times[turns], np.append(times[turns[1:]], end), robots[turns]))

    def paint(axes: Axes) -> None:
        top = max(capacity, int(level.max())) + 1.4
        for number in numbers:
            held = [(begin, stop - begin) for begin, stop, r in stretches if r == number]
            axes.broken_barh(
                held,
                (0, top),
                linewidth=0,
                color=COLOURS[0],
                alpha=0.06 + 0.24 * numbers.index(number) / max(1, len(numbers) - 1),
                label=f"{number} robot{'s' if number > 1 else ''}",
            )
        axes.step(times, np.append(level, level[-1]), where="post", color=COLOURS[0], linewidth=1.4, marker="")
        axes.axhline(capacity, color=FAINT, linewidth=1, linestyle="--", marker="")
        axes.plot(
            lost["time"], np.full(len(lost), capacity + 0.5), linestyle="", marker="x", color=COLOURS[1], label="lost"
        )
        axes.plot(
            obsolete["time"], obsolete["level"], linestyle="", marker="o", fillstyle="none", color=COLOURS[2],
            label="obsolete",
        )  # fmt: skip
        axes.set_xlim(times[0], end)
        axes.set_ylim(0, top)
        axes.grid(visible=False)
        axes.set_xlabel("time")
        axes.set_ylabel("pages in the system")
        legend_above(axes)

    gone = int(lost["pages"].sum())
    words = (
        f"From {times[0]:g} to {end:g} the system holds {int(level.min())} to {int(level.max())} pages; {gone} pages "
        f"are lost and {len(obsolete)} become obsolete; active robots: " + ", ".join(map(str, numbers)) + "."
    )
    caption = (
        f"Pages in the system over time (capacity {capacity}, dashed), shaded by the number of active robots; "
        "crosses: batches of which pages were lost; circles: pages that became obsolete."
    )
    data = {name: events[name].tolist() for name in events.columns}
    return draw(name, paint, caption, words, height=3.4, data=data)
