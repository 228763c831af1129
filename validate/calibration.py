r"""Is the whole machine sound? Standardised differences over many random crawlers must be standard normal.

Each random scenario is solved and simulated for a fixed number of pages, and every compared number gives a score: its
difference in standard errors. If both sides describe the same systems and the standard errors are right, scores are
standard normal. Numbers of one scenario are dependent, numbers of different scenarios are not, so tests are made on one
score per scenario:

* the **pooled** sample takes one number of each scenario, drawn beforehand;
* one sample for each measure takes that measure (of a measure with several parts, one part drawn beforehand).

Each sample is tested with Anderson and Darling's statistic against the fully specified standard normal law (its null
distribution by Monte Carlo, as scipy does it), and by a binomial test of the share of scores beyond +-1.96.

Left out, by rules that look at the solved side and at the plan alone: numbers that are constant (a single mode), and
probabilities or page averages that rest on fewer than `LEAST_CASES` expected cases, for which no normal law can be
expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from crawltwin.model.checks import FloatArray
from crawltwin.model.measures import PROBABILITIES
from crawltwin.model.results.display import Drawn
from crawltwin.work import workers as pool
from crawltwin.work.progress import ProgressCallback
from crawltwin.work.store import Store, key_of
from validate.evidence import Evidence, gather_evidence
from validate.parts import SojournPoint, SojournQuantile
from validate.plan import ValidationPlan
from validate.random_crawlers.scenarios import Family, random_scenario
from validate.score_tests import SampleTest, check_sample, probability_plot
from validate.verdict import Comparison, holm, judge

if TYPE_CHECKING:
    import pandas as pd

SCENARIOS = 200
PAGES, REPLICATIONS = 400_000, 50
"""Length and replications of each scenario."""
LEAST_CASES = 2000
"""Expected cases below which no normal law is expected of a number."""
LEAST_SCORES = 50
"""Smallest sample that is tested."""
LEVEL = 0.01
"""Of the tests of the calibration, and of the search for scenarios that stand out."""
_VERSION = 1


@dataclass(frozen=True)
class Outlier:
    """A scenario that stands out: what, by how much, and how to see it again."""

    index: int
    measure: str
    score: float
    p: float
    command: str

    @property
    def file(self) -> str:
        """Name of the scenario file that reproduces it."""
        return f"outlier-{self.index}.toml"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "index": self.index,
            "measure": self.measure,
            "score": self.score,
            "p": self.p,
            "file": self.file,
            "command": self.command,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Drawn):
    """The result over all scenarios.

    Parameters
    ----------
    seed, count : int
        The series of random scenarios and its length.
    pooled : SampleTest
        One number per scenario.
    by_measure : tuple of SampleTest
        One sample per measure.
    outliers : tuple of Outlier
        Scenarios with a number whose p-value is below `LEVEL` after Bonferroni's correction over everything.
    false_alarms : int
        Scenarios in which a number was called `different`; all are sound, so the expected share is at most 1%.
    broken : tuple of str
        Identities that failed, with their scenario.
    family : {"paper", "features"}
        Which random crawlers.
    """

    seed: int
    count: int
    plan: ValidationPlan
    pooled: SampleTest
    by_measure: tuple[SampleTest, ...]
    outliers: tuple[Outlier, ...]
    false_alarms: int
    broken: tuple[str, ...]
    pages: int
    seconds: float
    family: Family = "paper"

    @property
    def p_false_alarms(self) -> float:
        """Chance of so many false alarms or more at the nominal rate."""
        nominal = 1 - self.plan.confidence
        return float(stats.binomtest(self.false_alarms, self.count, nominal, alternative="greater").pvalue)

    @property
    def adjusted(self) -> FloatArray:
        """Holm's adjusted p-values of all tests: the two of the pooled sample, then the two of each measure."""
        tests = (self.pooled, *self.by_measure)
        return holm([p for one in tests for p in (one.p_anderson_darling, one.p_binomial)])

    @property
    def sound(self) -> bool:
        """No test rejects, nothing stands out, no identity fails, no more false alarms than there may be."""
        return (
            bool((self.adjusted > LEVEL).all())
            and not self.outliers
            and not self.broken
            and self.p_false_alarms > LEVEL
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "verdict": "calibrated" if self.sound else "not calibrated",
            "seed": self.seed,
            "family": self.family,
            "scenarios": self.count,
            "pooled": self.pooled.to_json(),
            "by_measure": [one.to_json() for one in self.by_measure],
            "smallest_adjusted_p": float(self.adjusted.min()),
            "outliers": [one.to_json() for one in self.outliers],
            "false_alarms": self.false_alarms,
            "p_false_alarms": self.p_false_alarms,
            "broken_identities": list(self.broken),
            "plan": self.plan.to_json(),
            "pages": self.pages,
            "seconds": self.seconds,
        }

    def headline(self) -> str:
        """Whether the scores are those of sound sides."""
        word = "calibrated" if self.sound else "not calibrated"
        return f"{word}: {self.count} random scenarios, {self.false_alarms} false alarms, {self.pages:,} pages"

    def to_frame(self) -> pd.DataFrame:
        """Every score, tidy and long: sample, score, normal quantile of its rank."""
        import pandas as pd

        rows = []
        for one in (self.pooled, *self.by_measure):
            for score, expected in zip(*probability_plot(one.scores), strict=True):
                rows.append({"sample": one.name, "score": score, "normal": expected})
        frame = pd.DataFrame(rows)
        frame.attrs["units"] = dict.fromkeys(("score", "normal"), "standard errors")
        return frame

    def write_outliers(self, folder: str | Path) -> tuple[Path, ...]:
        """A scenario file for each scenario that stands out."""
        target = Path(folder)
        paths = []
        for one in self.outliers:
            target.mkdir(parents=True, exist_ok=True)
            random_scenario(self.seed, one.index, self.family).write(target / one.file)
            paths.append(target / one.file)
        return tuple(dict.fromkeys(paths))


