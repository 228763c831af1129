r"""Exponential obsolescence: scalar elimination in a band, linear in the capacity.

With one obsolescence phase a level has n small states (W M in the paper) and the chain moves one level down or at most
B levels up. States
are eliminated from the top level down, each time without subtraction (see `elimination`): what an eliminated state
passes on stays inside the band, so each state costs about 2 n^2 (B + 1) operations and every probability keeps full
relative accuracy. Forward substitution from level 0 rescales as it goes, so neither overload nor underload of any
depth overflows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analytic.chain.primitives import Chain
from analytic.chain.summary import Summary
from analytic.chain.transitions import rates_by_step
from analytic.linear.compilation import compiled_when_large
from analytic.linear.elimination import recurrent_law
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Fault, InputError, TooLargeError

MAX_BYTES = 4 * 2**30
"""Most memory that the band may take."""


def solve_banded(chain: Chain) -> Summary:
    """Stationary marginals when there is one obsolescence phase (or none).

    Cost: about 2 n^3 (B + 1) K operations and 8 n^2 (B + 2) K bytes, n being the small states of a level.

    Raises
    ------
    InputError
        When the obsolescence time has more than one phase.
    TooLargeError
        Before anything is built, when the band would not fit in `MAX_BYTES`.
    """
    if chain.obsolescence_phases != 1:
        raise InputError(
            [
                Fault(
                    "method",
                    "method banded must be used with exponential obsolescence times, or none; "
                    f"got {chain.obsolescence_phases} phases",
                    "Use --method auto.",
                )
            ]
        )
    n, top, reach = int(chain.small_sizes.max()), chain.top, chain.reach
    size = 8 * n * n * (reach + 2) * top
    if size > MAX_BYTES:
        raise TooLargeError(
            [
                Fault(
                    "capacity",
                    f"the band must fit in {MAX_BYTES / 2**30:.0f} GiB; got {size / 2**30:.1f} GiB "
                    f"for {top:,} levels of {n} states and batches up to {reach}",
                    "Use a smaller capacity or fewer phases.",
                )
            ]
        )
    waiting = np.maximum(np.arange(top + 1) - chain.indexers.number, 0)
    clocks = np.broadcast_to(waiting[:, None] * float(chain.Gamma0[0]), (top + 1, n))
    return Summary.of(chain, level_marginals(chain, clocks), clocks)


def level_marginals(chain: Chain, clocks: FloatArray) -> FloatArray:
    """Stationary law of the level and the small state for given rates of obsolescence, shape (top + 1, n).

    `clocks`, of the same shape, is the rate at which *some* waiting page becomes obsolete, by level and
    small state. The same elimination serves exponential clocks, where it is the whole chain, and the aggregated
    chain of a phase-type clock.
    """
    first, top = chain.small_states(0), chain.top
    band = Band.of(chain, clocks)
    work = int(band.sizes.sum()) * band.up.shape[2] * band.up.shape[3] ** 2
    pivots = np.zeros((top + 1, band.up.shape[3]))
    values, exponents = np.zeros_like(pivots), np.zeros(top + 1, np.int64)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        _eliminate(work)(band.up, band.down, band.sizes, pivots)
        values[0, :first] = recurrent_law(band.up[0, :first, 0, :first])
        _substitute(work)(band.up, band.sizes, pivots, values, exponents)
        scale = np.ldexp(1.0, np.maximum(exponents - exponents.max(), -2000))
        laws = values * scale[:, None]
        return np.asarray(laws / (laws[0, :first].sum() + laws[1:].sum()))


def banded_residual(chain: Chain, summary: Summary) -> float:
    """Largest entry of p Q over the fastest rate, from the rates as given (not from the eliminated ones)."""
    p = np.zeros((chain.top + 1, int(chain.small_sizes.max())))
    for level, size in enumerate(chain.small_sizes.tolist()):
        p[level, :size] = summary.small_law(chain, level).ravel()
    net, out = np.zeros_like(p), np.zeros_like(p)
    for levels, transitions in chain.transitions:
        for transition in transitions:
            small, targets = transition.small, levels + transition.step
            states, reached = small.shape
            weights: FloatArray = np.ones(levels.size)
            if transition.waiting == "one of all":
                weights = float(chain.Gamma0[0]) * (levels - chain.indexers.number)
            here = weights[:, None] * p[levels, :states]
            net[targets, :reached] += here @ small
            net[levels, :states] -= here * small.sum(axis=1)
            out[levels, :states] += weights[:, None] * small.sum(axis=1)
    return float(np.abs(net).max() / out.max())


@dataclass(frozen=True)
class Band:
    """Rates between small states, by level; levels with fewer small states leave the last entries at zero.

    Parameters
    ----------
    up : ndarray, shape (top + 1, n, reach + 1, n)
        `up[i, a, l, b]`: from state a of level i to state b of level i + l; zero from a state to itself.
    down : ndarray, shape (top + 1, n, n)
        From level i to level i - 1.
    sizes : ndarray of int
        Small states of each level.
    """

    up: FloatArray
    down: FloatArray
    sizes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, chain: Chain, clocks: FloatArray) -> Band:
        """Add up all kinds of transitions; `clocks` is the rate at which some waiting page becomes obsolete."""
        n, top = int(chain.small_sizes.max()), chain.top
        up, down = np.zeros((top + 1, n, chain.reach + 1, n)), np.zeros((top + 1, n, n))
        for levels, transitions in chain.transitions:
            for step, rates in rates_by_step(transitions).items():
                a, b = rates.shape
                if step < 0:
                    down[levels, :a, :b] = rates
                else:
                    up[levels, :a, step, :b] = rates
            for transition in transitions:
                if transition.waiting == "one of all":
                    a, b = transition.small.shape
                    down[levels, :a, :b] += clocks[levels, :a, None] * transition.small
        return cls(up, down, chain.small_sizes)


@compiled_when_large
def _eliminate(up: FloatArray, down: FloatArray, sizes: npt.NDArray[np.int64], pivots: FloatArray) -> None:
    for i in range(up.shape[0] - 1, 0, -1):
        below, m = down[i], sizes[i - 1]
        for a in range(sizes[i] - 1, -1, -1):
            pivot = 0.0
            for b in range(a):
                pivot += up[i, a, 0, b]
            for b in range(m):
                pivot += below[a, b]
            pivots[i, a] = pivot
            own = up[i, a, 0]
            for c in range(a):
                share = up[i, c, 0, a] / pivot
                if share != 0.0:
                    for b in range(a):
                        if b != c:
                            up[i, c, 0, b] += share * own[b]
                    for b in range(m):
                        below[c, b] += share * below[a, b]
            for up_by in range(1, min(up.shape[2] - 1, i) + 1):
                for c in range(sizes[i - up_by]):
                    share = up[i - up_by, c, up_by, a] / pivot
                    if share != 0.0:
                        for b in range(a):
                            up[i - up_by, c, up_by, b] += share * own[b]
                        for b in range(m):
                            if up_by > 1 or b != c:
                                up[i - up_by, c, up_by - 1, b] += share * below[a, b]


@compiled_when_large
def _substitute(
    up: FloatArray,
    sizes: npt.NDArray[np.int64],
    pivots: FloatArray,
    values: FloatArray,
    exponents: npt.NDArray[np.int64],
) -> None:
    """Unnormalised probabilities from those of level 0; those of level i carry the factor 2^exponents[i]."""
    reach, shift = up.shape[2] - 1, 0
    for i in range(1, up.shape[0]):
        largest = 0.0
        for a in range(sizes[i]):
            inflow = 0.0
            if i <= reach:
                factor = 2.0 ** (exponents[0] - shift)
                for c in range(sizes[0]):
                    inflow += values[0, c] * up[0, c, i, a] * factor
            for up_by in range(1, min(reach, i - 1) + 1):
                factor = 2.0 ** (exponents[i - up_by] - shift)
                for c in range(sizes[i - up_by]):
                    inflow += factor * values[i - up_by, c] * up[i - up_by, c, up_by, a]
            for c in range(a):
                inflow += values[i, c] * up[i, c, 0, a]
            values[i, a] = inflow / pivots[i, a]
            largest = max(largest, values[i, a])
        exponents[i] = shift
        # Overload makes the values grow, underload makes them fall: bring the next level's near one.
        if largest > 2.0**200 or 0.0 < largest < 2.0**-200:
            shift += math.frexp(largest)[1]
