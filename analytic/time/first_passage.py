r"""First passage: the time until the backlog exceeds a limit.

States above the limit are made absorbing; only the levels up to it are written out, so that a high capacity costs
nothing. The probability of a passage within t, its mean and its quantiles are those of `analytic.time.absorption`.
"""

from __future__ import annotations

from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from analytic.chain.sizes import MAX_STATES, refuse_above
from analytic.time.absorption import AbsorptionTime
from crawltwin.model import checks
from crawltwin.model.errors import Faults
from crawltwin.model.scenario import Scenario, takes_scenario


@takes_scenario
def passage(scenario: Scenario, limit: int, start: int = 0) -> AbsorptionTime:
    """The time until more than `limit` pages are in the system; infinite where that may never happen.

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
    states = sum(chain.level_states(level) for level in range(limit + 1))
    refuse_above(MAX_STATES, states, "the chain up to the limit", "Ask for a lower limit, or simulate.", place="limit")
    below = Generator.of(chain, last=limit, max_states=MAX_STATES)
    return AbsorptionTime.among_reached(below.fresh(start), below.matrix, below.above, below.starts)
