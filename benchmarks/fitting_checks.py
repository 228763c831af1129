"""`python -m benchmarks.fitting_checks [TRACES]`: pauses, steps and swings in made traces, for docs/fitting.md.

Traces with pauses, changes of rate and daily cycles that are known, and traces without any: how often a check speaks.
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from fitting.season.even_clock import even_trace
from fitting.trace.batches import find_batches
from fitting.trace.cleaning import clean

Float = npt.NDArray[np.float64]
HOUR, DAY = 3600.0, 86400.0


def drawn(rate: Callable[[Float], Float], span: float, most: float, rng: np.random.Generator) -> Float:
    """A Poisson process of this rate, a function of time that never exceeds `most`."""
    times = np.sort(rng.uniform(0, span, rng.poisson(most * span)))
    return times[rng.random(times.size) < rate(times) / most]


def regimes(rng: np.random.Generator, gaps: int, sojourn: float, ratio: float) -> Float:
    """Times of a process that goes to and fro between two rates, `sojourn` gaps in each on average."""
    lengths = 1 + rng.geometric(1 / sojourn, int(3 * gaps / sojourn) + 10)
    means = np.repeat(np.where(np.arange(lengths.size) % 2, ratio, 1.0), lengths)[:gaps]
    return np.cumsum(rng.exponential(means))


def daytime(times: Float) -> Float:
    """1 from 8 to 20 o'clock, else 0."""
    return (np.abs(times % DAY / HOUR - 14) < 6).astype(float)


def swing(mean: float, part: float, period: float = DAY) -> Callable[[Float], Float]:
    """A cycle around `mean`, daily by default."""
    return lambda t: mean * (1 + part * np.sin(2 * np.pi * t / period))


def step(begin: float, rates: tuple[float, float]) -> Callable[[Float], Float]:
    """One rate, then another."""
    return lambda t: np.where(t < begin, *rates)


def ramp(span: float) -> Callable[[Float], Float]:
    """A rate that grows fourfold over the span."""
    return lambda t: 0.02 * (1 + 3 * t / span)


