r"""Robots that finish their fetch.

N robots; the time of a fetch is phase-type (alpha, T) with exit rates t = -T e and ends with k pages with probability
d_k. The arrival phase is the vector n of fetches in flight by phase of the fetch; a is their sum. With r robots wanted:

- phases move at rates n_i T_ij, and a fetch in phase i ends at rate n_i t_i and delivers;
- a robot that has delivered begins anew (phase by alpha) if fewer than r fetches are in flight then, else it stops; the
  number r follows the level after the delivery;
- when r rises above a, r - a robots begin at once: the entrance matrix U^(r), the identity where a >= r;
- with a start-up time of mean 1/sigma each of the (r - a)^+ robots that are wanted and not fetching begins at rate
  sigma instead, and U is the identity; told to stop, a starting robot gives up;
- spells of the web multiply the rates of all fetches by their pace.

Phases: C(N + f, f) for f phases of a fetch (after its exact lumping), times the spells. Only numbers of fetches between
the least and the most robots ever wanted are met in equilibrium, and only these are built.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from crawltwin.model import checks
from crawltwin.model.arrivals.kinds import MAX_PHASES, MAX_ROBOTS, ControlledArrivals
from crawltwin.model.arrivals.matrices import ArrivalMatrices, IntArray
from crawltwin.model.arrivals.spells import ALWAYS, Spells
from crawltwin.model.bmap import BMAP, stationary
from crawltwin.model.checks import FloatArray, frozen
from crawltwin.model.errors import Fault, Faults, TooLargeError
from crawltwin.model.laws.phase_type import PhaseType


@dataclass(frozen=True, eq=False, repr=False)
class FetchingRobots(ControlledArrivals):
    """Robots of which each finishes the fetch that it has begun.

    Parameters
    ----------
    count : int
        Number of robots, N.
    fetch : PhaseType
        Time of one fetch.
    pages : tuple of float
        Probabilities of 1, 2, ... pages per fetch.
    start_up : PhaseType, optional
        Exponential time until a robot that is told to start begins; missing: at once.
    spells : Spells, optional
        Common changes of pace; missing: the pace is always one.

    Examples
    --------
    >>> from crawltwin.model import exponential
    >>> robots = FetchingRobots(4, exponential(0.8))
    >>> robots.phases, robots.mode(3).page_rate
    (4, 3.75)
    """

    kind: ClassVar[str] = "fetching"
    count: int
    fetch: PhaseType
    pages: tuple[float, ...] = (1.0,)
    start_up: PhaseType | None = None
    spells: Spells | None = None

    def __post_init__(self) -> None:
        faults = Faults()
        count = checks.integer(self.count, "robots", faults, at_least=1, at_most=MAX_ROBOTS)
        if not isinstance(self.fetch, PhaseType):
            faults.add("fetch", f"fetch must be a PhaseType; got {checks.show(self.fetch)}")
        checks.probability_vector(self.pages, "pages", faults)
        if self.start_up is not None and not isinstance(self.start_up, PhaseType):
            faults.add("start_up", f"start_up must be a PhaseType; got {checks.show(self.start_up)}")
        elif self.start_up is not None and self.start_up.lumped().order > 1:
            faults.add(
                "start_up",
                f"start_up must be exponential; got {self.start_up.lumped().order} phases",
                'Write {family = "exponential", mean = ...} with the mean of the start-up time.',
            )
        if self.spells is not None and not isinstance(self.spells, Spells):
            faults.add("spells", f"spells must be Spells; got {checks.show(self.spells)}")
        faults.raise_if_any()
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "pages", tuple(float(share) for share in self.pages))

    def __repr__(self) -> str:
        return (
            f"FetchingRobots({self.count} robots, {self.phases} phases, {self.page_rate(1):.4g} pages per unit of time "
            "and robot)"
        )

    @property
    def robot_numbers(self) -> tuple[int, ...]:
        """One robot to all of them."""
        return tuple(range(1, self.count + 1))

    @property
    def phases(self) -> int:
        """Phases when every number of robots may be wanted."""
        return self._phases(1, self.count)

    @property
    def max_batch(self) -> int:
        """Largest number of pages per fetch."""
        return max(size for size, share in enumerate(self.pages, start=1) if share > 0)

    @property
    def mean_pages(self) -> float:
        """Pages per fetch."""
        return sum(size * share for size, share in enumerate(self.pages, start=1))

    def page_rate(self, robots: int) -> float:
        """Pages per unit of time with so many robots wanted for ever."""
        return robots * self.mean_pages * self._environment.mean_pace / self.fetch.mean

    @property
    def _environment(self) -> Spells:
        return ALWAYS if self.spells is None else self.spells

    @cached_property
    def _law(self) -> PhaseType:
        """Time of a fetch, its phases lumped exactly."""
        return self.fetch.lumped()

    def _phases(self, least: int, most: int) -> int:
        f = self._law.order
        return (math.comb(most + f, f) - math.comb(least - 1 + f, f)) * self._environment.count

    def scaled(self, factor: float) -> Self:
        """Fetches `factor` times as fast; start-up times and spells stay."""
        return replace(self, fetch=self.fetch.scaled(factor))

    def _modes(self) -> dict[int, BMAP]:
        return {robots: self._closed(robots) for robots in self.robot_numbers}

    def mode(self, robots: int) -> BMAP:
        """The BMAP of so many robots wanted for ever: that many fetches are in flight, and only such phases are held.

        Its phases are not those of `matrices`, which are common to several numbers of robots.
        """
        checked = Faults()
        checks.integer(robots, "robots", checked, at_least=1, at_most=self.count)
        checked.raise_if_any()
        return self._closed(robots)

    def _closed(self, robots: int) -> BMAP:
        found = self.matrices([robots])
        return BMAP([found.silent(robots), *(found.delivery(k, robots, robots) for k in range(1, found.max_batch + 1))])

    def matrices(self, robots: Sequence[int]) -> ArrivalMatrices:
        """D, U and R for a controller that wants only these numbers of robots.

        Raises
        ------
        TooLargeError
            When there are more than `MAX_PHASES` phases.
        """
        wanted = tuple(sorted(set(robots)))
        least, most = wanted[0], wanted[-1]
        if self._phases(least, most) > MAX_PHASES:
            raise TooLargeError(
                [
                    Fault(
                        "fetch",
                        f"the phases of {most} fetches of {self._law.order} phases in {self._environment.count} "
                        f"spell(s) must be at most {MAX_PHASES:,}; got {checks.count(self._phases(least, most))}",
                        "Use a fetch time of fewer phases (exponential: one), fewer robots, or `crawltwin simulate`.",
                    )
                ]
            )
        space = _FetchSpace.of(self._law, range(least - 1, most + 1))
        environment, spells = self._environment, self._environment.count
        sigma = 0.0 if self.start_up is None else 1.0 / self.start_up.mean
        pace, still = np.diag(environment.pace), np.eye(spells)
        met = np.repeat(space.total >= least, spells)
        ends = [frozen(np.kron(share * space.ends, pace)[met]) for share in self.pages[: self.max_batch]]
        changes = np.kron(space.moves, pace) + np.kron(np.eye(space.total.size), environment.generator)
        D: dict[int, tuple[FloatArray, ...]] = {}
        start_law, entrances, returns = {}, {}, {}
        for r in wanted:
            # Robots that are wanted and not fetching begin one by one.
            begins = sigma * np.maximum(r - space.total, 0)[:, None] * (space.one_more - np.eye(space.total.size))
            D[r] = (frozen((changes + np.kron(begins, still))[np.ix_(met, met)]), *ends)
            back = space.fill(r) if self.start_up is None else space.fill(r, most=1)
            returns[r] = frozen(np.kron(back, still)[:, met])
            if self.start_up is None:
                entrances[r] = frozen(returns[r][met])
            start_law[r] = frozen(np.kron(space.equilibrium(r), environment.shares)[met])
        return ArrivalMatrices(
            D=D,
            start_law=start_law,
            entrances=entrances or None,
            returns=returns,
            least_fetches={r: r if self.start_up is None else least for r in wanted},
            counts=np.repeat(space.counts, spells, axis=0)[met],
            spell=np.tile(np.arange(spells), space.total.size)[met],
        )


@dataclass(frozen=True, eq=False)
class _FetchSpace:
    """Vectors of fetches in flight by phase, for some totals: by rising total, then in lexicographic order.

    Parameters
    ----------
    law : PhaseType
        Time of a fetch.
    counts : ndarray, shape (vectors, phases of a fetch)
    total : ndarray
        Fetches in flight.
    above : ndarray, shape (vectors, phases of a fetch)
        Index of the vector with one more fetch in each phase, -1 outside.
    """

    law: PhaseType
    counts: IntArray
    total: IntArray
    above: IntArray

    @classmethod
    def of(cls, law: PhaseType, totals: Iterable[int]) -> _FetchSpace:
        vectors = [vector for total in totals for vector in _compositions(total, law.order)]
        index = {vector: place for place, vector in enumerate(vectors)}
        counts = np.array(vectors, dtype=np.int64).reshape(-1, law.order)
        unit = np.eye(law.order, dtype=np.int64)
        above = np.array([[index.get(tuple((n + e).tolist()), -1) for e in unit] for n in counts], dtype=np.int64)
        return cls(law, counts, counts.sum(axis=1), above.reshape(counts.shape))

    @cached_property
    def _steps(self) -> tuple[IntArray, IntArray, IntArray]:
        """All (vector, phase, vector with one fetch more in that phase) inside the space."""
        below, phase = np.nonzero(self.above >= 0)
        return below, phase, self.above[below, phase]

    @cached_property
    def one_more(self) -> FloatArray:
        """Probabilities of the vector after one more fetch has begun; zero rows where there is no room."""
        below, phase, above = self._steps
        found = np.zeros((self.total.size,) * 2)
        found[below, above] = self.law.initial[phase]
        return found

    @cached_property
    def ends(self) -> FloatArray:
        """Rates at which fetches end, n_i t_i."""
        below, phase, above = self._steps
        found = np.zeros((self.total.size,) * 2)
        found[above, below] = self.counts[above, phase] * self.law.exit_rates[phase]
        return found

    @cached_property
    def moves(self) -> FloatArray:
        """Rates between the phases of fetches, n_i T_ij, and minus all rates out on the diagonal."""
        T, rest = self.law.subgenerator, self.above
        found = np.zeros((self.total.size,) * 2)
        below, phase, above = self._steps
        for to in range(self.law.order):
            # From one fetch in `phase` to one in `to`, the other fetches being those of `below`.
            inside = (phase != to) & (rest[below, to] >= 0)
            rates = self.counts[above, phase] * T[phase, to]
            np.add.at(found, (above[inside], rest[below, to][inside]), rates[inside])
        found[np.diag_indices_from(found)] = self.counts @ np.diag(T)
        return found

    def fill(self, wanted: int, most: int | None = None) -> FloatArray:
        """Probabilities of the vector after robots have begun so that `wanted` fetch; `most` robots at a time."""
        found = np.eye(self.total.size)
        for total in range(wanted - 1, int(self.total.min()) - 1, -1):
            rows = np.flatnonzero(self.total == total)
            reached = np.eye(self.total.size) if most == 1 else found
            found[rows] = sum(self.law.initial[i] * reached[self.above[rows, i]] for i in range(self.law.order))
        return found

    def equilibrium(self, fetches: int) -> FloatArray:
        """Law of the vector when so many robots always fetch: their phases are independent, hence multinomial."""
        phase = stationary(self.law.subgenerator + np.outer(self.law.exit_rates, self.law.initial))
        found = np.zeros(self.total.size)
        for place in np.flatnonzero(self.total == fetches):
            ways, left = 1, fetches
            for number in self.counts[place].tolist():
                ways *= math.comb(left, number)
                left -= number
            found[place] = math.exp(math.log(ways) + float(self.counts[place] @ np.log(phase)))
        return np.asarray(found / found.sum())


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All vectors of `parts` whole numbers that sum to `total`, in lexicographic order."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
