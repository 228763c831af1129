r"""The paper's block algorithm (section 3), and its simplified form for single arrivals (section 6).

Backward: :math:`G_i = (-Q_{i+1,i+1} - \sum_l Q_{i+1,i+1+l} G_{i+l} \cdots G_{i+1})^{-1} Q_{i+1,i}`, the law of the
first passage from level i+1 to level i, and :math:`\bar Q_{i,l} = Q_{i,l} + \bar Q_{i,l+1} G_l`. Forward:
:math:`F_l = \sum_{i<l} F_i \bar Q_{i,l} (-\bar Q_{l,l})^{-1}`. Then :math:`p_0 \bar Q_{0,0} = 0` and
:math:`p_i = p_0 F_i`.

:math:`-\bar Q_{l,l}` is an M-matrix whose row sums are those of :math:`Q_{l,l-1}`, because :math:`G` is stochastic;
it is factored from its off-diagonal part and these sums (`analytic.gth`), so no step subtracts. Only the row vectors
:math:`p_0 F_i` are formed, not the matrices F.
"""

from __future__ import annotations

import numpy as np

from analytic.generator import Generator
from analytic.gth import MMatrix
from crawltwin.model.bmap import stationary
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import Fault, InputError, TooLargeError

MAX_BLOCK = 2_000
"""Largest level, in states, for which dense blocks are formed."""


def stationary_block(generator: Generator) -> FloatArray:
    """Stationary probabilities by section 3.

    Cost: (levels) (batch sizes) products and one factorisation of dense blocks of the largest level.
    """
    _check_size(generator)
    top = generator.chain.top
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
    levels = [stationary(censored[0, 0])]
    for target in range(1, top + 1):
        inflow = sum(levels[i] @ censored[i, target] for i in range(max(0, target - reach), target))
        levels.append(factors[target].solve_left(np.asarray(inflow)))
    p = np.concatenate(levels)
    return np.asarray(p / p.sum())


def stationary_qbd(generator: Generator) -> FloatArray:
    """Stationary probabilities by section 6, for single arrivals only.

    Cost: one product and one factorisation of dense blocks a level.

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
    _check_size(generator)
    top = generator.chain.top
    factors: dict[int, MMatrix] = {}
    inner = generator.block(top, top)
    for level in range(top, 0, -1):
        down = generator.block(level, level - 1)
        factors[level] = MMatrix.from_parts(inner, down.sum(axis=1))
        G = factors[level].solve(down)
        inner = _off_diagonal(generator.block(level - 1, level - 1), True) + generator.block(level - 1, level) @ G
    levels = [stationary(_off_diagonal(inner, True))]
    for level in range(1, top + 1):
        levels.append(factors[level].solve_left(levels[-1] @ generator.block(level - 1, level)))
    p = np.concatenate(levels)
    return np.asarray(p / p.sum())


def _off_diagonal(block: FloatArray, square: bool) -> FloatArray:
    if square:
        block = block.copy()
        np.fill_diagonal(block, 0.0)
    return block


def _check_size(generator: Generator) -> None:
    chain = generator.chain
    widest = chain.level_states(chain.top)
    if widest > MAX_BLOCK:
        raise TooLargeError(
            [
                Fault(
                    "capacity",
                    f"the widest level must have at most {MAX_BLOCK:,} states for dense blocks; got {count(widest)}",
                    "Use --method auto or direct, or a smaller capacity.",
                )
            ]
        )
