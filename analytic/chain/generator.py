r"""The generator Q, taken apart into its kinds of transitions, with the clocks of the waiting pages written out.

States are ordered as in the paper: level i, control state (arrival phase), service state (service phase), phases
:math:`r_1, \dots, r_w` of the w = (i - c)^+ waiting pages behind c indexers, oldest first. A small matrix of
`analytic.chain.transitions` becomes a block of the Lemma:

* new pages: :math:`\otimes\,I_{R^w} \otimes \gamma^{\otimes l}`; the oldest leaves: :math:`\otimes\,e_R \otimes
  I_{R^{w-1}}`;
* one becomes obsolete: :math:`\otimes\,\Gamma_0^{\oplus w}`; one changes its phase: :math:`\otimes\,\Gamma^{\oplus w}`.

Kept apart, the kinds tell more than Q: which rates grow with the arrivals, the service or the obsolescence clocks (for
derivatives), and how many pages each transition delivers, loses, serves or outdates (for variances of counts).
The diagonal of Q is minus the sum of the rest of the row, so that rows sum to zero in floating point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from analytic.chain.primitives import Chain, Levels
from analytic.chain.sizes import refuse_above
from analytic.chain.summary import Summary
from analytic.chain.transitions import CLOCKS, Clock, Transition, without_diagonal
from crawltwin.model.checks import FloatArray

MAX_ENTRIES = 60_000_000
"""Most rates that are held as explicit sparse matrices."""


@dataclass(frozen=True)
class Kind:
    """One kind of transition, of all levels.

    Parameters
    ----------
    clock : str
        Which rates it belongs to, one of `CLOCKS`.
    rates : csr_array
        From state to state; an entry on the diagonal is an event that does not change the state.
    pages, lost, served, obsolete, switches : int
        What one such transition counts.
    """

    clock: Clock
    rates: Any
    pages: int = 0
    lost: int = 0
    served: int = 0
    obsolete: int = 0
    switches: int = 0


@dataclass(frozen=True, eq=False)
class Generator:
    """All transitions of a chain, or of its first levels.

    Parameters
    ----------
    chain : Chain
    kinds : tuple of Kind
    starts : ndarray of int
        Index of the first state of each level, and one past the last.
    above : ndarray
        Rate from each state to levels that were left out.
    """

    chain: Chain
    kinds: tuple[Kind, ...]
    starts: Levels
    above: FloatArray

    @classmethod
    def of(cls, chain: Chain, *, last: int | None = None, max_states: int | None = None) -> Generator:
        """Write out all kinds of transitions.

        Cost: proportional to the rates; with one obsolescence phase there is no loop over the levels.

        Parameters
        ----------
        chain : Chain
        last : int, optional
            The highest level that is written out; default: all.
        max_states : int, optional
            Most states; default: as many as have `MAX_ENTRIES` rates.

        Raises
        ------
        TooLargeError
            Before anything is built.
        """
        highest = chain.top if last is None else last
        states = chain.states if last is None else sum(chain.level_states(level) for level in range(last + 1))
        controls = max(flow.controls.size for flow in {chain.flows[levels[0]] for levels in chain.alike})
        width = controls * (chain.reach + 2) + 2 * chain.service_phases
        refuse_above(
            MAX_ENTRIES // width if max_states is None else max_states,
            states,
            "the explicit chain",
            "Use --method auto, which never builds the generator, a smaller capacity or fewer phases.",
        )
        starts = level_starts(chain, highest)
        kinds, above = written_out(chain, starts)
        return cls(chain, kinds, starts, above)

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.starts[-1])

    @cached_property
    def levels(self) -> Levels:
        """Pages in the system in each state."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    @cached_property
    def matrix(self) -> Any:
        """Q, csr; rows sum to zero in floating point, or to minus the rate to levels that were left out."""
        return with_diagonal(total_rates(self.kinds, self.states), self.above)

    def part(self, clock: Clock) -> Any:
        """The part of Q that grows in proportion to the rates of one clock."""
        return with_diagonal(total_rates([kind for kind in self.kinds if kind.clock == clock], self.states))

    def block(self, level: int, target: int) -> FloatArray:
        """Q_{i,i'} as a dense matrix."""
        s = self.starts
        return np.asarray(self.matrix[s[level] : s[level + 1], s[target] : s[target + 1]].toarray())

    def count_rate(self, count: str, clock: Clock | None = None) -> FloatArray:
        """Expected number of one count (`pages`, `lost`, `served`, `obsolete`, `switches`) per unit of time.

        For each state; with `clock`, only of the transitions that belong to it.
        """
        total = np.zeros(self.states)
        for kind in self.kinds:
            if getattr(kind, count) and clock in (None, kind.clock):
                total += getattr(kind, count) * np.asarray(kind.rates.sum(axis=1)).ravel()
        return total

    def split(self, p: FloatArray) -> list[FloatArray]:
        """A vector over the states cut into levels, each of shape (control states, rest)."""
        cuts = zip(self.chain.flows, self.starts, self.starts[1:], strict=False)
        return [p[first:last].reshape(flow.controls.size, -1) for flow, first, last in cuts]

    def over_controls(self, values: Sequence[FloatArray]) -> FloatArray:
        """For each state the value of its control state, given for each level."""
        parts = zip(values, np.diff(self.starts), strict=True)
        return np.concatenate([np.repeat(value, size // value.size) for value, size in parts])

    def summarise(self, p: FloatArray) -> Summary:
        """Marginals of a vector over the states."""
        chain = self.chain
        sizes = chain.small_sizes
        small, stale = np.zeros((chain.top + 1, sizes.max())), np.zeros((chain.top + 1, sizes.max()))
        rates = self.count_rate("obsolete")
        if chain.obsolescence_phases == 1:
            inside = np.arange(sizes.max()) < sizes[:, None]
            small[inside], stale[inside] = p, rates
        else:
            flow = p * rates
            for level, (first, last) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
                size = int(sizes[level])
                small[level, :size] = p[first:last].reshape(size, -1).sum(axis=1)
                mass = np.where(small[level, :size] > 0, small[level, :size], 1.0)
                stale[level, :size] = flow[first:last].reshape(size, -1).sum(axis=1) / mass
        return Summary.of(chain, small, stale)

    def vector(self, summary: Summary) -> FloatArray:
        """The state vector behind a summary; with one obsolescence phase the summary is the whole of it."""
        levels = range(self.chain.top + 1)
        return np.concatenate([summary.small_law(self.chain, level).ravel() for level in levels])

    def fresh(self, level: int) -> FloatArray:
        """Probabilities of the states when the pages of a level have just arrived (see `Chain.fresh_level`)."""
        p = np.zeros(self.states)
        if level < self.starts.size - 1:
            p[self.starts[level] : self.starts[level + 1]] = self.chain.fresh_level(level)
        return p


def total_rates(kinds: tuple[Kind, ...] | list[Kind], states: int) -> Any:
    """The sum of the rates of some kinds, csr."""
    if not kinds:
        return sp.csr_array((states, states))
    return sum((kind.rates for kind in kinds[1:]), start=kinds[0].rates)


def with_diagonal(rates: Any, further: FloatArray | float = 0.0) -> Any:
    """The generator with these rates off its diagonal; `further` is what leaves each state besides."""
    off = sp.csr_array(rates)
    off.setdiag(0.0)
    off.eliminate_zeros()
    return sp.csr_array(off - sp.diags_array(np.asarray(off.sum(axis=1)).ravel() + further))


def level_starts(chain: Chain, highest: int) -> Levels:
    """Index of the first state of each level up to `highest`, and one past the last."""
    sizes = chain.small_sizes[: highest + 1]
    if chain.obsolescence_phases > 1:
        sizes = np.array([chain.level_states(level) for level in range(highest + 1)])
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def written_out(chain: Chain, starts: Levels, *, tagged: bool = False) -> tuple[tuple[Kind, ...], FloatArray]:
    """The kinds of transitions over all states, in the order of their clocks, and the rates to levels left out.

    With `tagged` the page that came last is a page apart: its own obsolescence is not among the transitions.
    """
    highest = starts.size - 2
    found: dict[tuple[Clock, int, int, int, int, int], _Stamps] = {}
    for levels, transitions in chain.transitions:
        here = levels[levels <= highest]
        for transition in transitions:
            stamps = found.setdefault(transition.counts, _Stamps(starts))
            for same, block, weights in _blocks(chain, transition, here, tagged):
                stamps.add(block, same, transition.step, weights)
    ordered = sorted(found.items(), key=lambda item: CLOCKS.index(item[0][0]))
    above = np.asarray(sum((stamps.above() for _, stamps in ordered), start=np.zeros(int(starts[-1]))))
    return tuple(Kind(counts[0], stamps.matrix(), *counts[1:]) for counts, stamps in ordered), above


class _Block(NamedTuple):
    """Entries of a sparse block."""

    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    values: FloatArray
    shape: tuple[int, int]


def _blocks(
    chain: Chain, transition: Transition, levels: Levels, tagged: bool
) -> Iterator[tuple[Levels, _Block, npt.ArrayLike]]:
    """Blocks of one transition with the clocks written out: levels, block, weight of each level.

    With one obsolescence phase all levels share their block, else each has its own.
    """
    R, small = chain.obsolescence_phases, transition.small
    if R == 1:
        if transition.waiting == "one of all":
            stale = levels - chain.indexers.number - (1 if tagged else 0)
            yield levels, _kron(small), float(chain.Gamma0[0]) * stale
        else:
            yield levels, _kron(small), 1.0
        return
    for level in levels:
        here, waiting = np.array([level]), chain.indexers.waiting(int(level))
        if transition.waiting == "stays":
            yield here, _kron(small, R**waiting), 1.0
        elif transition.waiting == "append":
            new = chain.indexers.waiting(int(level) + transition.step) - waiting
            yield here, _kron(small, R**waiting, *[chain.gamma[None, :]] * new), 1.0
        elif transition.waiting == "oldest":
            yield here, _kron(small, np.ones((R, 1)), R ** (waiting - 1)), 1.0
        else:
            leaves = transition.waiting == "one of all"
            factor = chain.Gamma0[:, None] if leaves else without_diagonal(chain.Gamma)
            for clock in range(waiting - (1 if tagged and leaves else 0)):
                yield here, _kron(small, R**clock, factor, R ** (waiting - clock - 1)), 1.0


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
    """Collects blocks that recur at many levels into one sparse matrix; what leads above goes to one more column."""

    starts: Levels

    def __post_init__(self) -> None:
        self.rows: list[npt.NDArray[np.int64]] = []
        self.columns: list[npt.NDArray[np.int64]] = []
        self.values: list[FloatArray] = []

    def add(self, block: _Block, levels: Levels, step: int, weights: npt.ArrayLike) -> None:
        """Put `block` at each level, leading `step` levels up, times the level's weight."""
        factor = np.broadcast_to(np.asarray(weights, dtype=np.float64), levels.shape)
        size, targets = self.starts[-1], levels + step
        columns = self.starts[np.minimum(targets, self.starts.size - 1)][:, None] + block.columns
        self.rows.append((self.starts[levels][:, None] + block.rows).ravel())
        self.columns.append(np.where(targets[:, None] < self.starts.size - 1, columns, size).ravel())
        self.values.append((factor[:, None] * block.values).ravel())

    @cached_property
    def _collected(self) -> Any:
        size = int(self.starts[-1])
        if not self.rows:
            return sp.csr_array((size, size + 1))
        rows, columns = np.concatenate(self.rows), np.concatenate(self.columns)
        return sp.csr_array((np.concatenate(self.values), (rows, columns)), shape=(size, size + 1))

    def matrix(self) -> Any:
        """Rates among the levels that are written out, csr."""
        return sp.csr_array(self._collected[:, :-1])

    def above(self) -> FloatArray:
        """Rates to levels that are left out."""
        return np.asarray(self._collected[:, [-1]].toarray()).ravel()
