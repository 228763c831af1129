r"""Equivalence, not absence of difference: what may be said about one measure, and about all of them together.

For a solved value :math:`m`, a simulated one :math:`\hat m` with standard error s on f degrees of freedom, and a margin
:math:`\delta` declared beforehand:

* **equivalent**: both hypotheses :math:`\hat m - m \le -\delta` and :math:`\hat m - m \ge \delta` are rejected at
  level :math:`\alpha` = 1 - confidence (two one-sided tests, Schuirmann 1987). The same in one picture: the interval
  from the lower to the upper one-sided bound lies inside :math:`m \pm \delta`.
* **different**: not equivalent, and :math:`\hat m = m` is rejected with Holm's correction over the whole family of
  measures, so that the chance of even one false `different` in a sound comparison is at most :math:`\alpha`.
* **inconclusive**: neither; with an estimate of the pages that are missing.

A run that is too short for its margin is a first look: whoever reads `inconclusive` runs a longer one, and each look
may err. As in trials that are looked at early (spending of :math:`\alpha`: Lan and DeMets 1983, Kim and DeMets 1987),
a number that has the share t < 1 of the information that its margin asks for (`information`) is called different at
the level :math:`\alpha t^2` only. Budgets that are doubled until all is settled then err with a chance of at most
:math:`\alpha (1 + 1/4 + 1/16 + \dots) = 4\alpha/3` in all, and a run of the planned length loses nothing.

"All are equivalent" is an intersection-union claim (Berger 1982): it holds at level :math:`\alpha` when every single
test rejects at level :math:`\alpha`, without any correction.

The solved side may be an approximation: its error counts against the claim on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from crawltwin.model.checks import FloatArray
from crawltwin.model.measures import PROBABILITIES, unit_of
from validate.parts import Part, words_of

Word = Literal["equivalent", "different", "inconclusive"]


@dataclass(frozen=True)
class Comparison:
    """One number from both sides, before any verdict.

    Parameters
    ----------
    measure : str
        Name of the measure.
    part : Part or str
        Which part of it, for measures with several numbers (`validate.parts`); an empty text for the others.
    solved, simulated : float
        The two values; the simulated one is not a number where no case was seen.
    error : float
        Standard error of the simulated value; infinite where too few pages were seen to tell.
    freedom : int
        Degrees of freedom of that standard error.
    margin : float
        Differences up to this size do not matter; declared in the plan.
    solved_error : float
        Bound on the error of the solved value.
    split_pages : int
        Pages of all trials where the value was found by splitting on the level; 0 where cases were counted.
    cases : float
        Pages that the simulated value rests on (of a quantile: those beyond it); infinite: on all of them.
    """

    measure: str
    part: Part | str
    solved: float
    simulated: float
    error: float
    freedom: int
    margin: float
    solved_error: float = 0.0
    split_pages: int = 0
    cases: float = math.inf

    @property
    def by(self) -> str:
        """How the simulated value was found."""
        return "splitting" if self.split_pages else "counting"

    @property
    def name(self) -> str:
        """Measure and part in one word."""
        return self.measure if self.part == "" else f"{self.measure}[{self.part}]"

    @property
    def words(self) -> str:
        """Measure and part for people."""
        return words_of(self.name)

    @property
    def seen(self) -> float | None:
        """The simulated value; None where no case was seen."""
        return _finite(self.simulated)

    @property
    def difference(self) -> float:
        """Simulated less solved."""
        return self.simulated - self.solved

    @property
    def score(self) -> float:
        """The difference in standard errors, as a standard normal quantile; 0 inside the solved side's own error.

        The probability of Student's t is carried over to the normal law, so that scores of runs with different degrees
        of freedom can be pooled.
        """
        distance = max(abs(self.difference) - self.solved_error, 0.0)
        if distance == 0.0 or math.isinf(self.error):
            return 0.0
        if self.error == 0.0:
            return math.copysign(math.inf, self.difference)
        size = stats.norm.isf(stats.t.sf(distance / self.error, self.freedom))
        return math.copysign(float(size), self.difference)

    @property
    def p_difference(self) -> float:
        """Chance of a difference at least as large if both sides are the same system."""
        distance = max(abs(self.difference) - self.solved_error, 0.0)
        if distance == 0.0 or math.isinf(self.error):
            return 1.0
        return 0.0 if self.error == 0.0 else float(2 * stats.t.sf(distance / self.error, self.freedom))

    @property
    def p_equivalence(self) -> float:
        """The larger of the two one-sided p-values."""
        room = self.margin - self.solved_error - abs(self.difference)
        if math.isinf(self.error):
            return 1.0
        if self.error == 0.0:
            # Two constants that are the same number agree within any margin, none included.
            return 0.0 if room > 0 or room == self.difference == 0.0 else 1.0
        return float(stats.t.sf(room / self.error, self.freedom))


@dataclass(frozen=True)
class Verdict:
    """What may be said about one comparison.

    `low` and `high` are the one-sided confidence bounds of the simulated value, each at the plan's confidence, where
    they are possible (no share below 0 or above 1): the verdict is `equivalent` exactly when both, before that, lie
    inside `solved` +- `margin`. `p_difference` is Holm's adjusted value,
    of a number that is not yet known as well as planned divided by the part of the level that it may use.
    `more_pages` estimates what is missing where the verdict is `inconclusive`; None where no length would do.
    """

    comparison: Comparison
    low: float
    high: float
    word: Word
    p_equivalence: float
    p_difference: float
    more_pages: int | None = None

    @property
    def needs(self) -> str:
        """The verdict in words."""
        if self.word != "inconclusive":
            return self.word
        return f"inconclusive (needs {pages_needed(self.more_pages)})"

    def to_json(self) -> dict[str, Any]:
        """The contract's six values, and what they rest on; None for what was not seen and for infinite bounds."""
        found = self.comparison
        return {
            "solved": found.solved,
            "simulated": found.seen,
            "low": _finite(self.low),
            "high": _finite(self.high),
            "margin": found.margin,
            "verdict": self.word,
            "standard_error": _finite(found.error),
            "score": _finite(found.score),
            "p_equivalence": self.p_equivalence,
            "p_difference": self.p_difference,
            "more_pages": self.more_pages,
            "by": found.by,
        }


