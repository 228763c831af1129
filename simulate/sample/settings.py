"""Settings of a sample and of a simulation: frozen, checked when they are made, each default in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crawltwin.model import SCALAR_MEASURES, Scenario, checks
from crawltwin.model.errors import Faults, InputError
from crawltwin.model.settings import setting
from crawltwin.work import workers as work
from simulate.engine.length import BINS, Length, Start, bins_for
from simulate.engine.streams import check_seed

Method = Literal["jackknife", "delta"]
ENGINES: tuple[str, ...] = ("compiled", "simpy")
PAGES = 20_000
"""Pages of a replication where neither pages nor time are given."""


def check_engine(engine: str) -> str:
    """One of the engines' names."""
    if engine not in ENGINES:
        raise InputError(f"engine must be one of {', '.join(ENGINES)}; got {engine!r}")
    return engine


def _levels(text: str) -> tuple[float, ...]:
    """Probabilities that were typed: P0,P1,..."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--start must be numbers separated by commas; got {text!r}") from None


@dataclass(frozen=True, kw_only=True)
class SampleSettings:
    """Replications of one scenario: how many, how long, from which start; each field carries its help.

    `first` is the number of the first replication: samples of one seed that share no number are independent. `bins`
    are those that each run is cut into: 250 where nothing is said, fewer where there are very many levels. `records`
    keeps one record per page, and memory then grows with the run.

    Examples
    --------
    >>> SampleSettings(pages=5000).replications
    20
    """

    pages: int | None = setting(
        None, help="pages delivered in each replication", metavar="N", group="length", default_words=f"{PAGES:,}"
    )
    time: float | None = setting(None, help="simulated time of each replication", metavar="T", group="length")
    replications: int = setting(20, help="independent runs; 1: one run cut into batches", metavar="N", group="length")
    first: int = 0
    seed: int = setting(1, help="seed of all random numbers", metavar="N", group="how")
    engine: str = setting("compiled", help="compiled, or simpy, the reference", metavar="NAME", group="how")
    warmup: float | None = setting(
        None, help="time left out at the start", metavar="T", group="how", default_words="found by MSER-5"
    )
    start: Sequence[float] | None = setting(
        None, help="probabilities of the levels at time 0", metavar="P0,P1,...", group="how", read=_levels,
        default_words="empty",
    )  # fmt: skip
    bins: int | None = None
    records: bool = False
    workers: int | None = setting(
        None, help="processes", metavar="N", group="how", default_words="all cores where it pays"
    )
    cluster: str | None = setting(
        None, help="a running Dask scheduler, such as tcp://host:8786", metavar="ADDRESS", group="how"
    )

    def __post_init__(self) -> None:
        faults = Faults()
        self._check(faults)
        faults.raise_if_any()
        if self.start is not None:
            object.__setattr__(self, "start", tuple(float(p) for p in self.start))

    def _check(self, faults: Faults) -> None:
        with faults.under(""):
            check_seed(self.seed)
        with faults.under(""):
            check_engine(self.engine)
        with faults.under(""):
            work.check_workers(self.workers)
        checks.integer(self.replications, "replications", faults, at_least=1, at_most=1_000_000)
        checks.integer(self.first, "first", faults, at_least=0)
        if self.warmup is not None:
            checks.number(self.warmup, "warmup", faults, at_least=0)
        with faults.under(""):
            Start.checked(self.start)
        with faults.under(""):
            self._length(BINS)

    @property
    def fixed_length(self) -> bool:
        """Whether the length of a replication was given."""
        return self.pages is not None or self.time is not None

    def _length(self, bins: int) -> Length:
        pages = self.pages if self.fixed_length else PAGES
        return Length(time=self.time, pages=pages, bins=bins if self.bins is None else self.bins)

    def length_for(self, scenario: Scenario) -> Length:
        """The length of each replication of a scenario, and its bins."""
        return self._length(bins_for(scenario.top_level + 1))


@dataclass(frozen=True, kw_only=True)
class SimulationSettings(SampleSettings):
    """A sample, what is told of it, and how precise it must be; `method` is that of the standard errors of ratios.

    Examples
    --------
    >>> SimulationSettings(precision=0.01).budget
    60.0
    """

    precision: float | None = setting(
        None, help="run until every relative half-width is at most this, say 0.01", metavar="E", group="length"
    )
    measures: Sequence[str] = setting(
        (), help="what the precision is about", option="--measure", metavar="NAME", group="length", read=str,
        repeat=True, default_words="every measure",
    )  # fmt: skip
    budget: float = setting(60.0, help="seconds after which --precision gives up", metavar="S", group="length")
    confidence: float = setting(0.95, help="of the intervals", metavar="P", group="how")
    method: Method = "jackknife"
    quantiles: Sequence[float] = (0.5, 0.9, 0.95, 0.99)

    def _check(self, faults: Faults) -> None:
        super()._check(faults)
        if self.precision is not None:
            checks.number(
                self.precision, "precision", faults, above=0,
                way_out="It is a relative half-width: 0.01 asks for intervals of one percent to each side.",
            )  # fmt: skip
            if self.replications == 1:
                faults.add("replications", "replications must be at least 2; got 1", "A precision needs several runs.")
        checks.number(self.budget, "budget", faults, above=0, way_out="It is in seconds.")
        checks.number(self.confidence, "confidence", faults, above=0)
        if isinstance(self.confidence, int | float) and self.confidence >= 1:
            faults.add("confidence", f"confidence must be below 1; got {self.confidence!r}", "0.95 is usual.")
        if self.method not in ("jackknife", "delta"):
            faults.add("method", f"method must be jackknife or delta; got {self.method!r}")
        for p in self.quantiles:
            checks.number(p, "quantiles", faults, above=0, at_most=1 - 1e-9)
        for name in self.measures:
            if name not in SCALAR_MEASURES:
                faults.add("measures", f"measures must be names among {', '.join(SCALAR_MEASURES)}; got {name!r}")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "measures", tuple(self.measures))
        object.__setattr__(self, "quantiles", tuple(self.quantiles))

    @property
    def aims(self) -> tuple[str, ...]:
        """The measures that the precision is about."""
        return tuple(self.measures) or SCALAR_MEASURES
