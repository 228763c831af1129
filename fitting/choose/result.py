"""What a fit returns: the trace's account, the rivals, the choice, its proof, and a scenario."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from crawltwin.model import BMAP, PhaseType, Scenario, ThresholdPolicy, exponential
from crawltwin.model.errors import InputError
from crawltwin.model.interval import Interval
from crawltwin.model.results.display import Drawn
from fitting.choose.candidates import Candidate
from fitting.choose.goodness import Goodness
from fitting.choose.plain_values import plain
from fitting.choose.service import as_service
from fitting.models.batch_laws import BatchTest
from fitting.models.gap_model import GapModel
from fitting.models.phase_type_em import PhFit
from fitting.readers import CountLog, RawLog
from fitting.robots.brought import Brought
from fitting.robots.learned import LearnedRobots
from fitting.robots.modes import LearnedModes
from fitting.robots.named import NamedRobots
from fitting.robots.rate_laws import RobotEvidence
from fitting.season.season import Season
from fitting.trace.batches import Batches
from fitting.trace.cleaning import Cleaning
from fitting.trace.segments import Segments
from fitting.trace.stationarity import Stationarity

if TYPE_CHECKING:
    import pandas as pd

ASSUMED_LOAD = 0.8
"""Share of its time that the indexer is busy, if nothing is known of its speed."""


@dataclass(frozen=True, eq=False, repr=False)
class FitResult(Drawn):
    """A log as a model.

    Pictures: ``plot()`` is the distribution of the gaps, trace and model; others are "correlations", "dispersion",
    "gaps" and "rate".

    Attributes
    ----------
    log : RawLog or CountLog
        What was read: deliveries, or counts per interval.
    cleaning, batches, stationarity
        What was cut, how pages were gathered, whether the rate holds.
    numbers : dict of Interval
        Numbers of the trace with bootstrap intervals.
    model_numbers : dict of Interval
        Numbers of the fitted process with intervals from refits to resampled traces.
    candidates : tuple of Candidate
        All rivals; `chosen` is one of them.
    process : BMAP
        The chosen process with batches, in seconds, for the crawler as it ran.
    sizes, obsolescence : PhFit or None
        Law of the content size in bytes, and of the time until a page has changed.
    goodness : Goodness
        Proof and verdict.
    robots : LearnedRobots or None
        What the durations of the fetches tell of the robots.
    named : NamedRobots or None
        The robots that the log names, as rivals of the stream.
    evidence : RobotEvidence
        What is known of other numbers of robots than those that wrote the log.
    modes : LearnedModes or None
        What each number of robots brings, where logs or a column tell of several.
    season : Season or None
        What is known of a period of the rate; None: none was looked for.
    evened : Segments or None
        The gaps that were fitted, where they are not those of the trace: on a clock on which the rate holds.
    regular : tuple of str
        That no small model is as regular as the trace, in words; empty where one may be.
    cannot_tell : tuple of str
        What counts per interval leave open; empty for a log of deliveries.
    warnings : tuple of str
        What the reader must know before using the model.
    """

    log: RawLog | CountLog
    cleaning: Cleaning
    batches: Batches
    stationarity: Stationarity
    numbers: dict[str, Interval]
    model_numbers: dict[str, Interval]
    block_length: float
    candidates: tuple[Candidate, ...]
    failed: tuple[str, ...]
    chosen: Candidate
    model: GapModel
    process: BMAP
    batch_test: BatchTest
    sensitivity: tuple[dict[str, float], ...]
    sizes: PhFit | None
    obsolescence: PhFit | None
    visits: tuple[int, int]
    goodness: Goodness
    warnings: tuple[str, ...]
    seed: int
    seconds: float = field(compare=False)
    robots: LearnedRobots | None = None
    named: NamedRobots | None = None
    evidence: RobotEvidence = field(default_factory=lambda: RobotEvidence(()))
    modes: LearnedModes | None = None
    season: Season | None = None
    evened: Segments | None = None
    regular: tuple[str, ...] = ()
    cannot_tell: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def segments(self) -> Segments:
        """The gaps that were fitted."""
        return self.batches.segments if self.evened is None else self.evened

    @property
    def paused_share(self) -> float:
        """Share of the time from the first page to the last that was cut as pauses."""
        return self.cleaning.paused_share

    def headline(self) -> str:
        """The chosen model, the rate of pages, the verdict."""
        rate = self.numbers["page_rate"]
        return (
            f"{self.chosen.name}, {self.process.phases} phases, {rate.value:.4g} pages per second "
            f"[{rate.low:.4g}, {rate.high:.4g}], {self.goodness.verdict} fit"
        )

    @property
    def robots_in_log(self) -> int | None:
        """The most robots that wrote the log, where logs or a column tell of several numbers."""
        return self.evidence.reference if self.modes is not None else None

    @property
    def counted(self) -> bool:
        """Whether counts per interval were fitted, and no single deliveries."""
        return isinstance(self.log, CountLog)

    def scenario(
        self,
        *,
        capacity: int = 20,
        robots_in_log: int = 1,
        robots: int | None = None,
        processing_rate: float | None = None,
        service_mean: float | None = None,
        obsolescence_mean: float | None = None,
        arrivals: str = "stream",
        title: str = "",
    ) -> Scenario:
        """A scenario that can be solved and simulated; time in seconds.

        Parameters
        ----------
        capacity : int
            Pages that the system holds.
        robots_in_log : int
            Robots that ran while the log was written; one robot brings that share of the pages, unless several
            numbers of robots were seen: then the arrivals are modes, one process for each number.
        robots : int, optional
            Most robots that a policy may use; those of the log by default.
        processing_rate : float, optional
            Bytes that are indexed per second: content sizes become service times.
        service_mean : float, optional
            Mean service time in seconds, with the form of the content sizes (or exponential without them). With
            neither, the service is as fast as makes the indexer busy for 80 % of its time.
        obsolescence_mean : float, optional
            Mean time until a page is obsolete, exponential, infinity for never; from revisits where the log has them,
            else never.
        arrivals : {"stream", "fetching", "independent", "marked", "auto"}
            A stream that is scaled with the number of robots; robots that finish their fetch, which need durations in
            the log (`robots_in_log` of 1 then means: as many as fetched at the same time); the robots that the log
            names, independent or as marks of one stream; or what the log supports (`brought.supported`).
        """
        robots_in_log = self.robots_in_log or robots_in_log
        _check_robots(robots_in_log, robots)
        brought, ran = self.brought.arrivals(arrivals, robots_in_log, robots)
        stale = self.obsolescence.distribution if self.obsolescence is not None else None
        if obsolescence_mean is not None:
            stale = None if obsolescence_mean == math.inf else exponential(obsolescence_mean)
        return Scenario(
            capacity=capacity,
            arrivals=brought,
            service=self.service(processing_rate, service_mean),
            obsolescence=stale,
            policy=ThresholdPolicy([ran], []),
            title=title or f"fitted to {self.log.format} log",
        )

    @property
    def brought(self) -> Brought:
        """What brings the pages, by every model that the log allows."""
        return Brought(self.process, self.modes, self.robots, self.named)

    def _robots(self) -> dict[str, Any] | None:
        if self.robots is None and self.named is None:
            return None
        fetches = {} if self.robots is None else self.robots.to_json()
        return fetches | {"named": None if self.named is None else plain(self.named.to_json())}

    def service(self, processing_rate: float | None = None, service_mean: float | None = None) -> PhaseType:
        """Service time in seconds; see `scenario`."""
        if processing_rate is not None and service_mean is not None:
            raise InputError.at("service", "processing rate and service mean must not both be given; got both")
        if self.sizes is None:
            if processing_rate is not None:
                raise InputError.at(
                    "processing_rate",
                    f"a processing rate needs content sizes; got a {self.log.format} log without them",
                    "Give the mean service time instead.",
                )
            return exponential(self._assumed_mean if service_mean is None else service_mean)
        law = self.sizes.distribution
        if processing_rate is not None:
            return as_service(law, processing_rate)
        wanted = self._assumed_mean if service_mean is None else service_mean
        if not (math.isfinite(wanted) and wanted > 0):
            raise InputError.at("service_mean", f"service mean must be a positive number of seconds; got {wanted!r}")
        return as_service(law, law.mean / wanted)

    @property
    def _assumed_mean(self) -> float:
        """Mean service time with which all robots keep the indexer busy for the assumed share of its time."""
        most = self.process if self.modes is None else self.modes.modes[self.evidence.reference].process
        return ASSUMED_LOAD / most.page_rate

    def to_frame(self) -> pd.DataFrame:
        """The rivals as a table, best BIC first; likelihoods are natural logarithms of densities per second."""
        import pandas as pd

        columns = ["name", "method", "order", "parameters", "log_likelihood", "aic", "bic", "held_out", "converged"]
        rows = [{**c.to_json(), "chosen": c is self.chosen} for c in self.candidates]
        frame = pd.DataFrame(rows, columns=[*columns, "chosen"]).sort_values("bic", ignore_index=True)
        frame.attrs["units"] = {"order": "phases", "log_likelihood": "nats", "held_out": "nats per gap"}
        return frame

    def to_json(self) -> dict[str, Any]:
        """One plain dictionary: ``trace``, ``batch_sizes``, ``candidates``, ``chosen`` and the rest."""
        return {
            "trace": self._trace(),
            "batch_sizes": [float(p) for p in self.batches.probabilities],
            "candidates": [c.to_json() for c in self.candidates],
            "failed": list(self.failed),
            "chosen": {
                **self.chosen.to_json(),
                "phases": self.process.phases,
                "D": [block.tolist() for block in self.process.D],
                "page_rate": self.process.page_rate,
                "rate_ratio": self.process.page_rate / self.numbers["page_rate"].value,
                "batch_rate": self.process.batch_rate,
                "batches": "by phase" if self.batch_test.dependent else "independent of the phase",
                "batch_test": plain(vars(self.batch_test)),
                "numbers": {name: value.to_json() for name, value in self.model_numbers.items()},
            },
            "sizes": _ph(self.sizes),
            "obsolescence": _ph(self.obsolescence),
            "revisits": {"visits": self.visits[0], "changed": self.visits[1]},
            "robots": self._robots(),
            "robot_rates": self.evidence.to_json(),
            "robot_modes": None if self.modes is None else plain(self.modes.to_json()),
            "goodness": self.goodness.to_json(),
            "verdict": self.goodness.verdict,
            "words": list(self.goodness.words),
            "warnings": list(self.warnings),
            "cannot_tell": list(self.cannot_tell),
            "seed": self.seed,
            "seconds": self.seconds,
            "versions": dict(self.versions),
        }

    def _trace(self) -> dict[str, Any]:
        log, cleaning = self.log, self.cleaning
        return {
            **log.account(),
            "format": log.format,
            "detected": log.detected,
            "files": list(log.files),
            "other_lines": log.other_lines,
            "zoned": log.zoned,
            "first": _moment(log, 0),
            "last": _moment(log, -1),
            "notes": list(log.notes),
            "cleaning": {
                "rule": cleaning.rule,
                "limit": plain(cleaning.limit),
                "pauses": cleaning.pauses,
                "paused_seconds": cleaning.paused_seconds,
                "runs": cleaning.runs,
                "scv_before": plain(cleaning.scv_before),
                "scv_after": plain(cleaning.scv_after),
                "stretches": [
                    {"begin": s.begin, "end": s.end, "pages": s.pages, "used": s.used}
                    for s in cleaning.stretches[:1000]
                ],
            },
            "batching": {
                "rule": self.batches.rule,
                "limit": self.batches.limit,
                "ticks": None if self.batches.ticks is None else self.batches.ticks.to_json(),
                "cut_sizes": 0,
                "sensitivity": plain(self.sensitivity),
            },
            "stationarity": {
                name: plain(getattr(self.stationarity, name))
                for name in ("stationary", "change_points", "levels", "latest")
            },
            "season": None if self.season is None else self.season.to_json(),
            "gaps": len(self.batches.segments),
            "block_length": self.block_length,
            "moments": {name: value.to_json() for name, value in self.numbers.items()},
            "correlations": plain(self.goodness.trace_correlations),
        }


def _check_robots(robots_in_log: int, robots: int | None) -> None:
    if robots_in_log < 1 or (robots is not None and robots < robots_in_log):
        raise InputError.at(
            "robots", f"robots must be at least those of the log ({robots_in_log}), and those at least 1; got {robots}"
        )


def _moment(log: RawLog | CountLog, at: int) -> str | None:
    """A time of the log for people; None for a column of gaps or numbers without a calendar."""
    times = log.end if isinstance(log, CountLog) else log.time
    if not len(log) or int(times[at]) < 10**17 or (isinstance(log, RawLog) and log.from_gaps):
        return None
    return dt.datetime.fromtimestamp(int(times[at]) / 1e9, dt.UTC).isoformat(timespec="milliseconds")


def _ph(fit: PhFit | None) -> dict[str, Any] | None:
    if fit is None:
        return None
    law = fit.distribution
    return {
        "method": fit.method,
        "mean": law.mean,
        "scv": law.scv,
        "initial": np.asarray(law.initial).tolist(),
        "subgenerator": np.asarray(law.subgenerator).tolist(),
        "notes": list(fit.notes),
    }
