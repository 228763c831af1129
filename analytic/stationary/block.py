r"""The paper's block algorithm (section 3), and its simplified form for single arrivals (section 6).

Backward: :math:`G_i = (-Q_{i+1,i+1} - \sum_l Q_{i+1,i+1+l} G_{i+l} \cdots G_{i+1})^{-1} Q_{i+1,i}`, the law of the
first passage from level i+1 to level i, and :math:`\bar Q_{i,l} = Q_{i,l} + \bar Q_{i,l+1} G_l`. Forward:
:math:`F_l = \sum_{i<l} F_i \bar Q_{i,l} (-\bar Q_{l,l})^{-1}`. Then :math:`p_0 \bar Q_{0,0} = 0` and
:math:`p_i = p_0 F_i`.

:math:`-\bar Q_{l,l}` is an M-matrix whose row sums are those of :math:`Q_{l,l-1}`, because :math:`G` is stochastic;
it is factored from its off-diagonal part and these sums (`elimination`), so no step subtracts. Only the row vectors
:math:`p_0 F_i` are formed, not the matrices F.
"""

from __future__ import annotations

import numpy as np

from analytic.chain.generator import Generator
from analytic.chain.sizes import refuse_above
from analytic.linear.elimination import MMatrix, in_range, recurrent_law
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Fault, InputError

MAX_BLOCK = 2_000
"""Largest level, in states, for which dense blocks are formed."""


def stationary_block(generator: Generator) -> FloatArray:
    """Stationary probabilities by section 3.

    Cost: (levels) (batch sizes) products and one factorisation of dense blocks of the largest level.
    """
    top = generator.chain.top
    refuse_above(
        MAX_BLOCK,
        generator.chain.widest_level,
        "the widest level",
        "Dense blocks hold no more: use --method auto or direct, or a smaller capacity.",
    )
    censored: dict[tuple[int, int], FloatArray] = {}
    factors: dict[int, MMatrix] = {}
    reach = generator.chain.reach
    for target in range(top, -1, -1):
        if target == top:
            G = None
        else:
            down = generator.block(target + 1, target)
            factors[target + 1] = MMatrix.from_parts(censored[target + 1, target + 1], down.sum(axis=1))
            G = factors[target + 1].solve(down)
        for i in range(max(0, target - reach), target + 1):
            block = generator.block(i, target)
            if G is not None and (i, target + 1) in censored:
                block = _off_diagonal(block, i == target) + _off_diagonal(censored[i, target + 1] @ G, i == target)
            censored[i, target] = _off_diagonal(block, i == target)
    levels = [recurrent_law(censored[0, 0])]
    for target in range(1, top + 1):
        inflow = np.zeros(len(censored[target, target]))
        for i in range(max(0, target - reach), target):
            inflow += levels[i] @ censored[i, target]
        levels = in_range([*levels, factors[target].solve_left(inflow)])
    p = np.concatenate(levels)
    return np.asarray(p / p.sum())


def stationary_qbd(generator: Generator) -> FloatArray:
    """Stationary probabilities by section 6, for single arrivals only.

    There the sums of section 3 have one term each. Cost: one product and one factorisation of dense blocks per level.

    Raises
    ------
    InputError
        When batches of two or more pages can arrive.
    """
    if generator.chain.reach > 1:
        raise InputError(
            [
                Fault(
                    "method",
                    "method qbd must be used with single arrivals; got batches of two or more pages",
                    "Use --method block or auto.",
                )
            ]
        )
    return stationary_block(generator)


def _off_diagonal(block: FloatArray, square: bool) -> FloatArray:
    if square:
        block = block.copy()
        np.fill_diagonal(block, 0.0)
    return block
