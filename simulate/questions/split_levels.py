"""Where trials are split, and how long a run must be: found from short runs that are thrown away.

**Thresholds.** Each look estimates the probability of at least l pages for the levels that it sees, and the next one
splits so that each of these levels is seen about as often as the first, which shows some more levels; until losses are
seen.

**Length.** A pilot of independent runs tells how much one run differs from the next, and how many pages its trials
deliver. Neither it nor the looks have a part in the estimate: a run that was also counted would favour lucky lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import mul

import numpy as np
from scipy import special

from crawltwin.model import Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import InputError
from simulate.engine.columns import COUNT
from simulate.engine.length import Length, Start
from simulate.engine.run_plan import RunPlan, draw_opening, make_plan, opening
from simulate.engine.streams import open_streams
from simulate.sample.estimates import pseudo_values, standard_errors

_LOOKING, _PILOT = 1_000_000_000, 1_500_000_000
"""Numbers of the first replications that look for thresholds, and of the pilot: far from those that are counted."""
_MOST_LOOKS = 60
_LOOK_PAGES = 5_000
_LONGEST_LOOK = 100 * _LOOK_PAGES
_SEEN = 200
"""Events of trials at or above a level from which its probability counts as seen."""
_ENOUGH = 100
"""Pages lost in a look, counted plainly, after which thresholds are good enough."""
_LEAST_SPLIT = 4
"""Trials that a threshold is worth."""
_PILOTS = 16
_CAUTION = 0.9
"""Confidence of the upper limit of the pilot's variance."""
_WIDEST = 0.5
"""Spread of a single run, relative to the value, that a replication may have at most: beyond it is skewed."""
_WARM_UP = 0.1
"""Share of the counted time that goes before it."""


@dataclass(frozen=True)
class Splits:
    """Levels at which trials are split, each with its number of trials."""

    levels: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()

    @property
    def strata(self) -> int:
        """Strata, that below all thresholds included."""
        return len(self.levels) + 1

    @property
    def weights(self) -> FloatArray:
        """What an event counts in each stratum."""
        return np.asarray(1.0 / np.cumprod([1.0, *self.numbers]))


@dataclass(frozen=True)
class Trial:
    """One replication of the estimator: its scenario, its thresholds, its time without and with counting."""

    scenario: Scenario
    splits: Splits
    seed: int
    replication: int
    warm_up: float
    time: float


@dataclass(frozen=True, eq=False)
class Strata:
    """Plain sums of each stratum: time at each level, pages lost, pages delivered."""

    at_level: FloatArray
    lost: FloatArray
    delivered: FloatArray

    def weighted(self, splits: Splits) -> FloatArray:
        """Pages lost and pages delivered, each with its weight; the same bits wherever the arrays lie in memory."""
        weights = splits.weights.tolist()
        return np.array([math.fsum(map(mul, own.tolist(), weights)) for own in (self.lost, self.delivered)])


@dataclass(frozen=True)
class Pilot:
    """What a few runs say about the length of the others.

    Parameters
    ----------
    spread : float
        Standard deviation of one run's loss over its value, for a run that delivers one page; infinite where no loss
        was seen.
    work : float
        Pages that all trials deliver for each page of the main one.
    """

    spread: float
    work: float

    def pages_for(self, relative_error: float, replications: int, most_pages: float) -> int:
        """Pages of the main trial of each replication; as many as `most_pages` of all trials allow, at most."""
        most = max(_LOOK_PAGES, most_pages / self.work / replications)
        if not math.isfinite(self.spread):
            return int(min(4 * _LOOK_PAGES, most))
        alone = (self.spread / _WIDEST) ** 2
        together = self.spread**2 / (relative_error**2 * replications)
        return int(min(max(alone, together, _LOOK_PAGES), most))


def run_trial(trial: Trial) -> Strata:
    """Run one replication of the estimator."""
    from simulate.engine.state import begin
    from simulate.questions.splitting import restart

    plan = _plan(trial.scenario, trial.splits)
    streams = open_streams(trial.seed, trial.replication)
    level, rows = draw_opening(opening(trial.scenario, plan), Start(), streams)
    splits = np.array([0, *trial.splits.levels]), np.array([1, *trial.splits.numbers])
    tally = restart(plan, streams, begin(plan, level, rows), splits, (trial.warm_up, trial.warm_up + trial.time))
    counted = slice(trial.splits.strata)
    counts = tally.counts[counted].astype(np.float64)
    return Strata(tally.time_at_level[counted], counts[:, COUNT.lost], counts[:, COUNT.delivered])


