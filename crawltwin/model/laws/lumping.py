"""Ordinary lumping: the coarsest merger of phases that leaves an absorbing chain's law unchanged.

A partition is ordinarily lumpable when all members of a block have the same exit rate and the same total rate into
every other block. The coarsest one is found by refinement: start from the exit rates, split blocks whose members
disagree, stop when nothing splits. At most (number of phases) rounds.
"""

from __future__ import annotations

import numpy as np

from crawltwin.model.checks import FloatArray

LUMPING_TOLERANCE = 1e-12
"""Two rates agree when they differ by no more than this times the largest rate: what decimal input needs."""


def coarsest_partition(subgenerator: FloatArray, exit_rates: FloatArray) -> list[tuple[int, ...]]:
    """Blocks of phases, each a tuple of indices, in order of their first members.

    Examples
    --------
    >>> S = np.array([[-0.6, 0.4], [0.1, -0.3]])
    >>> coarsest_partition(S, -S.sum(axis=1))
    [(0, 1)]
    """
    tolerance = LUMPING_TOLERANCE * float(np.abs(subgenerator).max())
    blocks = [tuple(range(subgenerator.shape[0]))]
    signatures = exit_rates[:, None]
    while True:
        refined = [part for block in blocks for part in _split(block, signatures, tolerance)]
        if len(refined) == len(blocks):
            return sorted(refined)
        blocks = refined
        # A member's rate into its own block follows from the others and the exit rate, so all blocks may be compared.
        signatures = np.column_stack([subgenerator[:, list(block)].sum(axis=1) for block in blocks])


def _split(block: tuple[int, ...], signatures: FloatArray, tolerance: float) -> list[tuple[int, ...]]:
    parts: list[list[int]] = []
    for member in block:
        for part in parts:
            if np.abs(signatures[member] - signatures[part[0]]).max() <= tolerance:
                part.append(member)
                break
        else:
            parts.append([member])
    return [tuple(part) for part in parts]
