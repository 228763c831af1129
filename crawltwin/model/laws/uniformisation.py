r"""Uniformisation: functions of time as mixtures over the number of points of a Poisson process.

With q the fastest rate of a chain and :math:`P = I + Q/q`, :math:`e^{Qt} = \sum_k \mathrm{Poi}(qt; k) P^k`: a mixture
of non-negative terms, without cancellation. The coefficients :math:`c_k` of one question (the mass still there after k
steps, say) do not depend on t, so they are computed once, as far as they are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray


def poisson_window(mean: float) -> tuple[int, int]:
    """First and last count that matter: outside lies less than 1e-17 of the mass, by Bernstein's bound."""
    spread = 9 * math.sqrt(mean) + 60
    return max(0, math.floor(mean - spread)), math.ceil(mean + spread) if mean > 0 else 0


def poisson_weights(mean: float) -> tuple[int, FloatArray]:
    """First count of the window and the probabilities from there on."""
    first, last = poisson_window(mean)
    return first, poisson_probabilities(np.arange(first, last + 1), mean)


def poisson_probabilities(counts: npt.NDArray[np.int64], mean: float | FloatArray) -> FloatArray:
    """P(N = k) for a Poisson number of the given mean, through logarithms."""
    from scipy.special import gammaln, xlogy

    return np.asarray(np.exp(xlogy(counts, mean) - gammaln(counts + 1) - mean))


class PoissonMixture:
    r"""Functions of time :math:`\sum_k \mathrm{Poi}(qt; k)\, c_k`. Mutable: it keeps the coefficients.

    Parameters
    ----------
    rate : float
        q, the rate of the Poisson process.
    coefficients : iterator
        Gives for k = 0, 1, ... the coefficients of all functions. Where it ends, all go on geometrically, by the ratio
        of its last two.

    Examples
    --------
    >>> halves = PoissonMixture(1.0, iter([(1.0,), (0.5,)]))     # 1, 1/2, 1/4, ...: exp(-t/2)
    >>> round(halves.at(2.0) - math.exp(-1.0), 12)
    0.0
    """

    def __init__(self, rate: float, coefficients: Iterator[Sequence[float]]) -> None:
        self.rate = rate
        self._source: Iterator[Sequence[float]] | None = coefficients
        self._columns: list[list[float]] = []
        self._failure: Exception | None = None

    def at(self, time: float, function: int = 0) -> float:
        """The value of one function at a time. Cost: coefficients up to about q t, kept for later calls."""
        first, weights = poisson_weights(self.rate * time)
        self._extend(first + weights.size)
        known = self._columns[function]
        begin = min(first, len(known) - 1)
        terms = np.array(known[begin : first + weights.size])
        if begin + terms.size < first + weights.size:
            orders = np.arange(first, first + weights.size)
            inside = np.minimum(orders, len(known) - 1)
            ratio = known[-1] / known[-2] if len(known) > 1 and known[-2] else 0.0
            terms = terms[inside - begin] * ratio ** (orders - inside)
        return float(weights @ terms)

    def at_each(self, times: FloatArray) -> FloatArray:
        """The first function at many times. Cost: (times) (coefficients), without a loop over the times."""
        count = self.steps(float(times.max()))
        orders, terms = np.arange(count), np.array(self.coefficients(count))
        parts = np.array_split(times, times.size * count // 2_000_000 + 1)
        return np.concatenate([poisson_probabilities(orders, self.rate * part[:, None]) @ terms for part in parts])

    def coefficients(self, count: int, function: int = 0) -> list[float]:
        """The first coefficients of one function."""
        self._extend(count)
        return self._columns[function][:count]

    def steps(self, time: float) -> int:
        """Coefficients that the value at a time needs."""
        return poisson_window(self.rate * time)[1] + 1

    def _extend(self, count: int) -> None:
        while self._source is not None and (not self._columns or len(self._columns[0]) < count):
            if self._failure is not None:
                raise self._failure
            try:
                found = next(self._source, None)
            except Exception as error:
                self._failure = error
                raise
            if found is None:
                self._source = None
                return
            if not self._columns:
                self._columns = [[] for _ in found]
            for column, value in zip(self._columns, found, strict=True):
                column.append(value)
