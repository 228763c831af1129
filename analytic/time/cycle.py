r"""A crawler whose rates change in the course of a day: the distribution that comes back after every day.

The day has parts with a scenario each, all over the same states. Within a part p(t) is followed by uniformisation from
the end of the part before, until it is stationary there (the rest of the part then has the stationary distribution) or
the part ends. Days are repeated until the distribution at their beginning no longer changes. Averages over a part
divided by those of its stationary distribution say how good it is to take every part as stationary by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analytic.chain.primitives import Chain
from analytic.chain.summary import rates_of
from analytic.stationary.explicit import stationary_vector
from analytic.time.approach import MAX_STEPS, Walk, explicit_generator, total_variation
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError, InputError
from crawltwin.model.rates import Rates
from crawltwin.model.scenario import Scenario

SETTLED = 1e-8
"""Total variation distance below which a distribution counts as reached."""
MOST_DAYS = 2000
FIRST = 200.0
"""Steps of the uniformised chain until it is first asked whether the part is settled; then twice as many."""


@dataclass(frozen=True, eq=False)
class Cycle:
    """One day of the periodic distribution.

    Parameters
    ----------
    rates : tuple of Rates
        Averages over each part; the sojourn time of served pages is not among them.
    stationary : tuple of Rates
        Those of the stationary distribution of each part.
    distance : tuple of float
        Total variation distance to the part's stationary distribution at its end.
    days : int
        Days that were walked.
    """

    rates: tuple[Rates, ...]
    stationary: tuple[Rates, ...]
    distance: tuple[float, ...]
    days: int


def periodic(parts: Sequence[tuple[Scenario, float]]) -> Cycle:
    """The periodic distribution of a day of parts, each a scenario with its policy and its length.

    Raises
    ------
    InputError
        For parts over different states, or lengths that are not positive.
    ConvergenceError
        When a part neither settles nor ends within a million steps of the uniformised chain.

    Notes
    -----
    Cost: (fastest rate) (time until settled) sparse products for each part.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> one = examples.load("mm1k")
    >>> day = periodic([(one, 10.0), (one, 20.0)])      # nothing changes: every part is stationary
    >>> bool(abs(day.rates[0].lost - day.stationary[1].lost) < 1e-9)
    True
    """
    if not parts or any(not length > 0 for _, length in parts):
        raise InputError(f"parts must have positive lengths; got {[length for _, length in parts]}")
    generators = [explicit_generator(scenario) for scenario, _ in parts]
    if len({_states(one.chain) for one in generators}) > 1:
        raise InputError("parts of a day must have the same states; got scenarios with different ones")
    walks = [Walk.of(one) for one in generators]
    stationary = [stationary_vector(one) for one in generators]
    p, means, ends = stationary[-1], list(stationary), [0.0] * len(parts)
    for days in range(1, MOST_DAYS + 1):  # noqa: B007 - told in the result
        begin = p
        for at, (_, length) in enumerate(parts):
            p, means[at] = _through(walks[at], p, length, stationary[at])
            ends[at] = total_variation(p, stationary[at])
        if total_variation(begin, p) <= SETTLED:
            break
    else:
        raise ConvergenceError(
            f"the day had not become periodic after {MOST_DAYS} days: the crawler forgets too slowly"
        )

    def rates(laws: Sequence[FloatArray]) -> tuple[Rates, ...]:
        return tuple(rates_of(one.chain, one.summarise(law)) for one, law in zip(generators, laws, strict=True))

    return Cycle(rates(means), rates(stationary), tuple(ends), days)


def _states(chain: Chain) -> tuple[tuple[int, ...], ...]:
    return tuple((*chain.small_shape(level), chain.level_states(level)) for level in range(chain.top + 1))


def _through(walk: Walk, p: FloatArray, length: float, goal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distribution at the end of a part, and its average over the part."""
    done, total, stride, steps = 0.0, 0.0 * p, FIRST / walk.chain.rate, 0.0
    while done < length:
        if total_variation(p, goal) <= SETTLED:
            return p, (total + (length - done) * goal) / length
        if steps > MAX_STEPS and not walk.dense:
            raise ConvergenceError(
                f"a part of the day of length {length:g} had not settled after {done:g}: the crawler forgets slowly, "
                "and the parts cannot be followed in time"
            )
        stride = min(stride, length - done)
        p, mean = walk.both(p, stride)
        total = total + stride * mean
        done, steps, stride = done + stride, steps + stride * walk.chain.rate, 2 * stride
    return p, total / length
