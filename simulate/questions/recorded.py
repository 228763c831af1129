"""Recorded batches through the same buffer, policy and obsolescence: what would have happened.

A trace holds the moments and sizes of batches, perhaps the robot of each batch, perhaps the content size of each page.
Content sizes over a processing rate are indexing times; without them indexing times are drawn from the scenario.

**Thinning.** A trace was recorded with N robots; a policy may run fewer. Where the trace names the robot of each batch,
a batch is delivered when its robot is among the active ones (robot l when at least l are active). Where it does not,
each batch has one coin, drawn in the order of the trace and the same for every policy: with r active robots it is
delivered when its coin is below r/N. So what r robots deliver, r + 1 deliver too, and two policies on one seed see the
same coins. A policy that runs more robots than were recorded is refused: nobody knows what they would have brought. So
is one that changes the number of robots that finish their fetch: a trace does not tell which fetches were in flight.

**Intervals.** There is one trace, so intervals rest on 20 batches of time: they say how far the measures of another
stretch of the same crawl may be. Several replications redraw coins, obsolescence and drawn indexing times on the same
trace and are averaged inside each batch.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from crawltwin.model import InputError, Scenario, checks
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Faults
from crawltwin.model.scenario import takes_scenario
from simulate.engine.length import Length, bins_for
from simulate.engine.run_plan import Trace
from simulate.engine.tables import IntArray
from simulate.sample.collection import BATCHES_PER_RUN
from simulate.sample.draws import draw
from simulate.sample.estimates import Sample
from simulate.sample.replications import Job
from simulate.sample.result import SimulationResult
from simulate.sample.settings import SimulationSettings
from simulate.sample.simulation import Request, run_job

WAY_OUT = (
    "A crawler's log is no trace: crawltwin fit LOG and crawltwin plan LOG read it and replay it themselves, and "
    "docs/simulation.md shows how to make a trace of it"
)


@dataclass(frozen=True, eq=False)
class RecordedTrace:
    """Batches as they were recorded.

    Parameters
    ----------
    times : array_like
        Moments of the batches, in rising order (equal moments are allowed).
    sizes : array_like, optional
        Pages in each batch; 1 where nothing is said.
    robots : array_like, optional
        The robot of each batch, counted from 1.
    content : array_like, optional
        Content size of each page, in the order of delivery; as many as there are pages.

    Examples
    --------
    >>> RecordedTrace([0.0, 1.5, 2.0], [1, 3, 2]).pages
    6
    """

    times: FloatArray
    sizes: IntArray
    robots: IntArray | None
    content: FloatArray | None

    def __init__(
        self, times: npt.ArrayLike, sizes: Any = None, robots: Any = None, content: npt.ArrayLike | None = None
    ) -> None:
        faults = Faults()
        moments = _numbers(times, "times", faults)
        count = 0 if moments is None else moments.size
        if moments is not None:
            for index in np.flatnonzero(np.diff(moments) < 0)[:3]:
                faults.add(
                    f"times[{index + 1}]",
                    f"times must be in rising order; got {moments[index + 1]:g} after {moments[index]:g}",
                    "Sort the trace by time.",
                )
            for index in np.flatnonzero(moments < 0)[:3]:
                faults.add(f"times[{index}]", f"times must be not negative; got {moments[index]:g}")
            if not faults and not moments[-1] > moments[0]:
                faults.add("times", f"times must span some time; got {count} batches at one moment")
        pages = _whole(sizes, "sizes", faults) if sizes is not None else np.ones(count, np.int64)
        marks = _whole(robots, "robots", faults) if robots is not None else None
        for name, column in (("sizes", pages), ("robots", marks)):
            if column is not None and moments is not None and column.size != count:
                faults.add(name, f"{name} must be one for each of the {count} batches; got {column.size}")
        sizes_known = pages is not None and not faults
        bytes_of = None
        if content is not None:
            bytes_of = _numbers(content, "content", faults)
            if bytes_of is not None and (bytes_of < 0).any():
                where = int(np.flatnonzero(bytes_of < 0)[0])
                faults.add(f"content[{where}]", f"content must be not negative; got {bytes_of[where]:g}")
            if bytes_of is not None and sizes_known and pages is not None and bytes_of.size != pages.sum():
                faults.add("content", f"content must be one for each of the {pages.sum()} pages; got {bytes_of.size}")
        faults.raise_if_any()
        for name, value in (("times", moments), ("sizes", pages), ("robots", marks), ("content", bytes_of)):
            if value is not None:
                value = value.copy()
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def pages(self) -> int:
        """Pages in all batches."""
        return int(self.sizes.sum())

    @classmethod
    def from_pages(cls, times: npt.ArrayLike, content: npt.ArrayLike | None = None, gap: float = 0.0) -> RecordedTrace:
        """Batches of single pages: pages not more than `gap` after the one before belong to its batch."""
        faults = Faults()
        moments = _numbers(times, "times", faults)
        checks.number(gap, "gap", faults, at_least=0)
        faults.raise_if_any()
        assert moments is not None
        if (np.diff(moments) < 0).any():
            return cls(moments)  # which says where
        first = np.concatenate([[True], np.diff(moments) > gap])
        begins = np.flatnonzero(first)
        return cls(moments[first], np.diff(np.append(begins, moments.size)), content=content)

    @classmethod
    def read(cls, path: str | Path) -> RecordedTrace:
        """A CSV or Parquet file of batches (`time`, `pages`, `robot`) or of pages (`time`, `bytes`, `batch`).

        `time` is needed, the rest is optional. With `bytes` or `batch` a row is a page: rows of one `batch`, or of one
        moment where there is no such column, are delivered together; `pages` has no place there.
        """
        table = _table(Path(path))
        if "time" not in table:
            found = textwrap.shorten(", ".join(map(str, table.columns)), 120, placeholder=" ...")
            raise InputError(f"the trace must have a column time; got {found} in {str(path)!r}. {WAY_OUT}")
        by_page = [name for name in ("bytes", "batch") if name in table]
        if not by_page:
            return cls(table["time"], table.get("pages"), table.get("robot"))
        if "pages" in table:
            raise InputError(
                f"the trace must have rows of batches or rows of pages; got a column pages beside {by_page[0]} in "
                f"{str(path)!r}. Leave out pages where each row is one page"
            )
        key = table["batch"] if "batch" in table else table["time"]
        first = (key != key.shift()).to_numpy()
        robots = table["robot"][first] if "robot" in table else None
        sizes = np.diff(np.append(np.flatnonzero(first), len(table)))
        return cls(table["time"][first], sizes, robots, table.get("bytes"))


@takes_scenario
def replay(
    scenario: Scenario,
    trace: RecordedTrace,
    *,
    processing_rate: float | None = None,
    recorded_robots: int | None = None,
    **options: Any,
) -> SimulationResult:
    """Send a trace through the scenario's buffer, policy, indexer and obsolescence; its own arrivals are not used.

    Parameters
    ----------
    processing_rate : float, optional
        Content per unit of time: indexing times are content sizes over it. Where it is missing they are drawn.
    recorded_robots : int, optional
        Robots that made the trace; the largest number of the policy where nothing is said.
    **options
        Fields of `SimulationSettings`: seed, engine, confidence, quantiles, records; `replications` are redraws of what
        is random, 1 by default; `warmup` is the time to leave out at the beginning, 0 by default.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> trace = RecordedTrace(range(0, 2000, 2))
    >>> result = replay(examples.load("mm1k"), trace)
    >>> round(result["arrival_rate"].value, 2)
    0.5
    """
    return run_job(
        replay_request(scenario, trace, processing_rate=processing_rate, recorded_robots=recorded_robots, **options)
    )


@takes_scenario
def draw_replay(scenario: Scenario, trace: RecordedTrace, **options: Any) -> Sample:
    """The sample behind `replay`, with the same options: its units are 20 batches of time."""
    request = replay_request(scenario, trace, **options)
    return draw(request.job, request.settings, by_batches=True)


def replay_request(
    scenario: Scenario,
    trace: RecordedTrace,
    *,
    processing_rate: float | None = None,
    recorded_robots: int | None = None,
    **options: Any,
) -> Request:
    """What `replay` runs, checked as a whole."""
    faults = Faults()
    used = max(scenario.policy_in_force.robots_used)
    work: FloatArray = np.zeros(0)
    if processing_rate is not None:
        rate = checks.number(processing_rate, "processing_rate", faults, above=0)
        if trace.content is None:
            faults.add(
                "processing_rate", "processing_rate must come with content sizes; got a trace without them",
                "Leave it out to draw indexing times from the scenario.",
            )  # fmt: skip
        elif rate is not None:
            work = np.asarray(trace.content / rate, np.float64)
    for name in ("pages", "time", "precision", "start", "bins"):
        if options.pop(name, None) is not None:
            faults.add(name, f"{name} must be left out with a trace; it has the length and the start that it has")
    if options.get("replications", 1) is None:
        del options["replications"]
    settings = SimulationSettings()
    with faults.under(""):
        settings = SimulationSettings(**({"replications": 1, "warmup": 0.0} | options))
    marks, most, known = np.zeros(trace.times.size, np.int64), used, None
    if trace.robots is not None:
        marks, most = trace.robots - 1, int(trace.robots.max())
    else:
        if recorded_robots is not None:
            most = checks.integer(recorded_robots, "recorded_robots", faults, at_least=1) or used
        known = most
    if used > most:
        faults.add(
            "policy", f"policy must use at most the {most} robots that made the trace; got {used}",
            "Nobody knows what more robots would have brought.",
        )  # fmt: skip
    if scenario.arrivals.kind == "fetching" and len(set(scenario.policy_in_force.robots_used)) > 1:
        faults.add(
            "policy", f"policy must keep one number of robots where robots finish their fetch; got {used} and others",
            "A trace does not tell which fetches were in flight: use `crawltwin simulate` without it.",
        )  # fmt: skip
    faults.raise_if_any()
    times = trace.times - trace.times[0]
    # The last batch is followed by an average gap, so that n batches make n gaps.
    span = float(times[-1]) * times.size / (times.size - 1)
    levels = scenario.capacity + (int(trace.sizes.max()) if scenario.admission == "overflow" else 1)
    job = Job(
        scenario=scenario,
        # As many bins in each of the batches that intervals rest on, so that nothing of the trace is left out.
        length=Length(time=span, bins=bins_for(levels) // BATCHES_PER_RUN * BATCHES_PER_RUN),
        seed=settings.seed,
        engine=settings.engine,
        recording=settings.records,
        trace=Trace(times, trace.sizes.astype(np.int64), marks.astype(np.int64), work),
        recorded_robots=known,
    )
    # Small work, and the trace would have to be sent to every worker.
    return Request(job, replace(settings, workers=1, cluster=None), by_batches=True)


def _numbers(values: Any, name: str, faults: Faults) -> FloatArray | None:
    """A list of finite numbers; NaN and infinity are refused with their place."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        faults.add(name, f"{name} must be numbers; got {checks.show(values)}")
        return None
    return checks.vector(array, name, faults)


def _whole(values: Any, name: str, faults: Faults) -> IntArray | None:
    array = _numbers(values, name, faults)
    if array is None:
        return None
    for index in np.flatnonzero((array < 1) | (array != np.floor(array)))[:3]:
        faults.add(f"{name}[{index}]", f"{name} must be whole numbers, at least 1; got {array[index]:g}")
    return array.astype(np.int64)


def _table(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise InputError(f"the trace must be a file; got {str(path)!r}, which is not there")
    try:
        return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except (ValueError, OSError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(
            f"the trace must be a CSV or Parquet table; got {str(path)!r}: {str(error).strip()}. {WAY_OUT}"
        ) from None
