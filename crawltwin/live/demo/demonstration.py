"""The demonstration from end to end: calibrate, crawl, fit, predict, crawl under each policy, judge.

Three processes take part beside this one: the site, the crawl (a new one for each policy) and its indexer. Everything
is written into a temporary folder that is removed at the end, whatever happens; all of it stays on 127.0.0.1.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crawltwin.live.crawl import CrawlSettings, run_crawl
from crawltwin.live.demo.fitted import FittedCrawl, fit_record
from crawltwin.live.demo.predictions import (
    BAR,
    Judged,
    Prediction,
    Solver,
    chosen_policies,
    judge_all,
    predict,
    recommend,
    solved,
)
from crawltwin.live.demo.settings import WEIGHTS, DemoSettings
from crawltwin.live.indexing import index_page
from crawltwin.live.measured import Measured, measure
from crawltwin.live.record import Record
from crawltwin.live.site import Site, SiteSettings, documents
from crawltwin.model import Scenario, ThresholdPolicy, exponential
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.errors import InputError
from crawltwin.model.files import write_whole
from crawltwin.model.policies.policy_file import PolicyFile
from crawltwin.work.progress import ProgressCallback
from validate.verdict import Word, overall

PROBES = 60
"""Pages that are indexed to learn how fast this machine is."""
SLOWDOWN = 3.0
"""The indexer is paced to this many times the work itself, so that other work on the machine does not set its pace."""
FASTEST = 0.05
"""Seconds per page at least, on average: more pages per second would make the crawler itself the bottleneck."""
WARM_UP = 4.0
"""Seconds at the beginning of a crawl that are not measured: it starts empty."""
LIFETIME = 12.0
"""Mean lifetime of a waiting page, in mean indexing times."""
LOOK = 10.0
"""Mean distance of the looks of the policy that polls, in mean indexing times."""
SPELLS = SiteSettings(slow_every=4.0, slow_for=1.5, slow_factor=2.0)


@dataclass(frozen=True)
class Calibration:
    """What this machine does: `work` seconds per page to index, paced to `service`; pages of `size` bytes."""

    work: float
    service: float
    size: float

    @property
    def bytes_per_second(self) -> float:
        """The pace of the indexer."""
        return self.size / self.service


@dataclass(frozen=True)
class Course:
    """What one crawl was like over time, for a picture: the state at moments of equal distance."""

    policy: str
    seconds: tuple[float, ...]
    level: tuple[int, ...]
    robots: tuple[int, ...]


@dataclass(frozen=True)
class Demonstration:
    """Everything that was predicted and seen."""

    settings: DemoSettings
    calibration: Calibration
    fitted: FittedCrawl
    first: Judged
    judged: tuple[Judged, ...]
    recommended: ThresholdPolicy
    courses: tuple[Course, ...]
    busy: float
    seconds: float

    @property
    def verdict(self) -> Word:
        """The worst word over the predictions of the bar's measures."""
        return overall([one for found in self.judged for one in found.verdicts if one.comparison.measure in BAR])

    @property
    def within_bar(self) -> bool:
        """Whether each prediction of the bar's measures under thresholds is in the interval or within the margin."""
        margin, confidence = self.settings.margin, self.settings.confidence
        return all(
            found.within(name, margin, confidence)
            for found in self.judged
            if not found.prediction.policy.features
            for name in BAR
        )

    @property
    def saved(self) -> dict[str, float]:
        """Cost of all robots always, of the recommended policy, both measured, and what was saved."""
        own = next(one for one in self.judged if one.prediction.policy == self.recommended)
        before, after = (one.measured.values["cost"] for one in (self.first, own))
        return {"always": before, "recommended": after, "saved": before - after}

    def to_json(self) -> dict[str, Any]:
        """The answer for programs."""
        margin, confidence = self.settings.margin, self.settings.confidence
        return {
            "verdict": self.verdict,
            "within_bar": self.within_bar,
            "recommended": self.recommended.to_mapping(),
            "cost": self.saved,
            "calibration": {"work": self.calibration.work, "service": self.calibration.service},
            "machine_busy": self.busy,
            "fitted": {
                "pages": self.fitted.pages,
                "load": self.fitted.load,
                "pause": self.fitted.pause,
                "methods": self.fitted.methods,
                "errors": self.fitted.errors,
                "scenario": self.fitted.scenario(self.recommended, WEIGHTS).to_mapping(),
            },
            "first": {
                "policy": self.first.prediction.policy.to_mapping(),
                "measures": _measures(self.first, confidence),
            },
            "policies": [
                {
                    "policy": one.prediction.policy.to_mapping(),
                    "pages": one.measured.pages,
                    "seconds": one.measured.seconds,
                    "measures": _measures(one, confidence),
                    "within": {name: one.within(name, margin, confidence) for name in BAR},
                    "verdicts": {verdict.comparison.measure: verdict.to_json() for verdict in one.verdicts},
                }
                for one in self.judged
            ],
            "seconds": self.seconds,
        }


def _measures(found: Judged, confidence: float) -> dict[str, Any]:
    values = {}
    for name in found.measured.values:
        seen = found.measured.interval(name, confidence).to_json()
        own = (found.prediction.values.get(name), found.prediction.doubts.get(name))
        predicted, doubt = (None if one is None or not math.isfinite(one) else one for one in own)
        values[name] = {"predicted": predicted, "doubt": doubt} | seen
    return values