def trial_of(scenario: Scenario, splits: Splits, seed: int, replication: int, time: float) -> Trial:
    """A replication of a counted time, with the warm-up before it."""
    return Trial(scenario, splits, seed, replication, _WARM_UP * time, time)


def _plan(scenario: Scenario, splits: Splits) -> RunPlan:
    """Strata take the place of bins, the last is for what is not counted; the engine knows limits of the level."""
    plan = make_plan(scenario, Length(time=1.0, bins=splits.strata + 1), general=True)
    return plan._replace(bin_time=math.inf)


def pilot(scenario: Scenario, splits: Splits, rate: float, seed: int, told: Callable[[], None] = lambda: None) -> Pilot:
    """Runs with random numbers of their own, made longer until one differs from the next by less than a half.

    `told` is called before each run.
    """
    pages, first = _LOOK_PAGES, _PILOT
    while True:
        trials = [trial_of(scenario, splits, seed, first + index, pages / rate) for index in range(_PILOTS)]
        runs = []
        for trial in trials:
            told()
            runs.append(run_trial(trial))
        sums = np.array([run.weighted(splits) for run in runs])
        work = float(sum(run.delivered.sum() for run in runs)) / sums[:, 1].sum() * (1 + _WARM_UP)
        spread = math.inf
        if sums[:, 0].sum() > 0:
            careful = math.sqrt((_PILOTS - 1) / float(special.chdtri(_PILOTS - 1, _CAUTION)))
            spread = relative_error_of(sums) * math.sqrt(_PILOTS) * careful
        if spread <= _WIDEST or 4 * pages > _LONGEST_LOOK:
            return Pilot(spread * math.sqrt(pages), work)
        pages, first = 4 * pages, first + _PILOTS


def relative_error_of(sums: FloatArray) -> float:
    """Standard error of the ratio of the summed columns over its value, by the jackknife over rows."""
    pseudo = pseudo_values(sums, lambda own: own[..., :1] / own[..., 1:])
    return float(standard_errors(pseudo)[0] * sums[:, 1].sum() / sums[:, 0].sum())


def find_splits(scenario: Scenario, seed: int, told: Callable[[], None] = lambda: None) -> tuple[Splits, float]:
    """Where trials are split, found from a few short runs, and the rate of pages delivered.

    `told` is called before each run.
    """
    splits, rate, pages = Splits(), scenario.arrivals.page_rate(_robots_when_empty(scenario)), _LOOK_PAGES
    for look in range(_MOST_LOOKS):
        told()
        time = pages / rate
        run = run_trial(trial_of(scenario, splits, seed, _LOOKING + look, time))
        rate = float(run.weighted(splits)[1]) / time
        if rate <= 0:
            raise InputError(
                "the scenario must deliver pages for a loss to be estimated; got none in a first look. Make it busier"
            )
        if run.lost.sum() >= _ENOUGH:
            break
        better = _splits_for(run, splits.weights, max(rate, scenario.indexers / scenario.service.mean))
        if better == splits:
            # Nothing new was seen: look longer.
            pages *= 2
            if pages > _LONGEST_LOOK:
                break
        splits = better
    return splits, rate


def _robots_when_empty(scenario: Scenario) -> int:
    policy = scenario.policy_in_force.as_thresholds()
    return policy.robots[policy.mode_after(0, 0)]


def _splits_for(run: Strata, weights: FloatArray, pace: float) -> Splits:
    """Thresholds that would show every level seen in a run about as often as level 1; `pace` events per time."""
    tail = np.cumsum((weights[:, None] * run.at_level).sum(axis=0)[::-1])[::-1]
    seen = np.cumsum(run.at_level.sum(axis=0)[::-1])[::-1] * pace >= _SEEN
    levels: list[int] = []
    numbers: list[int] = []
    so_far = 1.0
    for level in range(2, tail.size):
        if not seen[level] or tail[level] <= 0:
            break
        number = round(tail[1] / tail[level] / so_far)
        if number >= _LEAST_SPLIT:
            levels.append(level)
            numbers.append(number)
            so_far *= number
    return Splits(tuple(levels), tuple(numbers))
