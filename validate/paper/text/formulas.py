"""Formulas that cannot stand as printed, each shown by evaluating it.

- Interpretation 1 prints Kronecker products where sums are needed: what comes out is no generator.
- Equation (20) needs B^_0, whose definition would contain an identity matrix of order R^(-1).
- The number of states after equation (4) leaves out a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from crawltwin.model import BMAP, IndependentRobots, Scenario, ThresholdPolicy, erlang, examples
from validate.paper.judging.finding import Finding, TextPlace
from validate.paper.printed.systems import first_example

Matrix = npt.NDArray[np.floating[Any]]


def findings() -> tuple[Finding, ...]:
    """One finding per formula. Cost: under a second."""
    return (_interpretation_1(), _first_step_of_sojourn(), _number_of_states())


def kronecker_sum(left: Matrix, right: Matrix) -> Matrix:
    """The Kronecker sum of two square matrices."""
    return np.kron(left, np.eye(len(right))) + np.kron(np.eye(len(left)), right)


def printed_interpretation_1(robots: Sequence[BMAP], active: int) -> Matrix:
    """D_0^(l) as printed: sums up to robot l, and *products* with D^(l+1)(1), ..., D^(N)(1) behind it."""
    last: Matrix = robots[active - 1].D[0]
    for idle in robots[active:]:
        last = np.kron(last, idle.generator)
    running: list[Matrix] = [robot.D[0] for robot in robots[: active - 1]]
    return reduce(kronecker_sum, [*running, last])


def _interpretation_1() -> Finding:
    arrivals = examples.load("independent").arrivals
    assert isinstance(arrivals, IndependentRobots)
    pair = IndependentRobots(arrivals.robots[:2])
    first, right = printed_interpretation_1(pair.robots, 1), pair.mode(1)
    rest = np.sum(right.D[1:], axis=0)
    sums, off = (first + rest).sum(axis=1), first - np.diag(np.diag(first))
    good = np.abs(right.generator.sum(axis=1)).max()
    return Finding(
        TextPlace("section 2, interpretation 1", "D_0^(l) with Kronecker products"),
        "... (+) D_0^(l) (x) D^(l+1)(1) (x) ...",
        "... (+) D_0^(l) (+) D^(l+1)(1) (+) ...",
        "misprint",
        "sum and product",
        "Evaluated for two robots of two phases each, one of them active, the printed D_0 + D_1 + ... has row sums up "
        f"to {sums.max():.3g} and off-diagonal entries of D_0 down to {off.min():.3g}: no generator. The reason is "
        "plain: D^(l+1)(1) has row sums zero, so the printed product has too, and nothing balances the deliveries of "
        f"robot l. With sums throughout, the largest row sum is {good:.1e} and no rate is negative.",
    )


def _first_step_of_sojourn() -> Finding:
    scenario = first_example()
    clock = scenario.obsolescence
    assert clock is not None
    S0, beta, R = scenario.service.exit_rates, scenario.service.initial, clock.order
    # One page in service and the tagged one behind it: S_0 beta (x) e_R leads from (m, r) to the tagged page's start.
    step = np.kron(np.outer(S0, beta), np.ones((R, 1)))
    A1 = kronecker_sum(scenario.service.subgenerator, clock.subgenerator)
    served = np.linalg.solve(-A1, step @ np.ones(scenario.service.order))
    lost = np.linalg.solve(-A1, np.kron(np.ones(scenario.service.order), clock.exit_rates))
    return Finding(
        TextPlace("section 5, equation (20)", "B^_0"),
        "B_0 (x) I_R with I of order R^(-1)",
        "S_0 beta (x) e_R",
        "misprint",
        "undefined at i = 0",
        "B_i contains an identity matrix of order R^(i-1), which has no meaning at i = 0. With B^_0 = S_0 beta (x) "
        "e_R a page that finds one page ahead is served or becomes obsolete with certainty, as it must: the two "
        f"probabilities add up to 1 within {np.abs(served + lost - 1).max():.0e}, whatever the phases.",
    )


def _number_of_states() -> Finding:
    # Erlang-2 keeps both obsolescence phases; the paper's own clock would reduce to one.
    scenario = first_example().replace(obsolescence=erlang(2, 5.0), policy=ThresholdPolicy([1]))
    counted = {capacity: _states(scenario.replace(capacity=capacity)) for capacity in (2, 3, 4, 5)}
    formula = {capacity: 2 ** (capacity + 2) - 2 for capacity in counted}
    assert counted == formula
    return Finding(
        TextPlace("section 3, after equation (4)", "number of states"),
        "W(1 + M (R^(K-1) - 1)/(R - 1)); 2^(K+1) - 2; 2046 for K = 10",
        "W(1 + M (R^K - 1)/(R - 1)); 2^(K+2) - 2; 4094 for K = 10",
        "misprint",
        "one level left out",
        "Level i has W M R^(i-1) states for i = 1, ..., K, which sum to W M (R^K - 1)/(R - 1). Built and counted for "
        f"two phases each: {', '.join(f'{n} states at K = {k}' for k, n in counted.items())}; the printed formula "
        f"gives {', '.join(str(2 ** (k + 1) - 2) for k in counted)}.",
        4094.0,
    )


def _states(scenario: Scenario) -> int:
    return int(Generator.of(Chain.of(scenario)).matrix.shape[0])