def rate_traces(rng: np.random.Generator) -> Iterator[tuple[str, Float]]:
    """Stationary traces first, then others."""
    yield "stationary: Poisson, 2,000 gaps", drawn(np.ones_like, 2000, 1, rng)
    yield "stationary: Poisson, 20,000 gaps", drawn(np.ones_like, 20_000, 1, rng)
    yield "stationary: Poisson, 2.2 days", drawn(swing(0.05, 0), 2.2 * DAY, 0.05, rng)
    yield "stationary: lognormal gaps, scv 8.5", np.cumsum(rng.lognormal(0, 1.5, 20_000))
    yield "stationary: two regimes x5 of 50 gaps, 20,000 gaps", regimes(rng, 20_000, 50, 5)
    yield "stationary: two regimes x5 of 300 gaps, 7 days", 10 * regimes(rng, 20_000, 300, 5)
    yield "stationary: two regimes x5 of 1,000 gaps, 20,000 gaps", regimes(rng, 20_000, 1000, 5)
    yield (
        "stationary: Poisson, stopped from 20 to 8 o'clock, 3 days",
        drawn(lambda t: 0.05 * daytime(t), 3 * DAY, 0.05, rng),
    )
    yield "2 per s for 3 h, then 0.2 per s for 3 h", drawn(step(3 * HOUR, (2, 0.2)), 6 * HOUR, 2, rng)
    yield "2 per s for 3 h, then 0.2 per s for 1 h", drawn(step(3 * HOUR, (2, 0.2)), 4 * HOUR, 2, rng)
    yield "step x2 in the middle of 2,000 gaps", drawn(step(1000, (1, 0.5)), 3000, 1, rng)
    yield "step x1.6 in the middle of 2,000 gaps", drawn(step(1000, (1, 0.6)), 2700, 1, rng)
    yield (
        "x3 for the middle third, 10,000 gaps",
        drawn(lambda t: np.where(np.abs(t - 3000) < 1000, 3.0, 1.0), 6000, 3, rng),
    )
    yield "ramp x4 over 7,500 gaps", drawn(lambda t: 1 + t / 1000, 3000, 4, rng)
    for days in (1.1, 1.6):
        yield f"stationary: Poisson, {days} days", drawn(swing(0.05, 0), days * DAY, 0.05, rng)
        for gaps in (100, 1000):
            name = f"stationary: two regimes x5 of {gaps:,} gaps, {days} days"
            times = 7 * regimes(rng, 20_000, gaps, 5)
            yield name, times[times < days * DAY]
        yield f"step x3 in the middle, {days} days", drawn(step(days * DAY / 2, (0.03, 0.09)), days * DAY, 0.09, rng)
        yield f"ramp x4, {days} days", drawn(ramp(days * DAY), days * DAY, 0.08, rng)
        yield f"daily swing of 40%, {days} days", drawn(swing(0.05, 0.4), days * DAY, 0.07, rng)
        yield f"daily swing of 90% (19-fold), {days} days", drawn(swing(0.1, 0.9), days * DAY, 0.19, rng)
    yield "daily swing of 60%, 2.2 days", drawn(swing(0.05, 0.6), 2.2 * DAY, 0.08, rng)
    yield "daily swing of 30%, 4 days", drawn(swing(0.05, 0.3), 4 * DAY, 0.065, rng)
    yield (
        "faster after 14 o'clock, stopped at night, 6 days",
        drawn(lambda t: 0.05 * daytime(t) * np.where(t % DAY > 14 * HOUR, 1, 0.4), 6 * DAY, 0.05, rng),
    )
    for part, hours, days in ((0.3, 3, 1.6), (0.9, 0.5, 1.6), (0.9, 3, 1.6), (0.9, 18, 3.0), (0.9, 30, 7.0)):
        name = f"swing of {part:.0%} with a period of {hours} h, {days:g} days"
        yield name, drawn(swing(0.05, part, hours * HOUR), days * DAY, 0.05 * (1 + part), rng)


def slow_regime(rng: np.random.Generator, gaps: int, sojourn: float, ratio: float) -> Float:
    """Exponential gaps in runs of 20 times `sojourn`, then slow ones (Erlang-8) in runs of `sojourn` on average."""
    pieces: list[Float] = []
    while sum(piece.size for piece in pieces) < gaps:
        pieces.append(rng.exponential(1.0, rng.geometric(1 / (20 * sojourn))))
        pieces.append(rng.gamma(8, ratio / 8, rng.geometric(1 / sojourn)))
    return np.concatenate(pieces)[:gaps]


def gap_traces(rng: np.random.Generator) -> Iterator[tuple[str, Float, npt.NDArray[np.bool_]]]:
    """4,000 gaps, and which of them are pauses, anywhere in the trace."""
    for name, gaps, count in lawful_then_pauses(rng):
        order = rng.permutation(gaps.size) if count else np.arange(gaps.size)
        yield name, gaps[order], order >= gaps.size - count


