"""A log that allows no model: what can be concluded nevertheless, what cannot, and what to log instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from crawltwin.model.checks import FloatArray
from crawltwin.model.results.display import Shown
from crawltwin.plan.evidence.verdict import PlanVerdict
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.wording import in_time
from fitting import CountLog, FitResult, RawLog

if TYPE_CHECKING:
    import pandas as pd

STEADY = 0.1
"""Squared coefficient of variation of the gaps below which a fixed delay is at work."""
SAFE_LOAD = 0.8
FEW = 500
"""Gaps below which the trace is called short."""
SILENT = 0.5
"""Share of pauses above which the log shows silence rather than a crawl."""


@dataclass(frozen=True, repr=False)
class Unsuitable(Shown):
    """No recommendation, and why.

    Parameters
    ----------
    log : RawLog or CountLog
    reason : str
        What stopped the fit, in its own words.
    facts : tuple of (name, value)
        Plain numbers of the log.
    can, cannot, instead : tuple of str
        What can be concluded, what cannot, and what would help.
    """

    log: RawLog | CountLog = field(repr=False)
    settings: PlanSettings
    reason: str
    facts: tuple[tuple[str, str], ...]
    can: tuple[str, ...]
    cannot: tuple[str, ...]
    instead: tuple[str, ...]

    @property
    def verdict(self) -> PlanVerdict:
        """Nothing can be recommended, and why."""
        return PlanVerdict("NOT TRUSTED", (f"this log allows no plan: {self.reason.rstrip('.')}",))

    def headline(self) -> str:
        """Why there is no plan."""
        return f"{self.verdict.word}: {self.verdict.reasons[0]}"

    def to_frame(self) -> pd.DataFrame:
        """Plain facts of the log, what can be concluded, what cannot, and what would help."""
        import pandas as pd

        rows = [("fact", f"{name}: {value}") for name, value in self.facts]
        for kind, words in (("can be said", self.can), ("cannot be said", self.cannot), ("would help", self.instead)):
            rows += [(kind, sentence) for sentence in words]
        return pd.DataFrame(rows, columns=["kind", "words"])

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin plan --json` prints it."""
        return {
            "verdict": self.verdict.to_json(),
            "suitable": False,
            "reason": self.reason,
            "facts": dict(self.facts),
            "can_be_concluded": list(self.can),
            "cannot_be_concluded": list(self.cannot),
            "would_help": list(self.instead),
        }


def diagnose(log: RawLog | CountLog, settings: PlanSettings, reason: str) -> Unsuitable:
    """Look at a log that could not be fitted."""
    seconds, account = log.seconds, log.account()
    pages = account["deliveries"]
    span = float(seconds[-1]) if len(log) else 0.0
    facts = [
        ("rows", f"{account['rows']:,}"),
        ("delivered pages", f"{pages:,}"),
        ("time from first to last page", in_time(span)),
        ("step of the clock", f"{account['resolution']:g} s"),
    ]
    can, instead = [f"{pages:,} pages were delivered in {in_time(span)}."], []
    cannot = ["Which policy is best: that needs a model of when pages come."]
    gaps = np.diff(seconds)
    moments = np.unique(seconds).size
    if isinstance(log, CountLog):
        cannot.append("When within an interval pages came.")
        instead.append("A longer range of the counter, with a step below the time that fills the buffer.")
    elif pages > 1 and moments < 30:
        times = "one time" if moments == 1 else f"{moments} different times"
        can.append(
            f"They carry {times} only: the clock of {account['resolution']:g} s cannot tell when within it pages came."
        )
        cannot.append("Whether pages came one by one or in batches, and how the rate changed.")
        instead.append("Log times in milliseconds, or a longer stretch: at least 31 different times are needed.")
    elif pages > 1 and gaps.mean() > 0 and gaps.var() < STEADY * gaps.mean() ** 2:
        _steady(gaps, settings, can, cannot, instead)
    else:
        instead.append("A longer log, or one of the delivered pages alone.")
    return Unsuitable(log, settings, reason, tuple(facts), tuple(can), tuple(cannot), tuple(instead))