def judge(
    comparisons: Sequence[Comparison],
    confidence: float = 0.99,
    power: float = 0.99,
    pages: int = 0,
    spending: bool = False,
) -> tuple[Verdict, ...]:
    """A verdict for each comparison of one family.

    Parameters
    ----------
    comparisons : sequence of Comparison
        The whole family: Holm's correction is over all of them.
    confidence : float
        Of each one-sided test, and of the family for `different`.
    power : float
        With which a longer run shall decide; for the estimate of what is missing.
    pages : int
        Pages that the standard errors rest on.
    spending : bool
        Whether a number that is not yet known as well as its margin asks for has a smaller level for `different`.

    Examples
    --------
    >>> same = Comparison("mean_pages", "", 2.0, 2.001, 0.001, 99, margin=0.01)
    >>> off = Comparison("loss_probability", "", 0.1, 0.12, 0.001, 99, margin=0.005)
    >>> [verdict.word for verdict in judge([same, off])]
    ['equivalent', 'different']
    """
    if not comparisons:
        return ()
    alpha = 1 - confidence
    shares = [spent(information(found, confidence, power)) if spending else 1.0 for found in comparisons]
    adjusted = holm([min(found.p_difference / share, 1.0) for found, share in zip(comparisons, shares, strict=True)])
    verdicts = []
    for found, p, share in zip(comparisons, adjusted, shares, strict=True):
        word: Word = "inconclusive"
        if found.p_equivalence <= alpha:
            word = "equivalent"
        elif p <= alpha:
            word = "different"
        reach = 0.0 if found.error == 0.0 else float(stats.t.isf(alpha, found.freedom)) * found.error
        missing = None
        if word == "inconclusive":
            missing = missing_pages(found, alpha, power, found.split_pages or pages, len(comparisons) / share)
        ends = (-math.inf, math.inf) if math.isinf(reach) else _possible(found, reach)
        verdicts.append(Verdict(found, *ends, word, found.p_equivalence, float(p), missing))
    return tuple(verdicts)


