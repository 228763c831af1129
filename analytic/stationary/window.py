r"""Phase-type obsolescence where R^K does not fit: the ordered window, extrapolated, with an error estimate.

Only the H oldest waiting pages keep their phases in order; of the others the chain knows the counts by phase,
and a page that moves up into the window is drawn from the counts. H = 0 is service in random order. Nothing is lost
when the pages behind the window are always of one batch (`Chain.exact_window`): from H = K - 2 on, or K - b - 1 where
only batches of b pages come and are taken whole or not at all. The state space grows as :math:`R^H K^R` and the error
falls geometrically in H, so windows of 0, 1, 2, ... pages are solved, each starting from the last, and every measure is
extrapolated by itself (`analytic.linear.extrapolation`) until each error estimate is below the tolerance or the next
window would not fit.

Levels so high that all of them together hold less than `CUT` of the mass are left out of the windows: there the rate
at which pages become obsolete is continued in proportion to the number waiting, and the level masses follow from the
aggregated chain. Their estimates of error are their own masses.

Graded windows (counts in segments of growing length) were measured and lose: the error is governed by the first place
where order is forgotten, so every state is best spent on the oldest pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analytic.chain.primitives import Chain
from analytic.chain.sizes import refuse_above
from analytic.chain.summary import Summary, basic_measures
from analytic.linear.count_vectors import count_states
from analytic.linear.extrapolation import ALONE, SHORTEST, Common, limits
from analytic.linear.kronecker import AnyArray
from analytic.sojourn.extrapolated import WindowSojournTimes
from analytic.sojourn.levels import LevelSojournTimes
from analytic.stationary.banded import level_marginals
from analytic.stationary.matrix_free import LevelSolution, solve_matrix_free
from analytic.stationary.solution import Progress
from analytic.stationary.sweeper import MAX_BYTES
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import InputError
from crawltwin.model.measures import PROBABILITIES

CUT = 1e-18
"""Mass of the highest levels that may be left out of the windows."""

FIRST_LEVELS = 24
"""Levels that are looked at first when the highest ones are to be left out."""

TINY = 1e-12
"""Probabilities below this are judged by their absolute error."""

MAX_STATES = 3_000_000
"""Largest window chain that is solved by default: about 300 MB and twenty seconds."""


@dataclass(frozen=True)
class WindowSolution:
    """Extrapolated measures with their error estimates.

    Parameters
    ----------
    measures : mapping
        Name to value; `level_distribution` to an array.
    errors : mapping
        Name to the estimate of its absolute error, of the same shapes.
    summary : Summary
        Marginals of the widest window, all levels (not extrapolated).
    sojourn : WindowSojournTimes
        Laws of the time in the system, extrapolated.
    windows : tuple of int
        The windows H that were solved.
    states, sweeps : int
        Of the widest window.
    residual : float
        Of the widest window's chain.
    exact : bool
        True when the widest window forgets nothing: nothing was extrapolated.
    reached : bool
        Whether every estimate is below the tolerance.
    """

    measures: Mapping[str, float | FloatArray]
    errors: Mapping[str, float | FloatArray]
    summary: Summary
    sojourn: WindowSojournTimes
    windows: tuple[int, ...]
    states: int
    sweeps: int
    residual: float
    exact: bool
    reached: bool

    @property
    def relative_error(self) -> float:
        """Largest estimate relative to its measure; see `relative_error`."""
        return relative_error(self.measures, self.errors)


def solve_window(
    chain: Chain,
    *,
    tolerance: float = 1e-4,
    max_states: int = MAX_STATES,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
) -> WindowSolution:
    """Stationary measures by ordered windows of growing length.

    Cost: the sweeps of the widest window, and about as much again for all narrower ones.

    Parameters
    ----------
    chain : Chain
    tolerance : float
        Largest relative error estimate at which to stop.
    max_states : int
        The next window is not solved when it has more states; the answer then stands with its larger estimates.
    max_bytes : int
        As for `solve_matrix_free`.
    progress : callable, optional
        Called with a word and the fraction done.

    Raises
    ------
    TooLargeError
        Before anything is solved, when the few windows that an estimate needs do not fit.
    """
    if not 0 < tolerance < 1:
        raise InputError(f"tolerance must be in (0, 1); got {tolerance!r}")
    noise = min(1e-9, 1e-5 * tolerance)
    cut, full = _cut(chain, max_states), chain
    values: list[dict[str, FloatArray]] = []
    laws: list[LevelSojournTimes] = []
    windows: list[int] = []
    solution: LevelSolution | None = None
    start: list[AnyArray] | None = None
    for window in range(cut.exact_window + 1):
        if windows and _states(cut, window) > max_states:
            break
        solution = solve_matrix_free(cut, tolerance=noise, window=window, start=start, max_bytes=max_bytes)
        summary = _all_levels(full, cut, solution)
        law = LevelSojournTimes(cut, solution)
        values.append(_values(full, summary, law))
        laws = [*laws[1 - SHORTEST :], law]
        windows.append(window)
        remaining = cut.exact_window - window
        exact = remaining == 0
        found, errors, common = _limits(values, remaining, noise, cut.reach)
        _unseen(errors, found, cut.top)
        worst = relative_error(found, errors)
        if progress is not None:
            progress(f"window {window}", min(1.0, max(0.0, 1 - np.log10(max(worst / tolerance, 1.0)) / 5)))
        if exact or worst <= tolerance:
            break
        start = [solution.space.refine(level, cut.indexers.waiting(i)) for i, level in enumerate(solution.levels)]
    assert solution is not None
    return WindowSolution(
        measures={name: _plain(value) for name, value in found.items()},
        errors={name: _plain(value) for name, value in errors.items()},
        summary=summary,
        sojourn=WindowSojournTimes(tuple(laws), noise, remaining, common),
        windows=tuple(windows),
        states=solution.states,
        sweeps=solution.sweeps,
        residual=solution.residual,
        exact=exact,
        reached=worst <= tolerance,
    )


def relative_error(measures: Mapping[str, float | FloatArray], errors: Mapping[str, float | FloatArray]) -> float:
    """Largest error relative to its measure; for probabilities relative to the larger of it and `TINY` x 1e4.

    A probability of less than `TINY` asked to 1e-4 may be off by `TINY` itself; the two rules are joined at 1e-8.
    """
    worst = 0.0
    for name, error in errors.items():
        value = np.abs(np.asarray(measures[name]))
        scale = np.where(value < TINY, np.maximum(value, 1e4 * TINY), value) if name in PROBABILITIES else value
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(np.asarray(error) == 0, 0.0, np.asarray(error) / scale)
        worst = max(worst, float(np.max(ratio)))
    return worst


def _plain(value: FloatArray) -> float | FloatArray:
    return float(value) if value.ndim == 0 else value


def _states(chain: Chain, window: int) -> int:
    R, total = chain.obsolescence_phases, 0
    for level, size in enumerate(chain.small_sizes.tolist()):
        waiting = chain.indexers.waiting(level)
        ordered = min(waiting, window)
        total += size * int(R**ordered) * count_states(waiting - ordered, R)
    return total


def _cut(chain: Chain, max_states: int) -> Chain:
    """The chain without the levels that hold less than `CUT` together.

    They are found with a window of one page on twice as many levels each time, until the aggregated chain of *all*
    levels puts less than `CUT` above some level that was seen. A second hump far above the first one is thus noticed.
    """
    seen = FIRST_LEVELS
    while seen < chain.top:
        clipped = chain.first_levels(seen)
        _refuse_too_large(clipped, max_states)
        rough = solve_matrix_free(clipped, tolerance=1e-6, window=1)
        tails = np.cumsum(_all_levels(chain, clipped, rough).level_distribution[::-1])[::-1]
        last = int((tails > CUT).sum()) - 1
        if last < seen:
            return chain.first_levels(last)
        seen *= 2
    _refuse_too_large(chain, max_states)
    return chain


def _refuse_too_large(chain: Chain, max_states: int) -> None:
    """An estimate needs a few windows; refuse when they do not fit."""
    window = min(SHORTEST - 1, chain.exact_window)
    refuse_above(
        max_states,
        _states(chain, window),
        f"windows of up to {window} ordered pages",
        "Use fewer phases (two moments often suffice), a smaller capacity, or simulate.",
    )


def _all_levels(full: Chain, cut: Chain, solution: LevelSolution) -> Summary:
    """Marginals of every level: those above the cut from the aggregated chain with clocks in proportion."""
    if cut.top == full.top:
        return solution.summary
    last, c = solution.clocks[-1][: cut.small_sizes[-1]], cut.indexers.number
    clocks = np.zeros((full.top + 1, int(full.small_sizes.max())))
    clocks[: cut.top + 1, : solution.clocks.shape[1]] = solution.clocks
    more = np.arange(cut.top + 1 - c, full.top + 1 - c)[:, None] / max(cut.top - c, 1)
    # Where the controller's modes above differ from those of the last level, all small states have the mean clock.
    clocks[cut.top + 1 :] = more * last.mean()
    alike = np.flatnonzero(full.small_sizes[cut.top + 1 :] == last.size)
    clocks[cut.top + 1 + alike, : last.size] = more[alike] * last
    return Summary.of(full, level_marginals(full, clocks), clocks)


def _values(chain: Chain, summary: Summary, law: LevelSojournTimes) -> dict[str, FloatArray]:
    """Every measure but the cost, which is a sum of these."""
    found: dict[str, FloatArray] = {name: np.asarray(value) for name, value in basic_measures(chain, summary).items()}
    found["mean_sojourn"] = found["mean_pages"] / found["arrival_rate"]
    for fate in ("served", "obsolete"):
        mean = law.moment(1, fate)
        if mean is not None:
            found[f"mean_sojourn_{fate}"] = np.asarray(mean)
    found["level_distribution"] = summary.level_distribution
    return found


def _limits(
    values: list[dict[str, FloatArray]], remaining: int, noise: float, batch: int
) -> tuple[dict[str, FloatArray], dict[str, FloatArray], Common]:
    if remaining == 0:
        return values[-1], {name: 10 * noise * np.abs(value) for name, value in values[-1].items()}, ALONE
    found, common = limits(values, noise, remaining, batch)
    extrapolated, errors = {}, {}
    for name, each in found.items():
        extrapolated[name], errors[name] = each.value, each.error
    return extrapolated, errors, common


def _unseen(errors: dict[str, FloatArray], found: dict[str, FloatArray], top: int) -> None:
    """What was left out of the windows has an error as large as itself."""
    levels = found["level_distribution"]
    if top + 1 < levels.size:
        ends = np.array(errors["level_distribution"])
        ends[top:] = np.maximum(ends[top:], np.abs(levels[top:]))
        errors["level_distribution"] = ends
        errors["loss_probability"] = np.maximum(errors["loss_probability"], np.abs(found["loss_probability"]))
