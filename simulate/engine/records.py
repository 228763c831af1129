"""One record per page: batch, arrival, level found, robots, start of indexing, end, fate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from crawltwin.model.checks import FloatArray
from simulate.engine.columns import FATES
from simulate.engine.tables import IntArray


class Records(NamedTuple):
    """Columns of the pages' records, in order of delivery.

    `batch` counts the delivered batches from 0 (-1 for the pages present at time 0), `level` is the number of
    pages that the batch found in the system, `robots` the number active at that moment, `start` the beginning
    of indexing (NaN where it did not begin), `end` the moment of leaving (NaN for pages still present),
    `fate` the position in `FATES`.
    """

    batch: IntArray
    arrival: FloatArray
    level: IntArray
    robots: IntArray
    start: FloatArray
    end: FloatArray
    fate: npt.NDArray[np.int8]


def no_records(size: int = 0) -> Records:
    """Room for the records of `size` pages."""
    return Records(
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size, np.int8),
    )


def grown(records: Records, size: int) -> Records:
    """The same records with room for `size` pages."""
    room = no_records(size)
    for name in Records._fields:
        old = getattr(records, name)
        getattr(room, name)[: old.size] = old
    return room


def cut(records: Records, size: int) -> Records:
    """The first `size` records."""
    return Records._make(column[:size].copy() for column in records)


def frame(records: Records, replication: int = 0) -> pd.DataFrame:
    """The records as a tidy table, one row per page."""
    table = pd.DataFrame({name: getattr(records, name) for name in Records._fields if name != "fate"})
    table.insert(0, "replication", replication)
    table["fate"] = pd.Categorical.from_codes(records.fate.tolist(), categories=pd.Index(FATES))
    return table
