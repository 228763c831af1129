"""The stationary vector over all states of an explicit chain, and which method finds it: chosen here, once, by size.

With one obsolescence phase the elimination in a band serves, linear in the capacity. With several, the paper's block
algorithm while its dense blocks are small, because it never subtracts; sparse LU beyond.
"""

from __future__ import annotations

from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from crawltwin.model.checks import FloatArray

SMALL_LEVEL = 500
"""Widest level, in states, up to which dense blocks are faster than anything else."""


def has_small_levels(chain: Chain) -> bool:
    """Whether the paper's block algorithm is the method of choice for several obsolescence phases."""
    return chain.widest_level <= SMALL_LEVEL


def stationary_vector(generator: Generator) -> FloatArray:
    """Stationary probabilities of all states, by the method that suits the size of the chain."""
    chain = generator.chain
    if chain.obsolescence_phases == 1:
        from analytic.stationary.banded import solve_banded

        return generator.vector(solve_banded(chain))
    if has_small_levels(chain):
        from analytic.stationary.block import stationary_block

        return stationary_block(generator)
    from analytic.stationary.direct import stationary_direct

    return stationary_direct(generator)
