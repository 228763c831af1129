r"""Fast and slow spells, common to all robots: a hidden Markov chain behind the durations of the fetches.

The spell j(t) is a Markov chain of two states with rates q. A fetch that begins at s takes a time whose law is that of
the fast spell, stretched by the pace of the spell at s: density :math:`p_j f(p_j d)`, f hyper-Erlang, p = 1 in the
fast spell. A change of spell during a fetch is neglected by this likelihood, which makes slow spells of ten fetches
seem some 2% faster than they are. So a crawl of the found model is made in which spells do change during fetches, the
same likelihood is fitted to it, and what it misses there is taken off (indirect inference); the intervals count the
chance in that crawl in. Spells that are shorter than `SHORTEST` fetches are not looked for; nor are those in which
fewer than `FEWEST` fetches begin, as these cannot be told from a law with more branches.

The likelihood is one forward pass over the fetches in the order of their begins. It is a density of the same data, the
durations, as the product of f(d) is without spells: where robots begin a fetch as soon as one has ended, the begins are
functions of the durations of earlier begun fetches, and elsewhere they are given. So BIC and likelihoods on blocks that
were left out compare the two. Spells are kept only where both are for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from crawltwin.model import PhaseType, hyper_erlang
from crawltwin.model.arrivals.spells import Spells
from crawltwin.model.interval import Interval
from crawltwin.work.compiling import njit
from fitting.models.phase_type_em import hyper_erlang_em
from fitting.robots.fetch_law import FetchLaw, block_beginnings, held_out_blocks, log_densities
from fitting.robots.fetches import Fetches
from fitting.trace.samples import Samples
from fitting.trace.segments import Float

SHORTEST = 3.0
"""Mean length of a spell at least, in mean fetch times."""
FEWEST = 10.0
"""Fetches that begin in a mean spell at least."""
SEARCHED = 8_000
"""Fetches on which the search for the best law goes on; the last fit takes all of them, up to `USED`."""
USED = 60_000
"""Of a longer log, the beginning of each block (`held_out_blocks`) is taken, so that every part of it is seen."""
LAWS = ((1,), (2,), (3,), (5,), (1, 1), (1, 2))
"""Stages of the branches that are tried in a spell."""
MADE = 6
"""Fetches of the made crawl for each that was seen, up to `USED`."""
LARGEST = math.log(0.99)
STARTS = ((0.5, 30.0), (0.3, 300.0))
"""Pace of the slow spell and fetches begun in a mean spell at which the search begins."""


class _Events(NamedTuple):
    """Durations in the order of the begins, the time since the fetch before, and where a new piece begins."""

    duration: Float
    since: Float
    fresh: Float


@dataclass(frozen=True, eq=False)
class SpellFit:
    """What is known of spells.

    Attributes
    ----------
    spells : Spells or None
        Rates per second and paces, the fast spell first; None where the data do not support them.
    law : PhaseType
        Time of a fetch in the fast spell, where spells were found.
    pace, fast_length, slow_length : Interval
        Pace of the slow spell relative to the fast one, and mean lengths of both in seconds.
    trained : tuple
        Law and spells fitted without the blocks that are left out.
    bic_gain, held_out_gain : float
        How much smaller the BIC is with spells, and how much larger the log-likelihood per fetch on blocks left out.
    """

    spells: Spells | None
    law: PhaseType
    pace: Interval
    fast_length: Interval
    slow_length: Interval
    trained: tuple[PhaseType, Spells]
    bic_gain: float
    held_out_gain: float

    def redrawn(self, rng: np.random.Generator) -> Spells:
        """Spells with pace and lengths drawn from their intervals, as normal logarithms."""
        numbers = (self.pace, self.fast_length, self.slow_length)
        errors = [math.log(one.high / one.low) / (2 * 1.96) for one in numbers]
        drawn = [
            one.value * math.exp(error * rng.standard_normal()) for one, error in zip(numbers, errors, strict=True)
        ]
        pace, leave, back = min(drawn[0], math.exp(LARGEST)), 1 / drawn[1], 1 / drawn[2]
        return Spells([[-leave, leave], [back, -back]], [1.0, pace])

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {
            "found": self.spells is not None,
            "pace": self.pace.to_json(),
            "fast_length": self.fast_length.to_json(),
            "slow_length": self.slow_length.to_json(),
            "bic_gain": self.bic_gain,
            "held_out_gain": self.held_out_gain,
            "scenario": None if self.spells is None else self.spells.to_mapping(),
        }


def fit_spells(
    fetches: Fetches, steady: FetchLaw, *, laws: Sequence[tuple[int, ...]] = LAWS, seed: int = 0
) -> SpellFit:
    """Two spells against none.

    Parameters
    ----------
    fetches : Fetches
        At least some hundreds.
    steady : FetchLaw
        The best law without spells.
    laws : sequence of tuples
        Stages of the branches that are tried in a spell.
    seed : int
        Of the crawl that tells what the likelihood misses.

    Notes
    -----
    Cost: some 300 passes for each of `laws` over `SEARCHED` fetches, and 300 over all of them: a few seconds. Some
    seconds more where spells are found.
    """
    unit = fetches.mean_duration
    place = block_beginnings(len(fetches), USED)
    order, leapt = np.argsort(fetches.begin, kind="stable")[place], np.diff(place, prepend=-1) > 1
    begin, duration = fetches.begin[order] / unit, (fetches.end[order] - fetches.begin[order]) / unit
    fresh = leapt | (np.diff(fetches.stretch[order], prepend=-1) != 0)
    since = np.where(leapt, 0.0, np.diff(begin, prepend=begin[:1]))
    every = _events(since, duration, fresh, np.ones(order.size, dtype=bool))
    few = every if order.size <= SEARCHED else _Events(*(column[:SEARCHED] for column in every))
    searched = [_fit(few, stages, start) for stages in laws for start in STARTS]
    best = min(searched, key=lambda found: found.bic(few.duration.size))
    out = held_out_blocks(len(fetches))[order]
    train, held = _events(since, duration, fresh, ~out), _events(since, duration, fresh, out)
    scored, final = _improved(train, best), _improved(every, best)
    # Densities per second; without spells the same fetches are scored.
    shift = math.log(unit)
    with_spells = _log_likelihood(held, scored.stages, scored.values) / held.duration.size - shift
    gain = with_spells - float(log_densities(steady.trained, held.duration * unit).mean())
    likelihood = float(log_densities(steady.law, duration * unit).sum()) + order.size * shift
    bic_gain = steady.fit.parameters * math.log(order.size) - 2 * likelihood - final.bic(order.size)
    missed, wider, kept = np.zeros(3), 1.0, bic_gain > 0 and gain > 0
    if kept:
        under_way = max(1, round(float(fetches.durations.sum()) / fetches.seconds))
        made = _made(final, under_way, min(MADE * order.size, USED), seed)
        missed = _improved(made, final).values[:3] - final.values[:3]
        wider = math.sqrt(1 + order.size / made.duration.size)
    right = final._replace(values=np.concatenate([final.values[:3] - missed, final.values[3:]]))
    right.values[0] = min(right.values[0], LARGEST)
    law, spells = _decoded(right, unit)
    bounds = _intervals(every, final, missed, wider, unit)
    return SpellFit(spells if kept else None, law, *bounds, _decoded(scored, unit), bic_gain, gain)


class _Found(NamedTuple):
    stages: tuple[int, ...]
    values: Float
    likelihood: float

    def bic(self, fetches: int) -> float:
        return len(self.values) * math.log(fetches) - 2 * self.likelihood


def _events(since: Float, duration: Float, fresh: Any, kept: Any) -> _Events:
    """The kept fetches; a piece begins anew wherever some were left out."""
    first = fresh.copy()
    first[1:] |= kept[1:] != kept[:-1]
    return _Events(duration[kept], since[kept], first[kept].astype(np.float64))


def _bounds(data: _Events, branches: int) -> list[tuple[float, float]]:
    slowest = 1 / max(float(data.since.sum()), 1.0)
    per_unit = data.duration.size / max(float(data.since.sum()), 1e-9)
    fastest = max(min(1 / SHORTEST, per_unit / FEWEST), 2 * slowest)
    rates = (math.log(slowest), math.log(fastest))
    return [(math.log(1e-3), math.log(0.95)), rates, rates] + [(-12.0, 12.0)] * (2 * branches - 1)


def _fit(data: _Events, stages: tuple[int, ...], start: tuple[float, float]) -> _Found:
    """The most likely values from one starting point.

    Values: log pace of the slow spell, log rates out of the fast and the slow spell, log rates of the branches, log
    weights of the branches but the last relative to it.
    """
    steady = hyper_erlang_em(Samples.of(data.duration).compressed(500), stages, steps=50, tolerance=1e-5).distribution
    pace, fetches = start
    out = data.duration.size / float(data.since.sum()) / fetches
    rates = -np.diag(steady.subgenerator)
    heads = np.flatnonzero(steady.initial > 0)
    if heads.size < len(stages):
        heads = np.resize(heads, len(stages))
    spread = np.log(rates[heads] * 2 / (1 + pace)) + 0.1 * np.arange(len(stages))
    weights = np.log(np.maximum(steady.initial[heads], 1e-3))
    begin = np.concatenate([[math.log(pace), math.log(out), math.log(out)], spread, weights[:-1] - weights[-1]])
    ordered = tuple(_length(steady, int(head)) for head in heads)
    return _improved(data, _Found(ordered, begin, -math.inf))


def _length(law: PhaseType, head: int) -> int:
    """Stages of the branch that begins in phase `head` of a hyper-Erlang law."""
    after = np.flatnonzero(law.initial[head + 1 :] > 0)
    return int(after[0]) + 1 if after.size else law.order - head


def _improved(data: _Events, found: _Found) -> _Found:
    bounds = _bounds(data, len(found.stages))
    begin = np.clip(found.values, [low for low, _ in bounds], [high for _, high in bounds])
    n = data.duration.size

    def lacking(values: Float) -> float:
        return -_log_likelihood(data, found.stages, values) / n

    run = minimize(lacking, begin, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60, "ftol": 1e-10})
    return _Found(found.stages, np.asarray(run.x), -float(run.fun) * n)


def _log_likelihood(data: _Events, stages: Sequence[int], values: Float) -> float:
    b = len(stages)
    shape = np.array(stages, dtype=np.float64)
    weights = np.append(values[3 + b :], 0.0)
    weights = weights - np.logaddexp.reduce(weights)
    constant = weights + shape * values[3 : 3 + b] - gammaln(shape)
    return float(_forward(data, shape, np.exp(values[3 : 3 + b]), constant, np.exp(values[:3])))


@njit(cache=True)
def _forward(data: _Events, shape: Float, rate: Float, constant: Float, hidden: Float) -> float:
    pace, leave, back = hidden
    total = leave + back
    fast = back / total
    here, score = fast, 0.0
    log_pace = math.log(pace)
    for i in range(data.duration.size):
        d = data.duration[i]
        if data.fresh[i] > 0:
            here = fast
        else:
            here = fast + (here - fast) * math.exp(-total * data.since[i])
        log_d = math.log(d)
        quick = 0.0
        slow = 0.0
        top = -1e300
        for b in range(shape.size):
            one = constant[b] + (shape[b] - 1) * log_d - rate[b] * d
            top = max(top, one, one + shape[b] * log_pace + rate[b] * d * (1 - pace))
        for b in range(shape.size):
            one = constant[b] + (shape[b] - 1) * log_d - rate[b] * d
            quick += math.exp(one - top)
            slow += math.exp(one + shape[b] * log_pace + rate[b] * d * (1 - pace) - top)
        mass = here * quick + (1 - here) * slow
        score += top + math.log(max(mass, 1e-300))
        here = here * quick / max(mass, 1e-300)
    return score


def _made(found: _Found, robots: int, count: int, seed: int) -> _Events:
    """Some `count` fetches of the found model, in its unit of time: work is done at the pace of the present spell."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(13,)))
    law, spells = _decoded(found, 1.0)
    own = count // robots
    work = np.cumsum(law.sample(rng, own * robots).reshape(robots, own), axis=1)
    leave, back = spells.generator[0, 1], spells.generator[1, 0]
    length, paces = float(work.max()), []
    lengths: list[float] = []
    state = int(rng.random() < spells.shares[1])
    while length > 0:
        lengths.append(float(rng.exponential(1 / (back if state else leave))))
        paces.append(float(spells.pace[state]))
        length -= lengths[-1] * paces[-1]
        state = 1 - state
    change = np.concatenate([[0.0], np.cumsum(lengths)])
    end = np.interp(work, np.concatenate([[0.0], np.cumsum(np.multiply(lengths, paces))]), change)
    begin = np.hstack([np.zeros((robots, 1)), end[:, :-1]]).ravel()
    order = np.argsort(begin, kind="stable")
    duration = np.maximum((end.ravel() - begin)[order], 1e-9)
    since = np.diff(begin[order], prepend=0.0)
    return _events(since, duration, np.arange(order.size) == 0, np.ones(order.size, dtype=bool))