def _possible(found: Comparison, reach: float) -> tuple[float, float]:
    """The bounds of the simulated value, cut to what the measure can be; a value that is beyond stays inside."""
    low, high = found.simulated - reach, found.simulated + reach
    if unit_of(found.measure) not in ("", "cost"):
        low = max(low, min(0.0, found.simulated))
    if found.measure in PROBABILITIES:
        high = min(high, max(1.0, found.simulated))
    return low, high


def pages_needed(more: int | None) -> str:
    """How many more pages would decide, in words: an estimate, so two digits, rounded up.

    Examples
    --------
    >>> pages_needed(52_655_584), pages_needed(87), pages_needed(None)
    ('about 53,000,000 more pages', 'about 87 more pages', 'more pages than can be told')
    """
    return "more pages than can be told" if more is None else f"about {round_up(more):,} more pages"


def round_up(pages: int) -> int:
    """An estimate of pages to two digits, rounded up.

    Examples
    --------
    >>> round_up(52_655_584), round_up(99), round_up(991)
    (53000000, 99, 1000)
    """
    step = int(10 ** max(len(str(pages)) - 2, 0))
    return -(-pages // step) * step


def holm(p_values: Sequence[float]) -> FloatArray:
    """Holm's adjusted p-values: of n tests, the k-th smallest value times n - k + 1, never below one before it.

    The same as in statsmodels, which collects garbage at every call: most of the time of judging a calibration.

    Examples
    --------
    >>> holm([0.5, 0.25, 0.125]).tolist()
    [0.5, 0.5, 0.375]
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1)), 1.0)
    return adjusted


def overall(verdicts: Sequence[Verdict]) -> Word:
    """The worst word of several verdicts; `inconclusive` where there is none."""
    return worst_word(verdict.word for verdict in verdicts)


def worst_word(words: Iterable[Word]) -> Word:
    """`different` when anything is, `equivalent` when everything is, else `inconclusive`."""
    found = set(words)
    if "different" in found:
        return "different"
    return "equivalent" if found == {"equivalent"} else "inconclusive"


def reach(confidence: float, power: float) -> float:
    """Margin in standard errors at which two one-sided tests decide with that power when the sides agree.

    With equal sides the tests both reject with probability 2 Phi(margin/s - z_confidence) - 1.
    """
    return float(stats.norm.ppf(confidence) + stats.norm.ppf((1 + power) / 2))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def information(found: Comparison, confidence: float, power: float) -> float:
    """Share of the pages that margin, confidence and power ask for, from the standard error seen; at most 1.

    It is 1 too where no length would do: for constants, and for margins below the error of the solved side.
    """
    room = found.margin - found.solved_error
    if found.error == 0.0 or room <= 0.0:
        return 1.0
    return min((room / (reach(confidence, power) * found.error)) ** 2, 1.0)


def spent(share: float) -> float:
    """Part of the error level that a first look may use, at a share of the information.

    Examples
    --------
    >>> spent(1.0), spent(0.1)
    (1.0, 0.010000000000000002)
    """
    # A p-value below 1e-300 is none: nothing is divided by zero.
    return max(share**2, 1e-300)


def missing_pages(found: Comparison, alpha: float, power: float, pages: int, family: float) -> int | None:
    """Pages until the tests decide, if the difference stays what it is; None when that cannot be told.

    `family` is the number of tests that Bonferroni's first step corrects for.
    """
    if not math.isfinite(found.error) or pages <= 0:
        return None
    distance, room = abs(found.difference), found.margin - found.solved_error
    wanted = []
    if distance < room:
        wanted.append((reach(1 - alpha, power) * found.error / (room - distance)) ** 2)
    if distance > found.solved_error:
        # Bonferroni's first step is what Holm asks of the most prominent measure.
        needed = stats.norm.isf(alpha / (2 * family)) + stats.norm.ppf(power)
        wanted.append((float(needed) * found.error / (distance - found.solved_error)) ** 2)
    factor = min(wanted, default=math.inf)
    if not math.isfinite(factor) or factor * pages > 1e15:
        return None
    return int(np.ceil(max(factor - 1, 0.01) * pages))
