"""The random numbers of a run, and the order in which both engines consume them.

A seed makes one `SeedSequence`; replication i is its child i, whatever the number of replications and of
workers; a replication has twelve streams, each a PCG64 generator of its own (the last four are made only where the
scenario needs them):

| stream | one number for |
|---|---|
| `arrival_times` (exponential) | each sojourn of a robot's phase |
| `arrival_jumps` (uniform) | each choice of a jump, and the phase at the start |
| `coins` (uniform) | each batch of a thinned stream or of a trace, whether or not the policy needs it |
| `service_times` (exponential) | each phase of an indexing time, drawn when indexing begins |
| `service_jumps` (uniform) | each choice of a service phase, the first included |
| `obsolescence_times`, `obsolescence_jumps` | the same for each page that must wait, drawn at its arrival |
| `start` (uniform) | the level at the start, where a distribution is given |
| `looks` (exponential) | each time between two looks of a controller that polls |
| `start_ups` (exponential) | each start-up of a robot that is told to start |
| `spell_times` (exponential), `spell_jumps` (uniform) | each spell of the web and the choice of the next one |

Robots that finish their fetch use `arrival_times` and `arrival_jumps`: one number for each sojourn in a phase, one for
each jump and one for the first phase of a fetch.

A choice with one possibility consumes nothing. When the number of robots changes between two jumps, no number
is drawn: the rest of the sojourn is stretched by the old rate over the new one, which has the same law. So
the batches of a trace, of independent robots, of a marked and of a thinned stream are the same under every
policy, and policies compared on one seed share their luck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from crawltwin.model.errors import InputError

BIT_GENERATOR = "PCG64"
_BLOCK = 4096


class Streams(NamedTuple):
    """The generators of one replication."""

    arrival_times: np.random.Generator
    arrival_jumps: np.random.Generator
    coins: np.random.Generator
    service_times: np.random.Generator
    service_jumps: np.random.Generator
    obsolescence_times: np.random.Generator
    obsolescence_jumps: np.random.Generator
    start: np.random.Generator
    looks: np.random.Generator
    start_ups: np.random.Generator
    spell_times: np.random.Generator
    spell_jumps: np.random.Generator


FIRST_STREAMS = 8
"""Streams that every scenario needs."""


def check_seed(seed: Any) -> int:
    """The seed as a whole number that is not negative; anything else is refused.

    Examples
    --------
    >>> check_seed(7)
    7
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed must be a whole number, 0 or more; got {seed!r}. Any will do: --seed 1")
    return int(seed)


def open_streams(seed: int, replication: int, every: bool = True) -> Streams:
    """The streams of one replication; the same bits wherever it runs.

    Without `every` only the first eight are made, which takes half the time; the others are not to be used then.
    """
    child = np.random.SeedSequence(seed, spawn_key=(replication,))
    count = len(Streams._fields)
    made = [np.random.Generator(np.random.PCG64(own)) for own in child.spawn(count if every else FIRST_STREAMS)]
    return Streams(*made, *[made[-1]] * (count - len(made)))


def one_by_one(draw: Callable[[int], Any]) -> Callable[[], float]:
    """Hand out the numbers of a stream singly, drawn in blocks: ten times cheaper than single draws.

    Blocks of uniforms, or of exponentials, are the same numbers as single draws; the two may not be mixed on
    one stream.
    """

    def numbers() -> Iterator[float]:
        while True:
            yield from draw(_BLOCK).tolist()

    return numbers().__next__
