r"""Losses that are too rare to be counted: splitting on the level, with intervals.

A loss probability of :math:`10^{-9}` would need some :math:`10^{12}` pages. With RESTART (see `splitting`) trials are
multiplied where the level rises, so that full buffers are seen as often as empty ones, each with its small weight.
Thresholds and length come from runs that are thrown away (`split_levels`); they cost or save time only: whatever they
are, the estimate is not biased by them.

**Intervals** rest on independent replications of the whole estimator with thresholds that stay. The loss probability
is the ratio of the sums of weighted pages lost and delivered; its standard error is the jackknife's, and as the
estimate is positive and skewed, Student's t is applied to its logarithm. The skewness of one replication falls with its
length like its spread does, so a replication is made long enough to be spread by a half at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from crawltwin.model import Interval, Scenario, checks
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Faults
from crawltwin.model.results.display import Shown
from crawltwin.model.scenario import takes_scenario
from crawltwin.model.settings import setting
from crawltwin.work import workers as work
from crawltwin.work.progress import ProgressCallback
from crawltwin.work.store import Store, key_of
from simulate.engine.streams import check_seed
from simulate.questions.split_levels import (
    Splits,
    Strata,
    Trial,
    find_splits,
    pilot,
    relative_error_of,
    run_trial,
    trial_of,
)
from simulate.sample.intervals import student_factor

if TYPE_CHECKING:
    import pandas as pd

REPLICATIONS = 30
_FEWEST = 5
"""Finished replications that an interrupted run tells of."""
_TOO_WIDE = 0.3
"""Relative standard error of an estimate whose interval is not to be believed."""


@dataclass(frozen=True, kw_only=True)
class RareSettings:
    """Effort and confidence of a rare-event estimate; `pages` are those that the main trial delivers.

    Where no pages are given, a pilot finds how many the `precision` needs; all trials together deliver `most_pages` at
    most.

    Examples
    --------
    >>> RareSettings(seed=3).replications
    30
    """

    pages: int | None = setting(None, help="pages of the main trial of each replication", metavar="N")
    precision: float = setting(0.1, help="relative half-width of the interval that is planned for", metavar="E")
    most_pages: int = setting(2_000_000_000, help="pages of all trials at most", metavar="N")
    replications: int = setting(REPLICATIONS, help="independent repetitions of the whole estimator", metavar="N")
    seed: int = setting(1, help="seed of all random numbers", metavar="N")
    confidence: float = setting(0.95, help="of the interval", metavar="P")
    workers: int | None = setting(None, help="processes", metavar="N", default_words="all cores")
    cluster: str | None = None

    def __post_init__(self) -> None:
        faults = Faults()
        if self.pages is not None:
            checks.integer(self.pages, "pages", faults, at_least=100)
        checks.number(self.precision, "precision", faults, above=0)
        checks.integer(self.most_pages, "most_pages", faults, at_least=1000)
        checks.integer(self.replications, "replications", faults, at_least=_FEWEST, at_most=1_000_000)
        with faults.under(""):
            check_seed(self.seed)
        with faults.under(""):
            work.check_workers(self.workers)
        confidence = checks.number(self.confidence, "confidence", faults, above=0)
        if confidence is not None and confidence >= 1:
            faults.add("confidence", f"confidence must be below 1; got {confidence!r}", "0.95 is usual.")
        faults.raise_if_any()


@dataclass(frozen=True, repr=False)
class RareLoss(Shown):
    """The loss probability, and how it was found.

    Parameters
    ----------
    loss_probability : Interval
    relative_error : float
        Standard error over the value, by the jackknife over the replications.
    by_replication : tuple of float
        The estimate of each replication by itself.
    lost : int
        Pages lost in all trials, counted plainly.
    pages : int
        Pages that all counted trials delivered.
    splits : Splits
    """

    loss_probability: Interval
    relative_error: float
    by_replication: tuple[float, ...]
    lost: int
    pages: int
    splits: Splits
    seed: int
    interrupted: bool = False
    warnings: tuple[str, ...] = field(default=())

    def headline(self) -> str:
        """The probability with its interval."""
        found = self.loss_probability
        return f"loss probability {found.value:.4g} [{found.low:.4g}, {found.high:.4g}] at {found.confidence:.0%}"

    def to_frame(self) -> pd.DataFrame:
        """One row: the probability with its interval, and the pages that were lost in all trials."""
        import pandas as pd

        row = {"measure": "loss_probability", **self.loss_probability.to_json(), "lost": self.lost}
        return pd.DataFrame([{**row, "unit": "probability"}])

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "measures": {"loss_probability": self.loss_probability.to_json()},
            "relative_error": self.relative_error if math.isfinite(self.relative_error) else None,
            "replications": len(self.by_replication),
            "lost": self.lost,
            "pages": self.pages,
            "splits": [
                {"level": level, "trials": number} for level, number in zip(self.splits.levels, self.splits.numbers)
            ],
            "interrupted": self.interrupted,
            "warnings": list(self.warnings),
            "seed": self.seed,
        }


@takes_scenario
def rare_loss(
    scenario: Scenario,
    settings: RareSettings | None = None,
    *,
    store: Store | None = None,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> RareLoss:
    """The loss probability of a scenario where losses are rare.

    Parameters
    ----------
    scenario : Scenario
        With a policy, or with arrivals that know one number of robots only.
    settings : RareSettings, optional
    store : Store, optional
        Where finished replications are kept.
    progress : callable, optional
        Told (done, planned) after each replication, and that none is done while thresholds and length are sought.
    **options
        Fields of `RareSettings`, which go before `settings`.

    Notes
    -----
    Cost: about a microsecond per stretch of a trial; a loss of 1e-9 of M/M/1/K to 10% takes some seconds. It pays where
    a loss comes with a high level. Where it comes with something else, such as a slow spell of the web, the run is
    longer. Interrupted, it tells what the finished replications say, where there are a few.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> found = rare_loss(examples.load("mm1k"), pages=2000, workers=1)
    >>> found.loss_probability.covers(0.018176)
    True
    """
    settings = replace(settings, **options) if settings else RareSettings(**options)
    scenario.policy_in_force  # noqa: B018

    def seeking() -> None:
        if progress is not None:
            progress(0, settings.replications)

    splits, rate = find_splits(scenario, settings.seed, seeking)
    pages = settings.pages
    if pages is None:
        wanted = settings.precision / student_factor(settings.replications, settings.confidence)
        found = pilot(scenario, splits, rate, settings.seed, seeking)
        pages = found.pages_for(wanted, settings.replications, settings.most_pages)
    trials = [trial_of(scenario, splits, settings.seed, index, pages / rate) for index in range(settings.replications)]
    runs: list[Strata] = []
    interrupted = False
    try:
        finished = work.run(
            run_to_keep,
            trials,
            workers=settings.workers,
            cluster=settings.cluster,
            store=store,
            keys=None if store is None else [_key(trial) for trial in trials],
            progress=progress,
        )
        runs.extend(Strata(*plain) for plain in finished)
    except KeyboardInterrupt:
        if len(runs) < _FEWEST:
            raise
        interrupted = True
    return replace(_estimate(runs, splits, settings), interrupted=interrupted)


def _key(trial: Trial) -> str:
    splits = trial.splits
    return key_of("rare", trial.scenario, splits.levels, splits.numbers, trial.seed, trial.time, trial.replication)


def run_to_keep(trial: Trial) -> list[FloatArray]:
    """The sums of a replication as plain values, for a store."""
    run = run_trial(trial)
    return [run.at_level, run.lost, run.delivered]


def _estimate(runs: list[Strata], splits: Splits, settings: RareSettings) -> RareLoss:
    sums = np.array([run.weighted(splits) for run in runs])
    by_replication = tuple(float(one) for one in sums[:, 0] / sums[:, 1])
    lost, pages = (int(sum(getattr(run, name).sum() for run in runs)) for name in ("lost", "delivered"))
    value = float(sums[:, 0].sum() / sums[:, 1].sum())
    warnings: list[str] = []
    if value == 0.0:
        # Not one loss in all trials: what a plain count would say.
        relative, low = math.inf, 0.0
        high = float(special.betaincinv(1, sums[:, 1].sum(), settings.confidence))
        warnings.append("no loss was seen, although trials were split: the limit is that of plain counting")
    else:
        relative = relative_error_of(sums)
        reach = student_factor(len(sums), settings.confidence) * relative
        low, high = value * math.exp(-reach), min(1.0, value * math.exp(min(reach, 700.0)))
        if relative > _TOO_WIDE:
            warnings.append("the replications differ much, so the interval may be too narrow: make them longer")
        elif settings.pages is None and reach > 1.25 * settings.precision:
            warnings.append(f"the interval is wider than the {settings.precision:g} that was planned for")
    found = Interval(value, low, high, settings.confidence)
    return RareLoss(found, relative, by_replication, lost, pages, splits, settings.seed, warnings=tuple(warnings))