def _steady(gaps: FloatArray, settings: PlanSettings, can: list[str], cannot: list[str], instead: list[str]) -> None:
    """A fixed politeness delay: arrivals are a clock, so only the mean rate says something."""
    delay = float(gaps.mean())
    can.append(
        f"Pages come every {delay:.4g} s, almost without variation: a politeness delay sets the pace, not chance. "
        "Such a stream needs no thresholds as long as the indexer keeps up."
    )
    can.append(_safe_delay(delay, settings.service_mean))
    cannot.append("How the crawler would behave without the delay: the log shows the delay and nothing behind it.")
    instead.append("A log of a crawl without a fixed delay, or of many hosts crawled side by side.")


def _safe_delay(delay: float, service_mean: float | None) -> str:
    if service_mean is None:
        return "The smallest safe delay is the mean indexing time over 0.8: give --service-mean to have it computed."
    load = service_mean / delay
    keeps = "It keeps up." if load < 1 else "It cannot keep up: the buffer fills and pages are lost."
    return (
        f"With a mean indexing time of {service_mean:g} s the indexer is busy {load:.0%} of the time. {keeps} The "
        f"smallest delay that leaves it idle a fifth of the time is {service_mean / SAFE_LOAD:.4g} s."
    )


def limits_of(fit: FitResult) -> tuple[str, ...]:
    """Clauses of what in a log that could be fitted makes the plan provisional."""
    doubts = fit.log.doubts if isinstance(fit.log, RawLog) else ()
    words = [*doubts, *fit.stationarity.words, *fit.cleaning.words, *fit.batches.words, *fit.regular]
    if fit.stationarity.changed and fit.season is not None and fit.season.too_short and not fit.season.possible:
        words.append(fit.season.too_short_in_words())
    silent = fit.paused_share
    if silent > SILENT:
        words.append(
            f"the crawler stood still for {silent:.0%} of the log, and what the crawl is like after another start is "
            "not known"
        )
    gaps = len(fit.batches.segments)
    if gaps < FEW:
        what = "intervals" if fit.counted else "gaps"
        words.append(f"only {gaps} {what} are left to learn from, and the figures will move with a longer log")
    return tuple(words)


def remarks_on(fit: FitResult, settings: PlanSettings) -> tuple[str, ...]:
    """What else the reader should know of a log that could be fitted."""
    gaps = fit.batches.segments.gaps
    words = []
    paused = fit.cleaning.paused_seconds
    if paused > 0:
        words.append(
            f"Paused {in_time(paused)} of {in_time(float(fit.log.seconds[-1]))} ({fit.paused_share:.0%}) in "
            f"{fit.cleaning.pauses} pause{'s' if fit.cleaning.pauses > 1 else ''}, cut out here: the plan holds while "
            "the crawler runs."
        )
    if fit.counted:
        return (*words, "The log tells counts per interval. It cannot tell " + "; ".join(fit.cannot_tell) + ".")
    if fit.regular:
        words.append(
            f"Batches come every {np.median(gaps):.4g} s, almost without variation: a politeness delay sets the pace, "
            "not chance. The model copies the delay; it cannot tell what the crawler would do without it, and "
            "switching robots off brings little. "
            + _safe_delay(float(gaps.mean()) / fit.process.mean_batch, settings.service_mean)
        )
    return tuple(words)


def fills_within_interval(fit: FitResult, capacity: int) -> str:
    """A clause where the buffer can fill between two samples of a counter, so that counts do not show what decides."""
    data = fit.batches.segments
    if not fit.counted or float(np.quantile(data.sizes, 0.95)) < capacity:
        return ""
    return (
        f"the buffer of {capacity} pages can fill within one interval of {in_time(float(np.median(data.gaps)))}, and "
        "counts do not tell what happens there (a log of deliveries would)"
    )
