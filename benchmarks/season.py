"""`make bench BENCH=season`: how often a daily cycle is told on made traces, without one and with one.

`python -m benchmarks.season 400` takes 400 traces of each kind and prints the table of the page.
"""

import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.fitting_checks import DAY, HOUR, Float, daytime, drawn, step, swing
from benchmarks.rows import OURS, Row
from fitting.season.even_clock import even_trace
from fitting.trace.batches import find_batches
from fitting.trace.cleaning import clean

RATE = 0.03
TRACES = 100


def switching(rng: np.random.Generator, days: float, sojourn: float, ratio: float = 5.0) -> Float:
    """A Markov-modulated Poisson process: two rates, `sojourn` seconds in each on average, `RATE` over both."""
    end, spells, now = days * DAY, [], 0.0
    rates = 2 * RATE * np.array([1, ratio]) / (1 + ratio)
    state = int(rng.integers(2))
    while now < end:
        length = rng.exponential(sojourn)
        spells.append(now + np.sort(rng.uniform(0, length, rng.poisson(rates[state] * length))))
        now, state = now + length, 1 - state
    times = np.concatenate(spells)
    return times[times < end]


def cycled(times: Float, part: float, rng: np.random.Generator) -> Float:
    """The trace thinned to a daily swing of `part` around its mean."""
    return times[rng.random(times.size) < (1 + part * np.sin(2 * np.pi * times / DAY)) / (1 + part)]


def batched(times: Float, rng: np.random.Generator) -> Float:
    """A geometric number of pages, three on average, at each of the times."""
    return np.repeat(times, rng.geometric(1 / 3, times.size))


def traces(rng: np.random.Generator) -> Iterator[tuple[str, Float]]:
    """Traces without a cycle first."""
    for days in (2, 3, 7):
        poisson = drawn(swing(RATE, 0), days * DAY, RATE, rng)
        yield f"no cycle: Poisson, {days} days", poisson
        yield f"no cycle: batches of 3, {days} days", batched(poisson, rng)
        for hours in (0.1, 0.5, 2, 6):
            yield f"no cycle: rates 1:5, spells of {hours:g} h, {days} days", switching(rng, days, hours * HOUR)
    for days in (3, 7):
        yield (
            f"no cycle: Poisson, stopped at night, {days} days",
            drawn(lambda t: RATE * daytime(t), days * DAY, RATE, rng),
        )
        spells = switching(rng, days, HOUR)
        yield f"no cycle: rates 1:5, spells of 1 h, stopped at night, {days} days", spells[daytime(spells) > 0]
        yield (
            f"no cycle: ramp x4, {days} days",
            drawn(lambda t, span=days * DAY: RATE * (0.4 + 1.2 * t / span), days * DAY, 1.6 * RATE, rng),
        )
        yield (
            f"no cycle: step x3, {days} days",
            drawn(step(0.55 * days * DAY, (RATE, 3 * RATE)), days * DAY, 3 * RATE, rng),
        )
    for days in (2, 3, 7):
        for ratio, part in ((2, 1 / 3), (19, 0.9)):
            yield f"{ratio}-fold: Poisson, {days} days", drawn(swing(RATE, part), days * DAY, 2 * RATE, rng)
            for hours in (0.1, 0.5):
                yield (
                    f"{ratio}-fold: rates 1:5, spells of {hours:g} h, {days} days",
                    cycled(switching(rng, days, hours * HOUR), part, rng),
                )


def told(count: int) -> dict[str, float]:
    """Share of the traces of each kind in which a daily cycle is told."""
    found: dict[str, list[bool]] = {}
    for seed in range(count):
        for name, times in traces(np.random.default_rng([seed, 3])):
            cleaning = clean(times)
            even = even_trace(find_batches(times, cleaning, 1e-9), 0.0, DAY)
            found.setdefault(name, []).append(even.season is not None and even.season.found)
    return {name: float(np.mean(every)) for name, every in found.items()}


def run() -> list[Row]:
    """Shares as rows of the benchmarks."""
    return [Row(name, OURS, 100 * share, "% told as a daily cycle") for name, share in told(TRACES).items()]


if __name__ == "__main__":
    TRACES = int(sys.argv[1]) if len(sys.argv) > 1 else TRACES
    print(f"| trace ({TRACES} of each) | told as a daily cycle |\n|---|---:|")
    for kind, share in told(TRACES).items():
        print(f"| {kind} | {share:.1%} |")
