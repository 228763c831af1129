r"""Phase-type obsolescence where R^K does not fit: the ordered window, extrapolated, with an error estimate.

Only the H oldest waiting pages keep their phases in order; of the others the chain knows the counts by phase,
and a page that moves up into the window is drawn from the counts. H = 0 is service in random order, H = K - 2
is the paper's chain. The state space grows as :math:`R^H K^R` and the error falls geometrically in H, so
windows of 0, 1, 2, ... pages are solved, each starting from the last, and every measure is extrapolated by
itself (`analytic.extrapolate`) until each error estimate is below the tolerance or the next window would not
fit.

Levels so high that all of them together hold less than `CUT` of the mass are left out of the windows: there the rate
at which pages become obsolete is continued in proportion to the number waiting, and the level masses follow from the
aggregated chain. Their estimates of error are their own masses.

Graded windows (counts in segments of growing length) were measured and lose: the error is governed by the first place
where order is forgotten, so every state is best spent on the oldest pages.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analytic.banded import level_marginals
from analytic.chain import Chain, LevelFlow
from analytic.extrapolate import SHORTEST, Limit, limit, limits
from analytic.kronecker import AnyArray, count_states
from analytic.matrix_free import MAX_BYTES, LevelSolution, Progress, solve_matrix_free
from analytic.sojourn import Fate
from analytic.sojourn_levels import LevelSojournTimes
from analytic.summary import Summary, basic_measures
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Fault, InputError, TooLargeError

CUT = 1e-18
"""Mass of the highest levels that may be left out of the windows."""

FIRST_LEVELS = 24
"""Levels that are looked at first when the highest ones are to be left out."""

TINY = 1e-12
"""Probabilities below this are judged by their absolute error."""

MAX_STATES = 3_000_000
"""Largest window chain that is solved by default: about 300 MB and twenty seconds."""

PROBABILITIES = (
    "loss_probability",
    "obsolescence_probability",
    "success_probability",
    "starvation_probability",
    "level_distribution",
)


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
        True when the widest window keeps all pages in order: nothing was extrapolated.
    reached : bool
        Whether every estimate is below the tolerance.
    seconds : float
        Time taken.
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
    seconds: float

    @property
    def relative_error(self) -> float:
        """Largest estimate relative to its measure; see `relative_error`."""
        return relative_error(self.measures, self.errors)


@dataclass(frozen=True, eq=False)
class WindowSojournTimes:
    """Laws of the time in the system, extrapolated from the widest windows.

    Parameters
    ----------
    laws : tuple of LevelSojournTimes
        Of successive windows, the widest last.
    noise : float
        Relative error of each law itself.
    remaining : int
        Windows left until all pages are in order; with 0 the last law is exact and nothing is extrapolated.
    share : float
        Least share of a correction to expect as error, as found for the stationary measures.
    """

    laws: tuple[LevelSojournTimes, ...]
    noise: float
    remaining: int
    share: float

    def probability(self, fate: Fate) -> float:
        """P(a page has this fate); for `all`, the probability of being accepted."""
        return float(self._limit([law.probability(fate) for law in self.laws]).value)

    def moment(self, k: int, fate: Fate = "all") -> float | None:
        """The k-th raw moment, given the fate; None when no page has it."""
        found = self.moment_limit(k, fate)
        return None if found is None else float(found.value)

    def moment_limit(self, k: int, fate: Fate = "all") -> Limit | None:
        """The k-th raw moment with the estimate of its error."""
        return self._all([law.moment(k, fate) for law in self.laws])

    def transform(self, u: complex, fate: Fate = "all") -> complex | None:
        """Laplace-Stieltjes transform at u (Re u >= 0), given the fate; real and imaginary part extrapolated."""
        values = [law.transform(u, fate) for law in self.laws]
        parts = self._all([None if value is None else np.array([value.real, value.imag]) for value in values])
        return None if parts is None else complex(*np.asarray(parts.value).tolist())

    def survival(self, x: npt.ArrayLike, fate: Fate = "all") -> FloatArray | None:
        """P(V > x) at each x, given the fate."""
        found = self._all([law.survival(x, fate) for law in self.laws])
        return None if found is None else np.clip(found.value, 0.0, 1.0)

    def cdf(self, x: npt.ArrayLike, fate: Fate = "all") -> FloatArray | None:
        """P(V <= x) at each x, given the fate."""
        tail = self.survival(x, fate)
        return None if tail is None else 1.0 - tail

    def quantile(self, p: float, fate: Fate = "all") -> float | None:
        """The smallest x with P(V <= x) >= p, given the fate."""
        found = self.quantile_limit(p, fate)
        return None if found is None else float(found.value)

    def quantile_limit(self, p: float, fate: Fate = "all") -> Limit | None:
        """The quantile with the estimate of its error."""
        return self._all([law.quantile(p, fate) for law in self.laws])

    def _all(self, values: list[float | None] | list[FloatArray | None]) -> Limit | None:
        known = [value for value in values if value is not None]
        return self._limit(known) if len(known) == len(values) else None

    def _limit(self, values: list[float] | list[FloatArray] | list[float | FloatArray]) -> Limit:
        if self.remaining == 0:
            last = np.asarray(values[-1], dtype=np.float64)
            return Limit(last, self.noise * np.abs(last))
        return limit(values, self.noise, self.remaining, self.share)


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
    began = time.perf_counter()
    noise = min(1e-9, 1e-5 * tolerance)
    cut, full = _cut(chain, max_states), chain
    values: list[dict[str, FloatArray]] = []
    laws: list[LevelSojournTimes] = []
    windows: list[int] = []
    solution: LevelSolution | None = None
    start: list[AnyArray] | None = None
    deepest = max(cut.top - 1, 0)
    for window in range(deepest + 1):
        if windows and _states(cut, window) > max_states:
            break
        solution = solve_matrix_free(cut, tolerance=noise, window=window, start=start, max_bytes=max_bytes)
        summary = _all_levels(full, cut, solution)
        law = LevelSojournTimes(cut, solution)
        values.append(_values(full, summary, law))
        laws = [*laws[1 - SHORTEST :], law]
        windows.append(window)
        remaining = max(deepest - 1 - window, 0)
        exact = remaining == 0
        found, errors, share = _limits(values, remaining, noise)
        _unseen(errors, found, cut.top)
        worst = relative_error(found, errors)
        if progress is not None:
            progress(f"window {window}", min(1.0, max(0.0, 1 - np.log10(max(worst / tolerance, 1.0)) / 5)))
        if exact or worst <= tolerance:
            break
        start = [level if i == 0 else solution.space.refine(level, i - 1) for i, level in enumerate(solution.levels)]
    assert solution is not None
    return WindowSolution(
        measures={name: _plain(value) for name, value in found.items()},
        errors={name: _plain(value) for name, value in errors.items()},
        summary=summary,
        sojourn=WindowSojournTimes(tuple(laws), noise, remaining, share),
        windows=tuple(windows),
        states=solution.states,
        sweeps=solution.sweeps,
        residual=solution.residual,
        exact=exact,
        reached=worst <= tolerance,
        seconds=time.perf_counter() - began,
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
    R, A = chain.obsolescence_phases, chain.arrival_phases * chain.service_phases
    sizes = (min(n, window) for n in range(chain.top))
    return A * sum(int(R**h) * count_states(n - h, R) for n, h in enumerate(sizes))


def _cut(chain: Chain, max_states: int) -> Chain:
    """The chain without the levels that hold less than `CUT` together.

    They are found with a window of one page on twice as many levels each time, until the aggregated chain of *all*
    levels puts less than `CUT` above some level that was seen. A second hump far above the first one is thus noticed.
    """
    seen = FIRST_LEVELS
    while seen < chain.top:
        clipped = _first_levels(chain, seen)
        _refuse_too_large(clipped, max_states)
        rough = solve_matrix_free(clipped, tolerance=1e-6, window=1)
        tails = np.cumsum(_all_levels(chain, clipped, rough).level_distribution[::-1])[::-1]
        last = int((tails > CUT).sum()) - 1
        if last < seen:
            return _first_levels(chain, last)
        seen *= 2
    _refuse_too_large(chain, max_states)
    return chain


def _refuse_too_large(chain: Chain, max_states: int) -> None:
    """An estimate needs a few windows; refuse when they do not fit."""
    window = min(SHORTEST - 1, max(chain.top - 2, 0))
    states = _states(chain, window)
    if states > max_states:
        raise TooLargeError(
            [
                Fault(
                    "capacity",
                    f"windows of up to {window} ordered pages must have at most {max_states:,} states; got {states:,} "
                    f"for {chain.top:,} levels and {chain.obsolescence_phases} obsolescence phases",
                    "Use fewer phases (two moments often suffice), a smaller capacity, or simulate.",
                )
            ]
        )


def _first_levels(chain: Chain, last: int) -> Chain:
    return replace(
        chain, flows=tuple(_clipped(flow, last - level) for level, flow in enumerate(chain.flows[: last + 1]))
    )


def _clipped(flow: LevelFlow, room: int) -> LevelFlow:
    """Arrivals that would lead further than `room` levels up end there; losses stay those of the full chain."""
    if all(step <= room for step in flow.jumps):
        return flow
    stay = flow.stay.copy()
    jumps: dict[int, FloatArray] = {}
    for step, rates in flow.jumps.items():
        end = min(step, room)
        if end == 0:
            stay = stay + rates
        else:
            jumps[end] = jumps.get(end, np.zeros_like(stay)) + rates
    return replace(flow, stay=stay, jumps=jumps)


def _all_levels(full: Chain, cut: Chain, solution: LevelSolution) -> Summary:
    """Marginals of every level: those above the cut from the aggregated chain with clocks in proportion."""
    if cut.top == full.top:
        return solution.summary
    A = full.arrival_phases * full.service_phases
    clocks = np.zeros((full.top + 1, A))
    clocks[1 : cut.top + 1] = solution.clocks[1:]
    waiting = np.arange(cut.top, full.top)[:, None] / max(cut.top - 1, 1)
    clocks[cut.top + 1 :] = clocks[cut.top] * waiting
    empty, busy = level_marginals(full, clocks)
    flow = np.concatenate([[0.0], (busy.reshape(full.top, A) * clocks[1:]).sum(axis=1)])
    return Summary(empty, busy, flow)


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
    values: list[dict[str, FloatArray]], remaining: int, noise: float
) -> tuple[dict[str, FloatArray], dict[str, FloatArray], float]:
    if remaining == 0:
        return values[-1], {name: 10 * noise * np.abs(value) for name, value in values[-1].items()}, 0.0
    found, share = limits(values, noise, remaining)
    extrapolated, errors = {}, {}
    for name, each in found.items():
        extrapolated[name], errors[name] = each.value, each.error
    return extrapolated, errors, share


def _unseen(errors: dict[str, FloatArray], found: dict[str, FloatArray], top: int) -> None:
    """What was left out of the windows has an error as large as itself."""
    levels = found["level_distribution"]
    if top + 1 < levels.size:
        ends = np.array(errors["level_distribution"])
        ends[top:] = np.maximum(ends[top:], np.abs(levels[top:]))
        errors["level_distribution"] = ends
        errors["loss_probability"] = np.maximum(errors["loss_probability"], np.abs(found["loss_probability"]))
