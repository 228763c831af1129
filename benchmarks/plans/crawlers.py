"""Made crawlers whose truth is a scenario that can be solved, and the log that each of them writes.

A stream of three robots, one page per second, of one of `KINDS`; an indexer that is half idle or overrun; 2,000 to
30,000 pages in the log. Half of the plans get weights of the cost (the plan's own, each up to three times larger or
smaller), the others limits that bind. The plan is told what an operator knows: robots, capacity, the
mean indexing time (or bytes per second, where the log has content sizes) and the mean time until stale.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analytic import solve
from crawltwin.model import (
    BMAP,
    ControlledArrivals,
    CostWeights,
    FetchingRobots,
    PhaseType,
    Scenario,
    ThinnedStream,
    ThresholdPolicy,
    exponential,
    hyper_erlang,
    hyperexponential,
)
from crawltwin.model.checks import FloatArray
from crawltwin.plan.limits import IndexWithin
from crawltwin.plan.prepare import default_cost
from crawltwin.plan.settings import PlanSettings
from tests.unit.fitting.robots.made import crawl, heritrix

PAGES = 2_000, 30_000
BEGIN = 1.7e9
CONTENT = 24_000.0
BATCHES = (0.5, 0.2, 0.1, 0.1, 0.05, 0.05)


@dataclass(frozen=True)
class Made:
    """A crawler: its truth with all robots on, what the plan is told, and its log."""

    kind: str
    scenario: Scenario
    settings: PlanSettings
    log: Path

    @property
    def today(self) -> Scenario:
        """All robots always."""
        return self.scenario.replace(policy=ThresholdPolicy([self.settings.robots]))


def _rate_one(stream: BMAP) -> BMAP:
    return stream.scaled(1 / stream.page_rate)


def _regimes(rng: np.random.Generator, stays: tuple[float, float], count: int = 2, batches: Any = (1.0,)) -> BMAP:
    """Poisson at rates each two to six times the one before, for so many deliveries on average; any regime follows."""
    rates = np.cumprod([1.0, *rng.uniform(2, 6 if count == 2 else 4, count - 1)])
    out = rates / np.exp(rng.uniform(*np.log(stays), count))
    moves = (np.ones((count, count)) - np.eye(count)) * out[:, None] / (count - 1)
    return BMAP.from_map(moves - np.diag(out + rates), np.diag(rates), batches)


def _renewal(law: PhaseType) -> BMAP:
    return BMAP([law.subgenerator, np.outer(law.exit_rates, law.initial)])


def _bursty(rng: np.random.Generator) -> BMAP:
    """Hyperexponential gaps: one gap in 5 to 20 is 5 to 20 times as long as the others."""
    long = 1 / rng.uniform(5, 20)
    return _renewal(hyperexponential([1 - long, long], [1.0, 1 / rng.uniform(5, 20)]))


def _correlated(rng: np.random.Generator) -> BMAP:
    """Short and long gaps of two stages each, that tend to follow their like."""
    stay, apart = rng.uniform(0.7, 0.97), rng.uniform(3, 10)
    rates = np.array([2.0, 2.0 / apart])
    D0, D1 = np.zeros((4, 4)), np.zeros((4, 4))
    for own in range(2):
        at = 2 * own
        D0[at, at] = D0[at + 1, at + 1] = -rates[own]
        D0[at, at + 1] = rates[own]
        D1[at + 1, at], D1[at + 1, 2 - at] = stay * rates[own], (1 - stay) * rates[own]
    return BMAP([D0, D1])


def _polite(rng: np.random.Generator) -> BMAP:
    """Fifteen stages of a delay, nearly fixed, then an exponential time."""
    share, stages = rng.uniform(0.3, 0.7), 15
    rates = np.append(np.full(stages, stages / share), 1 / (1 - share))
    D0 = np.diag(-rates) + np.diag(rates[:-1], 1)
    D1 = np.zeros_like(D0)
    D1[-1, 0] = rates[-1]
    return BMAP([D0, D1])


STREAMS: dict[str, Callable[[np.random.Generator], BMAP]] = {
    "Poisson": lambda _: BMAP.poisson(1.0),
    "batches": lambda _: BMAP.poisson(1.0, BATCHES),
    "two regimes of 10 to 100 pages": lambda rng: _regimes(rng, (10, 100)),
    "two regimes of 100 to 400 pages": lambda rng: _regimes(rng, (100, 400)),
    "three regimes of 10 to 100 pages": lambda rng: _regimes(rng, (10, 100), count=3),
    "two regimes, with batches": lambda rng: _regimes(rng, (10, 100), batches=BATCHES),
    "hyperexponential gaps": _bursty,
    "correlated gaps of two stages": _correlated,
    "a politeness delay": _polite,
    "a step of the rate": lambda rng: _regimes(rng, (10, 30)),
    "a clock of one second": lambda _: BMAP.poisson(1.0),
}
KINDS = (*STREAMS, "robots that finish their fetch")


def _times(kind: str, stream: BMAP, pages: int, rng: np.random.Generator) -> FloatArray:
    """Of every page; those of a batch 1 to 3 ms apart."""
    drawn = stream.sample(rng, int(1.2 * pages / stream.mean_batch) + 50)
    times = drawn.times
    if kind == "a step of the rate":
        # The truth is the latest rate; the first half of the batches came two or three times more slowly.
        half = times.size // 2
        factor = rng.uniform(2, 3)
        times = np.concatenate([factor * times[:half], times[half:] + (factor - 1) * times[half]])
    inside = np.arange(drawn.sizes.sum()) - np.repeat(np.cumsum(drawn.sizes) - drawn.sizes, drawn.sizes)
    every = np.repeat(times, drawn.sizes) + inside * rng.uniform(0.001, 0.003, inside.size)
    every = np.sort(every)[:pages]
    return np.asarray(np.floor(every) if kind == "a clock of one second" else every)


def _limits(scenario: Scenario, robots: int, rng: np.random.Generator) -> dict[str, Any]:
    """Limits that bind: part of what is lost today, and, in one of two, less than the time in which 95% are indexed."""
    today = solve(scenario.replace(policy=ThresholdPolicy([robots])))
    found: dict[str, Any] = {
        "lose_at_most": max(rng.uniform(0.2, 0.7) * float(today.measures["loss_probability"]), 0.002),
        "minimise": "starvation",
    }
    if rng.random() < 0.5:
        time = today.sojourn.quantile(0.95, "served")
        assert time is not None
        found["index_within"] = IndexWithin(rng.uniform(0.6, 0.95) * time, 0.95)
    return found


def _heritrix(log: Path, fetches: Any, rng: np.random.Generator) -> None:
    """A log of the fetches whose content sizes have the form of the indexing times: exponential."""
    lines = heritrix(log, *fetches).read_text().splitlines()
    sizes = np.maximum(1, np.rint(rng.exponential(CONTENT, len(lines)))).astype(int)
    both = zip(lines, sizes, strict=True)
    log.write_text("\n".join(line.replace(" 200 1000 ", f" 200 {size} ", 1) for line, size in both) + "\n")


def made(kind: str, seed: int, folder: Path) -> Made:
    """The crawler of this kind and seed; its log is written to the folder."""
    rng = np.random.default_rng([seed, KINDS.index(kind), 29])
    pages = int(np.exp(rng.uniform(*np.log(PAGES))))
    robots, capacity, load = 3, int(rng.integers(5, 10)), rng.uniform(0.5, 1.4)
    log, sized = folder / f"{seed}-{KINDS.index(kind)}.log", rng.random() < 0.4
    if kind in STREAMS:
        stream = _rate_one(STREAMS[kind](rng))
        arrivals: ControlledArrivals = ThinnedStream(stream, tuple((r + 1) / robots for r in range(robots)))
        times = BEGIN + _times(kind, stream, pages, rng)
        law = hyperexponential([0.9, 0.1], [0.9 / (0.5 * load), 0.1 / (0.5 * load)]) if sized else exponential(load)
        content = np.maximum(1, np.rint(law.sample(rng, times.size) * CONTENT / load)).astype(int)
        rows = [f"{time:.6f},{size}" if sized else f"{time:.6f}" for time, size in zip(times, content, strict=True)]
        log.write_text("\n".join(["time,size"] * sized + rows) + "\n")
    else:
        sized = False
        fetch = hyper_erlang([1.0], [2], [2 / robots])
        arrivals, law = FetchingRobots(robots, fetch), exponential(load)
        _heritrix(log, crawl(fetch, robots, float(pages), seed), rng)
    base = default_cost(1.0, load, robots)
    weights = {name: weight * 3.0 ** rng.uniform(-1, 1) for name, weight in base.to_mapping().items()}
    scenario = Scenario(
        capacity=capacity,
        arrivals=arrivals,
        service=law,
        obsolescence=exponential(load * rng.uniform(5, 50)),
        cost=CostWeights(**weights),
    )
    assert scenario.obsolescence is not None
    told: dict[str, Any] = {"processing_rate": CONTENT / load} if sized else {"service_mean": load}
    told |= _limits(scenario, robots, rng) if (seed + KINDS.index(kind)) % 2 else {"cost": scenario.cost}
    settings = PlanSettings(
        robots=robots,
        capacity=capacity,
        obsolescence_mean=scenario.obsolescence.mean,
        what_if=False,
        margin=0.3,
        budget=5_000_000,
        redraws=40,
        **told,
    )
    return Made(kind, scenario, settings, log)
