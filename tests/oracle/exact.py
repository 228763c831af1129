"""Stationary vectors of small generators in exact rational arithmetic, and in as many digits as wanted.

The elimination of Grassmann, Taksar and Heyman (1985): states are removed one by one, the last first, and the pivot
is the sum of the remaining rates rather than a difference, so that no subtraction ever happens. Diagonal entries are
not read: they follow from the rates. Cost: n^3 operations, less where the matrix is sparse.
"""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import scipy.sparse as sp


def stationary_fractions(generator: Any) -> list[Fraction]:
    """The exact stationary vector. Floats count as the binary fractions that they are; entries may be Fractions."""
    return _gth(_rates(generator, Fraction), Fraction(1))


def stationary_digits(generator: Any, digits: int = 60) -> list[mpmath.mpf]:
    """The stationary vector in floating point of so many decimal digits."""
    with mpmath.workdps(digits):
        return _gth(_rates(generator, mpmath.mpf), mpmath.mpf(1))


def _rates(generator: Any, number: Any) -> list[dict[int, Any]]:
    """Rows of off-diagonal rates, as dictionaries."""
    if sp.issparse(generator):
        matrix = sp.coo_array(generator)
        rows: list[dict[int, Any]] = [{} for _ in range(matrix.shape[0])]
        for i, j, value in zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist()):
            if i != j and value != 0:
                rows[i][j] = rows[i].get(j, 0) + number(value)
        return rows
    dense = generator.tolist() if isinstance(generator, np.ndarray) else generator
    return [{j: number(value) for j, value in enumerate(row) if j != i and value} for i, row in enumerate(dense)]


def _gth(rows: list[dict[int, Any]], one: Any) -> list[Any]:
    columns: list[dict[int, Any]] = [{} for _ in rows]
    for i, row in enumerate(rows):
        for j in row:
            columns[j][i] = None
    inflow: list[dict[int, Any]] = [{} for _ in rows]
    for last in range(len(rows) - 1, 0, -1):
        down = {j: rate for j, rate in rows[last].items() if j < last}
        pivot = sum(down.values())
        for i in (i for i in columns[last] if i < last):
            share = rows[i][last] / pivot
            inflow[last][i] = share
            for j, rate in down.items():
                if j != i:
                    rows[i][j] = rows[i].get(j, 0) + share * rate
                    columns[j][i] = None
    weights = [one]
    for state in range(1, len(rows)):
        weights.append(sum(weights[i] * share for i, share in inflow[state].items()))
    total = sum(weights)
    return [weight / total for weight in weights]
