r"""The chain taken apart into its kinds of transitions, each with what it counts.

The generator is the sum of a few rate matrices: batches of each size with each outcome, phase changes of the arrivals,
ends and phase changes of service, obsolescence and phase changes of the clocks. Kept apart they tell more than Q:

* which rates grow with the arrivals, the service or the obsolescence clocks (for derivatives);
* how many pages each transition delivers, loses, serves or outdates (for variances of counts). A batch of which no page
  enters may leave the state as it is: it is absent from Q, but it is counted.

States are ordered as in `analytic.generator`: by level, arrival phase, service phase, clocks of the waiting pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from analytic.chain import Chain
from analytic.summary import Summary
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import Fault, TooLargeError

Clock = Literal["arrival", "service", "obsolescence"]
CLOCKS: tuple[Clock, ...] = ("arrival", "service", "obsolescence")
"""Whose rates a transition belongs to."""

MAX_ENTRIES = 60_000_000
"""Most rates that are held as explicit sparse matrices."""


@dataclass(frozen=True)
class Event:
    """One kind of transition.

    Parameters
    ----------
    clock : str
        Which rates it belongs to, one of `CLOCKS`.
    rates : csr_array
        From state to state; an entry on the diagonal is an event that does not change the state.
    pages, lost, served, obsolete : int
        What one such transition counts.
    """

    clock: Clock
    rates: Any
    pages: int = 0
    lost: int = 0
    served: int = 0
    obsolete: int = 0


@dataclass(frozen=True, eq=False)
class EventChain:
    """All transitions of a chain.

    Parameters
    ----------
    chain : Chain
    events : tuple of Event
    starts : ndarray of int
        Index of the first state of each level, and one past the last.
    """

    chain: Chain
    events: tuple[Event, ...]
    starts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, chain: Chain, like: EventChain | None = None) -> EventChain:
        """Take the chain apart. Cost: proportional to the rates; with one obsolescence phase no loop over the levels.

        Parameters
        ----------
        chain : Chain
        like : EventChain, optional
            Of the same scenario under another policy: service and obsolescence are taken over from it.

        Raises
        ------
        TooLargeError
            Before anything is built, when there would be more than `MAX_ENTRIES` rates.
        """
        width = chain.arrival_phases * (chain.reach + 2) + 2 * chain.service_phases
        if chain.states * width > MAX_ENTRIES:
            raise TooLargeError(
                [
                    Fault(
                        "capacity",
                        f"the explicit rates must be at most {MAX_ENTRIES:,}; got {count(chain.states * width)} "
                        f"for {count(chain.states)} states",
                        "Use a smaller capacity or fewer phases.",
                    )
                ]
            )
        sizes = [chain.level_states(level) for level in range(min(2, chain.top + 1))]
        if chain.obsolescence_phases == 1:
            sizes += [chain.level_states(1)] * (chain.top - 1)
        else:
            sizes += [chain.level_states(level) for level in range(2, chain.top + 1)]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        if like is None:
            others = (*_service(chain, starts), *_obsolescence(chain, starts))
        else:
            others = tuple(event for event in like.events if event.clock != "arrival")
        return cls(chain, (*_arrivals(chain, starts), *others), starts)

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.starts[-1])

    @cached_property
    def levels(self) -> npt.NDArray[np.int64]:
        """Pages in the system in each state."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    @cached_property
    def generator(self) -> Any:
        """Q, csr; rows sum to zero in floating point."""
        return _as_generator(sum((event.rates for event in self.events[1:]), start=self.events[0].rates))

    def part(self, clock: Clock) -> Any:
        """The part of Q that grows in proportion to the rates of one clock."""
        own = [event.rates for event in self.events if event.clock == clock]
        if not own:
            return sp.csr_array((self.states, self.states))
        return _as_generator(sum(own[1:], start=own[0]))

    def count_rate(self, count: str) -> FloatArray:
        """Expected pages of one count (`pages`, `lost`, `served`, `obsolete`) a unit of time in each state."""
        total = np.zeros(self.states)
        for event in self.events:
            if getattr(event, count):
                total += getattr(event, count) * np.asarray(event.rates.sum(axis=1)).ravel()
        return total

    def summarise(self, p: FloatArray) -> Summary:
        """Marginals of a vector over the states."""
        W, M = self.chain.arrival_phases, self.chain.service_phases
        cuts = zip(self.starts[1:], self.starts[2:], strict=False)
        if self.chain.obsolescence_phases == 1:
            busy = p[W:].reshape(-1, W, M)
        else:
            busy = np.stack([p[first:last].reshape(W, M, -1).sum(axis=2) for first, last in cuts])
        flow = np.bincount(self.levels, weights=p * self.count_rate("obsolete"), minlength=self.chain.top + 1)
        return Summary(p[:W], busy, np.asarray(flow, dtype=np.float64))

    def vector(self, summary: Summary) -> FloatArray:
        """The state vector behind a summary; with one obsolescence phase the summary is the whole of it."""
        return np.concatenate([summary.empty, summary.busy.ravel()])


def _as_generator(rates: Any) -> Any:
    off = sp.csr_array(rates)
    off.setdiag(0.0)
    off.eliminate_zeros()
    return sp.csr_array(off - sp.diags_array(np.asarray(off.sum(axis=1)).ravel()))


def _stretches(chain: Chain, first: int) -> Iterator[npt.NDArray[np.int64]]:
    """Levels from `first` up that share their blocks: all of them with one obsolescence phase, else one by one."""
    levels = np.arange(first, chain.top + 1)
    if chain.obsolescence_phases == 1 and levels.size:
        yield levels
    else:
        yield from levels[:, None]


