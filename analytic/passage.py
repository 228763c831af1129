r"""First passage: the time until the backlog exceeds a limit.

States above the limit are made absorbing; only the levels up to it are built, so that a high capacity costs nothing.
The probability of a passage within t, its mean and its quantiles are those of `analytic.absorption`.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from analytic.absorption import AbsorptionTime
from analytic.chain import Chain
from analytic.generator import MAX_STATES, level_blocks
from crawltwin.model import Fault, InputError, Scenario, TooLargeError, checks
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import Faults


def passage(scenario: Scenario, limit: int, start: int = 0) -> AbsorptionTime:
    """The time until more than `limit` pages are in the system.

    Parameters
    ----------
    scenario : Scenario
        With its policy in force.
    limit : int
        From 0 to one below the highest level.
    start : int
        Pages at time 0, just arrived; the arrival phase is in equilibrium under that level's robots.

    Notes
    -----
    Cost: (fastest rate) (time) sparse products until the shape settles; the mean one sparse factorisation.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> time = passage(examples.load("mm1k"), 0)       # an empty system: the first arrival, at rate 0.8
    >>> round(time.mean, 6)
    1.25
    """
    chain = Chain.of(scenario)
    faults = Faults()
    checks.integer(
        limit, "limit", faults, at_least=0, at_most=chain.top - 1,
        way_out=f"The system never holds more than {chain.top} pages.",
    )  # fmt: skip
    checks.integer(start, "start", faults, at_least=0, at_most=chain.top)
    faults.raise_if_any()
    sizes = [chain.level_states(level) for level in range(limit + 1)]
    if sum(sizes) > MAX_STATES:
        raise TooLargeError(
            [
                Fault(
                    "limit",
                    f"the chain up to the limit must have at most {MAX_STATES:,} states; got {count(sum(sizes))}",
                    "Ask for a lower limit, or simulate.",
                )
            ]
        )
    starts = np.concatenate([[0], np.cumsum(sizes)])
    law = np.zeros(int(starts[-1]))
    if start <= limit:
        law[starts[start] : starts[start + 1]] = fresh_level(chain, start)
    return AbsorptionTime(law, transient_levels(chain, limit))


def transient_levels(chain: Chain, limit: int) -> Any:
    """Rates among the levels up to `limit`; what leads above is absorbed."""
    rows: list[list[Any]] = [[None] * (limit + 1) for _ in range(limit + 1)]
    leaving = []
    for level in range(limit + 1):
        total = np.zeros(chain.level_states(level))
        for target, block in level_blocks(chain, level).items():
            off = block
            if target == level:
                off = sp.csr_array(block - sp.diags_array(block.diagonal()))
            total += np.asarray(off.sum(axis=1)).ravel()
            if target <= limit:
                rows[level][target] = off
        leaving.append(total)
    inside = sp.csr_array(sp.block_array(rows, format="csr"))
    return sp.csr_array(inside - sp.diags_array(np.concatenate(leaving)))


def fresh_level(chain: Chain, level: int) -> FloatArray:
    """Probabilities inside a level whose pages have just arrived, the arrival phase in equilibrium."""
    robots = int(chain.robots[level])
    law = chain.scenario.arrivals.mode(robots).phase_distribution
    if level == 0:
        return np.asarray(law)
    return np.asarray(reduce(np.kron, [law, chain.service.initial, *[chain.gamma] * (level - 1)]))


def check_probability(p: float, name: str = "p") -> float:
    """A probability strictly between 0 and 1."""
    if isinstance(p, bool) or not isinstance(p, int | float | np.floating) or not 0 < p < 1:
        raise InputError(f"{name} must be between 0 and 1; got {p!r}")
    return float(p)