def _decoded(found: _Found, unit: float) -> tuple[PhaseType, Spells]:
    """The law of a fetch in the fast spell, and the spells; in seconds."""
    values, b = found.values, len(found.stages)
    weights = np.exp(np.append(values[3 + b :], 0.0))
    weights = weights / weights.sum()
    rates = np.exp(values[3 : 3 + b]) / unit
    law = hyper_erlang([*weights[:-1].tolist(), 1 - float(weights[:-1].sum())], list(found.stages), rates.tolist())
    leave, back = (float(rate) for rate in np.exp(values[1:3]) / unit)
    spells = Spells([[-leave, leave], [back, -back]], [1.0, float(np.exp(values[0]))])
    # Fetches that run through a change make the law a little wrong; Little's law keeps the rate of a robot right.
    return law.scaled(law.mean / (spells.mean_pace * unit)), spells


def _intervals(
    data: _Events, found: _Found, missed: Float, wider: float, unit: float
) -> tuple[Interval, Interval, Interval]:
    """Pace and mean lengths with intervals from the curvature of the log-likelihood at its top.

    `missed` is taken off the first values; the intervals are `wider` times as wide as the curvature tells.
    """
    n = len(found.values)
    step = 0.02
    at = found.values

    def value(shift: Float) -> float:
        return _log_likelihood(data, found.stages, at + shift)

    unit_steps = np.eye(n) * step
    here = value(np.zeros(n))
    single = np.array([value(e) for e in unit_steps])
    curvature = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            if i == j:
                curvature[i, i] = single[i] + value(-unit_steps[i]) - 2 * here
            else:
                curvature[i, j] = curvature[j, i] = value(unit_steps[i] + unit_steps[j]) - single[i] - single[j] + here
    with np.errstate(invalid="ignore"):
        spread = np.sqrt(np.diag(np.linalg.pinv(-curvature / step**2)))
    at = at[:3] - missed
    lows, highs = at - 1.96 * wider * spread[:3], at + 1.96 * wider * spread[:3]
    with np.errstate(over="ignore"):  # what is not known at all has no upper end
        pace = Interval(*(float(np.exp(v)) for v in (at[0], lows[0], highs[0])))
        lengths = [Interval(*(unit * float(np.exp(-v)) for v in (at[k], highs[k], lows[k]))) for k in (1, 2)]
    return pace, lengths[0], lengths[1]
