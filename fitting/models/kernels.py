"""What every compiled pass over a trace takes: the gaps with their marks, in stretches, as one value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]


BLOCK = 2**18
"""Gaps of which an E step keeps its vectors at a time, whatever the length of the trace."""


class MarkedGaps(NamedTuple):
    """Gaps and their logarithms, the column of the batch law at the end of each, the first gap of every stretch."""

    gaps: Float
    log_gaps: Float
    batch: Int
    first: Int