def lawful_then_pauses(rng: np.random.Generator) -> Iterator[tuple[str, Float, int]]:
    """4,000 gaps, the last ones pauses: their number."""
    n = 4000
    hyper = rng.exponential(np.where(rng.random(n) < 0.1, 10.0, 1.0))
    yield "exponential gaps", rng.exponential(2.0, n), 0
    yield "Pareto gaps, exponent 2.5", rng.pareto(2.5, n), 0
    yield "Pareto gaps, exponent 1.5", rng.pareto(1.5, n), 0
    yield "lognormal gaps, sigma 2", rng.lognormal(0, 2, n), 0
    yield "hyperexponential gaps, 10% ten times as long", hyper, 0
    yield (
        "hyperexponential gaps, 1% a hundred times as long",
        rng.exponential(np.where(rng.random(n) < 0.01, 100, 1)),
        0,
    )
    yield "Weibull gaps, exponent 0.4", rng.weibull(0.4, n), 0
    yield (
        "hyperexponential gaps, 5% a hundred times as long",
        rng.exponential(np.where(rng.random(n) < 0.05, 100, 1)),
        0,
    )
    for sojourn in (5, 20):
        yield f"slow regime, 100 times as slow, runs of {sojourn} gaps", slow_regime(rng, n, sojourn, 100), 0
    for size in (10, 50):
        inside = rng.random(n) < 1 - 1 / size
        yield (
            f"batches of {size} pages",
            np.where(inside, rng.uniform(0.004, 0.006, n), rng.exponential(60, n) + 1),
            0,
        )
    for share in (0.001, 0.01, 0.028):
        count = int(share * n)
        stops = np.exp(rng.uniform(np.log(600), np.log(93_600), count))
        for words, base in (("exponential", rng.exponential(2.0, n)), ("hyperexponential", hyper)):
            yield f"{share:.1%} pauses of 10 min to 26 h in {words} gaps", np.concatenate([base[count:], stops]), count
    for share in (0.03, 0.045, 0.06):
        count = int(share * n)
        for words, base in (
            ("exponential", rng.exponential(1.0, n)),
            ("hyperexponential", hyper),
            ("lognormal (sigma 1)", rng.lognormal(-0.5, 1.0, n)),
        ):
            stops = rng.uniform(300, 900, count)
            yield f"{share:.1%} pauses of 5 to 15 min in {words} gaps", np.concatenate([base[count:], stops]), count
    count = int(0.045 * n)
    for words, base in (("exponential", rng.exponential(1.0, n)), ("hyperexponential", hyper)):
        stops = rng.exponential(600, count)
        yield f"4.5% exponential pauses of 10 min in {words} gaps", np.concatenate([base[count:], stops]), count
    for size in (100, 200):
        inside = np.arange(n) % size > 0
        name = f"batches of {size} pages in a second"
        yield name, rng.exponential(np.where(inside, 1 / size, 60)) + ~inside, 0


def main() -> None:
    """Print both tables."""
    traces = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    told: dict[str, list[tuple[bool, bool, bool, bool]]] = {}
    cut: dict[str, list[tuple[bool, int, int, bool]]] = {}
    for seed in range(traces):
        for name, times in rate_traces(np.random.default_rng([seed, 1])):
            cleaning = clean(times)
            found = even_trace(find_batches(times, cleaning, 1e-9), 0.0, DAY)
            season = found.season
            daily, possible = season is not None and season.found, season is not None and season.possible is not None
            row = (not found.stationarity.stationary, daily, possible, found.other is not None)
            told.setdefault(name, []).append(row)
        for name, gaps, stops in gap_traces(np.random.default_rng([seed, 2])):
            cleaning = clean(np.concatenate([[0.0], np.cumsum(gaps)]))
            beyond = gaps > cleaning.limit
            found_stops, every = int(np.count_nonzero(beyond & stops)), int(np.count_nonzero(stops))
            cut.setdefault(name, []).append((bool((beyond & ~stops).any()), found_stops, every, bool(cleaning.words)))
    print(f"| trace ({traces} of each) | told as not stationary | as a daily cycle | as a possible one | as another |")
    print("|---|---:|---:|---:|---:|")
    for name, rows in told.items():
        print(f"| {name} | " + " | ".join(f"{share:.1%}" for share in np.mean(rows, axis=0)) + " |")
    print(
        f"\n| trace ({traces} of each) | a lawful gap was cut | pauses found | told as doubtful |\n|---|---:|---:|---:|"
    )
    for name, entries in cut.items():
        wrong, hits, every_stop, words = np.array(entries, dtype=float).T
        share = f"{hits.sum() / every_stop.sum():.1%}" if every_stop.any() else "-"
        print(f"| {name} | {wrong.mean():.1%} | {share} | {words.mean():.1%} |")


if __name__ == "__main__":
    main()