class _Block(NamedTuple):
    """Entries of a sparse block."""

    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    values: FloatArray
    shape: tuple[int, int]


def _kron(*factors: FloatArray | int) -> _Block:
    """Kronecker product; a whole number stands for the identity of that size.

    Made of index arithmetic alone: for the many small blocks of a chain a general sparse product is slower by far.
    """
    out = _Block(np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1), (1, 1))
    for factor in factors:
        if isinstance(factor, int):
            rows = columns = np.arange(factor)
            values: FloatArray = np.ones(factor)
            shape = (factor, factor)
        else:
            rows, columns = np.nonzero(factor)
            values, shape = factor[rows, columns], (factor.shape[0], factor.shape[1])
        out = _Block(
            (out.rows[:, None] * shape[0] + rows).ravel(),
            (out.columns[:, None] * shape[1] + columns).ravel(),
            (out.values[:, None] * values).ravel(),
            (out.shape[0] * shape[0], out.shape[1] * shape[1]),
        )
    return out


@dataclass
class _Stamps:
    """Collects blocks that recur at many levels into one sparse matrix."""

    starts: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        self.rows: list[npt.NDArray[np.int64]] = []
        self.columns: list[npt.NDArray[np.int64]] = []
        self.values: list[FloatArray] = []

    def add(self, block: _Block, levels: npt.NDArray[np.int64], step: int, weights: npt.ArrayLike = 1.0) -> None:
        """Put `block` at each level, leading `step` levels up, times the level's weight."""
        factor = np.broadcast_to(np.asarray(weights, dtype=np.float64), levels.shape)
        self.rows.append((self.starts[levels][:, None] + block.rows).ravel())
        self.columns.append((self.starts[levels + step][:, None] + block.columns).ravel())
        self.values.append((factor[:, None] * block.values).ravel())

    def matrix(self) -> Any:
        """What was collected, csr."""
        size = int(self.starts[-1])
        if not self.rows:
            return sp.csr_array((size, size))
        rows, columns = np.concatenate(self.rows), np.concatenate(self.columns)
        return sp.csr_array((np.concatenate(self.values), (rows, columns)), shape=(size, size))


def _arrivals(chain: Chain, starts: npt.NDArray[np.int64]) -> list[Event]:
    found: dict[tuple[int, int], _Stamps] = {(0, 0): _Stamps(starts)}
    for flow, levels in chain.groups:
        quiet = chain.scenario.arrivals.mode(int(chain.robots[levels[0]])).D[0].copy()
        np.fill_diagonal(quiet, 0.0)
        _stamp_batches(chain, levels, found[0, 0], quiet, 0)
        for outcome in flow.outcomes:
            key = (outcome.size, outcome.admitted)
            _stamp_batches(chain, levels, found.setdefault(key, _Stamps(starts)), outcome.rates, outcome.admitted)
    return [
        Event("arrival", stamps.matrix(), pages=size, lost=size - entered) for (size, entered), stamps in found.items()
    ]


def _stamp_batches(
    chain: Chain,
    levels: npt.NDArray[np.int64],
    stamps: _Stamps,
    rates: FloatArray,
    step: int,
) -> None:
    M, R, gamma = chain.service_phases, chain.obsolescence_phases, chain.gamma[None, :]
    if levels[0] == 0:
        first = _kron(rates, chain.service.initial[None, :], *[gamma] * (step - 1)) if step else _kron(rates)
        stamps.add(first, levels[:1], step)
    full = levels[levels > 0]
    if R == 1:
        stamps.add(_kron(rates, M), full, step)
    else:
        for level in full:
            stamps.add(_kron(rates, M * R ** (int(level) - 1), *[gamma] * step), full[full == level], step)


def _service(chain: Chain, starts: npt.NDArray[np.int64]) -> list[Event]:
    W, R = chain.arrival_phases, chain.obsolescence_phases
    S, S0, beta = chain.service.subgenerator, chain.service.exit_rates, chain.service.initial
    inner, ends = _Stamps(starts), _Stamps(starts)
    changes = S - np.diag(np.diag(S))
    for levels in _stretches(chain, 1):
        inner.add(_kron(W, changes, R ** (int(levels[0]) - 1)), levels, 0)
    ends.add(_kron(W, S0[:, None]), np.array([1]), -1)
    for levels in _stretches(chain, 2):
        ends.add(_kron(W, np.outer(S0, beta), np.ones((R, 1)), R ** (int(levels[0]) - 2)), levels, -1)
    return [Event("service", inner.matrix()), Event("service", ends.matrix(), served=1)]


def _obsolescence(chain: Chain, starts: npt.NDArray[np.int64]) -> list[Event]:
    if chain.obsolescence is None:
        return []
    width, R = chain.arrival_phases * chain.service_phases, chain.obsolescence_phases
    inner, ends = _Stamps(starts), _Stamps(starts)
    if R == 1:
        levels = np.arange(2, chain.top + 1)
        ends.add(_kron(width), levels, -1, float(chain.Gamma0[0]) * (levels - 1))
        return [Event("obsolescence", ends.matrix(), obsolete=1)]
    changes = chain.Gamma - np.diag(np.diag(chain.Gamma))
    for level in range(2, chain.top + 1):
        here, waiting = np.array([level]), level - 1
        for clock in range(waiting):
            inner.add(_kron(width * R**clock, changes, R ** (waiting - clock - 1)), here, 0)
            ends.add(_kron(width * R**clock, chain.Gamma0[:, None], R ** (waiting - clock - 1)), here, -1)
    return [Event("obsolescence", inner.matrix()), Event("obsolescence", ends.matrix(), obsolete=1)]