def calibrate(
    count: int = SCENARIOS,
    series: int | tuple[int, Family] = 1,
    *,
    pages: int = PAGES,
    engine: str = "compiled",
    workers: int | None = 1,
    cluster: str | None = None,
    store: Store | None = None,
    progress: ProgressCallback | None = None,
) -> Calibration:
    """Solve and simulate `count` random scenarios and test the scores.

    `series` is the seed of a series of crawlers as in the paper, or a seed and the family: "features" has several
    indexers, hysteresis, polling and robots that finish their fetch. With a `store`, finished scenarios are kept there
    and an interrupted calibration goes on where it was. The result is the same whatever the number of workers and of
    interruptions.

    Cost: about half a second per scenario on one core.
    """
    of_paper: Family = "paper"
    seed, family = (series, of_paper) if isinstance(series, int) else series
    plan = calibration_plan(seed, pages, engine)
    pieces = [(plan, index, family) for index in range(count)]
    keys = [key_of("calibration", _VERSION, plan, random_scenario(seed, index, family)) for index in range(count)]
    rows = pool.run(calibrate_one, pieces, workers=workers, cluster=cluster, store=store, keys=keys, progress=progress)
    return judge_calibration(plan, list(rows), family)


def calibration_plan(seed: int, pages: int = PAGES, engine: str = "compiled") -> ValidationPlan:
    """What is declared for each scenario of a calibration."""
    return ValidationPlan(seed=seed, pages=pages, replications=REPLICATIONS, engine=engine)


def calibrate_one(piece: tuple[ValidationPlan, int, Family]) -> dict[str, Any]:
    """One scenario, as plain values: the piece of work that is handed to workers."""
    plan, index, family = piece
    return plain_evidence(gather_evidence(random_scenario(plan.seed, index, family), plan, approach=False), index)


