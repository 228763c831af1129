"""Choices of the user for a fit, each with its default and its words of help; nothing heavy is imported here."""

from __future__ import annotations

import math
from dataclasses import dataclass

from crawltwin.model.errors import Faults
from crawltwin.model.settings import read_time, setting
from fitting.robots.robots_of import RobotsOf

FAMILIES = ("poisson", "renewal", "map2", "mmpp2", "map", "erlang")
"""Families of rival models, from the simplest on."""
SERVICE_METHODS = ("moments", "two-moments", "em", "general")
"""Ways to fit content sizes: three moments, two, hyper-Erlang by EM, a general phase type by EM."""
CRITERIA = ("bic", "aic", "held-out")
THIRD_MOMENTS = ("trace", "likelihood")
ARRIVALS = ("stream", "fetching", "independent", "marked", "auto")
"""A stream, robots that fetch, named robots (independent, or marks of one stream), or what the log tells."""
TICKS = ("judge", "spread", "batch")
"""Pages of one clock tick: judged by their counts, spread over the tick, or one batch."""
BATCH_LAWS = ("test", "independent", "by-phase")
MAX_MAP_ORDER = 6

_CLEANING, _FITTING, _SCENARIO = "cleaning and fitting", "cleaning and fitting", "scenario"


def read_period(text: str) -> float | None:
    """Seconds of a period from words such as ``1d``; None for ``none``.

    Examples
    --------
    >>> read_period("7d"), read_period("none")
    (604800.0, None)
    """
    return None if str(text).strip() == "none" else read_time(text)


@dataclass(frozen=True)
class FitOptions:
    """Choices of the user; every one has a default that needs nothing but the log, and words of help in its field.

    `methods` are the families of rivals that are fitted; `model` takes the best rival of one of them instead of letting
    the criterion decide. `repetitions` and `refits` are the resampled traces for the intervals of the numbers of the
    trace and of the model.
    """

    pause: float | None = setting(
        None, help="longer gaps are pauses", metavar="SECONDS", default_words="found", group=_CLEANING
    )
    pause_quantile: float | None = setting(
        None, help="gaps above this quantile are pauses", metavar="P", group=_CLEANING
    )
    stretch: str | int = setting(
        "all", help="all, longest, or a number from the list", metavar="WHICH", group=_CLEANING, read=str
    )
    batch_gap: float | None = setting(
        None, help="shorter gaps join pages", metavar="SECONDS", default_words="found", group=_CLEANING
    )
    ticks: str = setting(
        "judge",
        help="pages of one clock tick: judged by their counts, spread over it, or one batch",
        choices=TICKS,
        group=_CLEANING,
    )
    methods: tuple[str, ...] = FAMILIES
    model: str | None = setting(
        None, help="take this family; map2 is the founding paper's procedure", choices=FAMILIES, group=_FITTING
    )
    criterion: str = setting("bic", help="how to choose", choices=CRITERIA, group=_FITTING)
    max_branches: int = setting(5, help="Erlang branches at most", metavar="N", group=_FITTING)
    max_stages: int = setting(10, help="stages of a branch at most", metavar="N", group=_FITTING)
    max_phases: int = setting(40, help="phases of the chosen model at most", metavar="N", group=_FITTING)
    map_order: int = setting(2, help="order of the general MAP", metavar="N", group=_FITTING)
    third_moment: str = setting("trace", help="of the MAP(2)", choices=THIRD_MOMENTS, group=_FITTING)
    batch_law: str = setting(
        "test",
        help="batch sizes by phase: if the test says so, never, always",
        choices=BATCH_LAWS,
        group=_FITTING,
    )
    service: str = setting("moments", help="how content sizes are fitted", choices=SERVICE_METHODS, group=_SCENARIO)
    period: float | None = setting(
        86400.0,
        help="a cycle of the rate to look for, such as 1d, 7d or 6h; none: look for none",
        metavar="TIME",
        group=_FITTING,
        read=read_period,
        default_words="1d",
    )
    robots_of: RobotsOf | None = setting(
        None,
        help="robots that ran for each of several logs",
        metavar="FILE=N,...",
        group=_FITTING,
        read=RobotsOf.read,
    )
    repetitions: int = 200
    refits: int = 20
    seed: int = setting(0, help="seed of everything random")

    def __post_init__(self) -> None:
        faults = Faults()
        choices = (
            ("criterion", self.criterion, CRITERIA),
            ("third_moment", self.third_moment, THIRD_MOMENTS),
            ("batch_law", self.batch_law, BATCH_LAWS),
            ("service", self.service, SERVICE_METHODS),
            ("ticks", self.ticks, TICKS),
            *(("methods", method, FAMILIES) for method in self.methods),
            *((("model", self.model, self.methods),) if self.model is not None else ()),
        )
        for name, value, allowed in choices:
            if value not in allowed:
                faults.add(name, f"{name} must be one of {', '.join(allowed)}; got {value!r}")
        for name in ("max_branches", "max_stages", "max_phases", "map_order"):
            if getattr(self, name) < 1:
                faults.add(name, f"{name} must be at least 1; got {getattr(self, name)}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            faults.add("seed", f"seed must be a whole number, at least 0; got {self.seed!r}")
        if self.period is not None and not (math.isfinite(self.period) and self.period >= 60):
            faults.add("period", f"period must be a time of at least 60 s, or none; got {self.period!r}")
        if self.map_order > MAX_MAP_ORDER:
            faults.add("map_order", f"map_order must be at most {MAX_MAP_ORDER}; got {self.map_order}")
        faults.raise_if_any()


@dataclass(frozen=True)
class ScenarioOptions:
    """What a scenario needs beside a fit.

    Parameters
    ----------
    capacity : int
        Pages that the system holds.
    robots_in_log, robots : int
        Robots that ran while the log was written, and the most that a policy may use (those of the log by default).
    processing_rate, service_mean : float, optional
        Bytes indexed per second, or the mean service time in seconds.
    obsolescence_mean : float, optional
        Mean seconds until a waiting page is stale.
    arrivals : {"stream", "fetching", "independent", "marked", "auto"}
        What brings the pages, see `ARRIVALS`.
    """

    capacity: int = setting(20, help="pages in the system", metavar="K", group=_SCENARIO)
    robots_in_log: int = setting(1, help="robots that ran", option="--robots", metavar="N", group=_SCENARIO)
    robots: int | None = setting(
        None,
        help="robots that may run",
        option="--max-robots",
        metavar="N",
        group=_SCENARIO,
        default_words="those that ran",
    )
    processing_rate: float | None = setting(None, help="bytes indexed per second", metavar="BYTES", group=_SCENARIO)
    service_mean: float | None = setting(None, help="mean service time", metavar="SECONDS", group=_SCENARIO)
    obsolescence_mean: float | None = setting(
        None, help="mean time until a page is stale", metavar="SECONDS", group=_SCENARIO
    )
    arrivals: str = setting(
        "stream",
        help="a stream, robots that finish their fetch, robots that the log names, or what the log supports",
        choices=ARRIVALS,
        group=_SCENARIO,
    )

    def __post_init__(self) -> None:
        from crawltwin.model import checks

        faults = Faults()
        checks.integer(self.capacity, "capacity", faults, at_least=1, at_most=1_000_000)
        for name in ("processing_rate", "service_mean", "obsolescence_mean"):
            if getattr(self, name) is not None:
                checks.number(getattr(self, name), name, faults, above=0, at_least=1e-9, at_most=1e15)
        faults.raise_if_any()