def calibrate(seed: int, largest: int) -> Calibration:
    """Index some documents and see how long it takes; the work of the first is not counted."""
    pages = documents(10_000, largest)
    chance = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="crawltwin-")
    try:
        took = []
        for number in range(PROBES):
            html = chance.choice(pages).decode("utf-8", "replace")
            began = time.monotonic()
            index_page({"database": str(Path(folder) / "pages.db"), "url": str(number), "html": html})
            took.append(time.monotonic() - began)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    work = float(np.mean(took[1:]))
    return Calibration(work, max(SLOWDOWN * work, FASTEST), float(np.mean([len(page) for page in pages])))


def demonstrate(
    settings: DemoSettings,
    progress: ProgressCallback = lambda _done, _total: None,
    tell: Callable[[str], None] = lambda _words: None,
    solver: Solver = solved,
    keep: str | None = None,
) -> Demonstration:
    """Run the whole demonstration; `tell` gets a sentence at each step, `keep` names a folder for the records.

    Raises
    ------
    InputError
        When Scrapy or SQLite's FTS5 is missing, or a crawl fails.
    """
    check_crawler()
    solver(_smallest(settings))
    began = time.monotonic()
    total = 60 * settings.minutes
    folder = tempfile.mkdtemp(prefix="crawltwin-live-")
    try:
        tell("timing the indexing of some pages on this machine")
        calibration = calibrate(settings.seed, SPELLS.largest)
        pace = _mean_pace(SPELLS)
        mean_latency = settings.robots * calibration.service / settings.load * pace
        base = mean_latency / 1.6
        site_settings = SiteSettings(
            latencies=((0.7, base), (0.3, 3 * base)),
            slow_every=SPELLS.slow_every,
            slow_for=SPELLS.slow_for,
            slow_factor=SPELLS.slow_factor,
            seed=settings.seed,
        )
        records: list[Record] = []
        with Site(site_settings) as site:

            def run(policy: ThresholdPolicy, seconds: float) -> Record:
                number = len(records)
                own = str(Path(folder) / str(number))
                Path(own).mkdir()
                crawl = CrawlSettings(
                    address=site.address,
                    pages=site.pages,
                    folder=own,
                    seconds=seconds,
                    capacity=settings.capacity,
                    lifetime=LIFETIME * calibration.service,
                    bytes_per_second=calibration.bytes_per_second,
                    seed=settings.seed + 1000 * number,
                )
                content = json.dumps(PolicyFile(policy).to_mapping(settings.capacity), indent=1)
                write_whole(crawl.policy, content + "\n")
                record = Record.read(run_crawl(crawl, lambda: progress(min(time.monotonic() - began, total), total)))
                if keep is not None:
                    Path(keep).mkdir(parents=True, exist_ok=True)
                    shutil.copy(crawl.record, Path(keep) / f"crawl-{number}.jsonl")
                records.append(record)
                return record

            always = ThresholdPolicy([settings.robots])
            tell(f"crawling with {always.phrase}")
            first_record = run(always, 2 * settings.share)
            fitted = fit_record(first_record, WARM_UP, 2 * settings.share)
            tell("choosing a policy and predicting five")
            recommended = recommend(fitted, WEIGHTS, solver)
            look = float(f"{LOOK * calibration.service:.2g}")
            policies = chosen_policies(recommended, settings.robots, settings.capacity, look)
            before, *predictions = predict(fitted, [always, *policies], WEIGHTS, solver)
            seen: list[Measured] = []
            for policy in policies:
                tell(f"crawling with {policy.phrase}")
                seen.append(measure(run(policy, settings.share), WARM_UP, settings.share, WEIGHTS))
        busy = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else float("nan")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    judged = judge_all(predictions, seen, settings.margin, settings.confidence)
    first = Judged(before, measure(first_record, WARM_UP, 2 * settings.share, WEIGHTS), ())
    courses = [course(record, policy) for record, policy in zip(records, (always, *policies), strict=True)]
    return Demonstration(
        settings, calibration, fitted, first, tuple(judged), recommended, tuple(courses), busy, time.monotonic() - began
    )


def check_crawler() -> None:
    """Refuse where the crawler is not installed."""
    try:
        import scrapy  # noqa: F401
    except ImportError:
        raise InputError.at(
            "live", "Scrapy must be installed for a live crawl; got none", "pip install 'crawltwin[live]'"
        ) from None


def _smallest(settings: DemoSettings) -> Scenario:
    """A small model with everything that will be predicted: what the solver refuses is told before the first crawl."""
    return Scenario(
        capacity=settings.capacity,
        arrivals=FetchingRobots(2, exponential(1.0)),
        service=exponential(1.0),
        obsolescence=exponential(1.0),
        policy=ThresholdPolicy([2, 1], [2], resume=[1], check_every=1.0),
        cost=WEIGHTS,
    )


def course(record: Record, policy: ThresholdPolicy, points: int = 240) -> Course:
    """The state at `points` moments."""
    at = np.linspace(0.0, record.seconds, points)
    place = np.maximum(np.searchsorted(record.time, at, side="right") - 1, 0)
    return Course(
        policy.short, tuple(at.tolist()), tuple(record.level[place].tolist()), tuple(record.robots[place].tolist())
    )


def _mean_pace(site: SiteSettings) -> float:
    whole = site.slow_every + site.slow_for
    return (site.slow_every + site.slow_for / site.slow_factor) / whole if site.slow_every > 0 else 1.0


__all__ = ["Calibration", "Course", "Demonstration", "Prediction", "calibrate", "demonstrate"]