def plain_evidence(evidence: Evidence, index: int) -> dict[str, Any]:
    """What a calibration keeps of one scenario."""
    comparisons = evidence.comparisons
    return {
        "index": index,
        **{name: [getattr(one, name) for one in comparisons] for name in Comparison.__dataclass_fields__},
        "part": [str(one.part) for one in comparisons],
        "cases": [expected_cases(one, evidence) for one in comparisons],
        "broken": [one.name for one in evidence.identities if not one.holds],
        "pages": evidence.sample.diagnostics.pages["delivered"],
        "seconds": evidence.seconds,
    }


def expected_cases(comparison: Comparison, evidence: Evidence) -> float:
    """How many pages a number rests on, from the solved side and the planned length alone."""
    measures, pages, part = evidence.solution.measures, float(evidence.length.pages), comparison.part
    fate = part.fate if isinstance(part, SojournPoint | SojournQuantile) else ""
    if fate == "served":
        pages *= measures["success_probability"]
    elif fate == "obsolete" or comparison.measure == "mean_sojourn_obsolete":
        pages *= measures["obsolescence_probability"]
    if isinstance(part, SojournQuantile):
        return pages * min(part.order, 1 - part.order)
    if comparison.measure == "switch_rate":
        return pages * comparison.solved / float(measures["arrival_rate"])
    if comparison.measure in PROBABILITIES:
        return pages * min(comparison.solved, 1 - comparison.solved)
    return pages


def judge_calibration(plan: ValidationPlan, rows: Sequence[Mapping[str, Any]], family: Family = "paper") -> Calibration:
    """Tests, outliers and false alarms from the scenarios' plain values."""
    rng = np.random.default_rng(np.random.SeedSequence([plan.seed, len(rows), _VERSION]))
    pooled: list[float] = []
    by_measure: dict[str, list[float]] = {}
    everything: list[tuple[int, Comparison]] = []
    alarms, broken = 0, []
    for row in rows:
        comparisons = _comparisons(row)
        eligible = [
            one
            for one, cases in zip(comparisons, row["cases"], strict=True)
            if cases >= LEAST_CASES and one.error > one.solved_error
        ]
        everything += [(row["index"], one) for one in eligible]
        alarms += _alarm(comparisons, plan.confidence)
        broken += [f"{name} in scenario {row['index']}" for name in row["broken"]]
        if eligible:
            pooled.append(eligible[int(rng.integers(len(eligible)))].score)
        for measure in dict.fromkeys(one.measure for one in eligible):
            parts = [one for one in eligible if one.measure == measure]
            by_measure.setdefault(measure, []).append(parts[int(rng.integers(len(parts)))].score)
    limit = LEVEL / max(len(everything), 1)
    outliers = [
        Outlier(index, one.name, one.score, one.p_difference, _command(plan, index))
        for index, one in everything
        if one.p_difference < limit
    ]
    return Calibration(
        plan.seed,
        len(rows),
        plan,
        check_sample("one number per scenario", pooled, plan.seed),
        tuple(
            check_sample(name, scores, plan.seed) for name, scores in by_measure.items() if len(scores) >= LEAST_SCORES
        ),
        tuple(outliers),
        alarms,
        tuple(broken),
        sum(row["pages"] for row in rows),
        sum(row["seconds"] for row in rows),
        family,
    )


def _comparisons(row: Mapping[str, Any]) -> tuple[Comparison, ...]:
    names = tuple(Comparison.__dataclass_fields__)
    return tuple(Comparison(*values) for values in zip(*[row[name] for name in names], strict=True))


def _alarm(comparisons: Sequence[Comparison], confidence: float) -> bool:
    """Whether anything would be called different; Holm's first step settles most families without the others."""
    least = min((one.p_difference for one in comparisons), default=1.0)
    if least * len(comparisons) > 1 - confidence:
        return False
    return any(verdict.word == "different" for verdict in judge(comparisons, confidence))


def _command(plan: ValidationPlan, index: int) -> str:
    return (
        f"crawltwin validate outlier-{index}.toml --pages {plan.pages} --replications {plan.replications} "
        f"--seed {plan.seed} --engine {plan.engine}"
    )
