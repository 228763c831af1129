"""The random numbers of a run, and the order in which both engines consume them.

A seed makes one `SeedSequence`; replication i is its child i, whatever the number of replications and of
workers; a replication has eight streams, each a PCG64 generator of its own:

| stream | one number for |
|---|---|
| `arrival_times` (exponential) | each sojourn of a robot's phase |
| `arrival_jumps` (uniform) | each choice of a jump, and the phase at the start |
| `coins` (uniform) | each batch of a thinned stream or of a trace, whether or not the policy needs it |
| `service_times` (exponential) | each phase of an indexing time, drawn when indexing begins |
| `service_jumps` (uniform) | each choice of a service phase, the first included |
| `obsolescence_times`, `obsolescence_jumps` | the same for each page that must wait, drawn at its arrival |
| `start` (uniform) | the level at the start, where a distribution is given |

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
    """The eight generators of one replication."""

    arrival_times: np.random.Generator
    arrival_jumps: np.random.Generator
    coins: np.random.Generator
    service_times: np.random.Generator
    service_jumps: np.random.Generator
    obsolescence_times: np.random.Generator
    obsolescence_jumps: np.random.Generator
    start: np.random.Generator


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


def open_streams(seed: int, replication: int) -> Streams:
    """The streams of one replication; the same bits wherever it runs."""
    child = np.random.SeedSequence(seed, spawn_key=(replication,))
    return Streams(*[np.random.Generator(np.random.PCG64(own)) for own in child.spawn(len(Streams._fields))])


def one_by_one(draw: Callable[[int], Any]) -> Callable[[], float]:
    """Hand out the numbers of a stream singly, drawn in blocks: ten times cheaper than single draws.

    Blocks of uniforms, or of exponentials, are the same numbers as single draws; the two may not be mixed on
    one stream.
    """

    def numbers() -> Iterator[float]:
        while True:
            yield from draw(_BLOCK).tolist()

    return numbers().__next__
