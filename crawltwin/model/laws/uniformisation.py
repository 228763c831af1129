r"""Uniformisation: functions of time as mixtures over the number of points of a Poisson process.

With q the fastest rate of a chain and :math:`P = I + Q/q`, :math:`e^{Qt} = \sum_k \mathrm{Poi}(qt; k) P^k`: a mixture
of non-negative terms, without cancellation. The coefficients :math:`c_k` of one question (the mass still there after k
steps, say) do not depend on t, so they are computed once, as far as they are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray

Coefficients = Iterator[Sequence[float]] | Generator[Sequence[float], None, "Tail"]
"""Coefficients of several functions, one by one."""


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


@dataclass(frozen=True)
class Tail:
    """How coefficients go on: their distance to a limit is multiplied by 1 - loss at every step.

    The loss is given, not the ratio: of a loss of 1e-20 nothing is left in 1 - 1e-20.
    """

    loss: float
    limits: tuple[float, ...]

    def after(self, steps: FloatArray | float, last: float, function: int) -> FloatArray | float:
        """The coefficients so many steps after the last one."""
        return self._moved(np.asarray(steps) * math.log1p(-self.loss), last, function)

    def averaged(self, mean: float, known: int, last: float, function: int) -> float:
        """The mixture with a Poisson number of steps of this mean, all of them beyond the `known` first ones."""
        decay = -mean * self.loss - (known - 1) * math.log1p(-self.loss)
        return float(self._moved(decay, last, function))

    def _moved(self, decay: FloatArray | float, last: float, function: int) -> FloatArray | float:
        limit = self.limits[function]
        return last * np.exp(decay) if limit == 0.0 else last - (limit - last) * np.expm1(decay)


class PoissonMixture:
    r"""Functions of time :math:`\sum_k \mathrm{Poi}(qt; k)\, c_k`. Mutable: it keeps the coefficients.

    Parameters
    ----------
    rate : float
        q, the rate of the Poisson process.
    coefficients : iterator
        Gives for k = 0, 1, ... the coefficients of all functions, without end, or returns a `Tail`.

    Examples
    --------
    >>> def halves():                                     # 1, 1/2, 1/4, ...: exp(-t/2)
    ...     yield (1.0,)
    ...     return Tail(0.5, (0.0,))
    >>> round(PoissonMixture(1.0, halves()).at(2.0) - math.exp(-1.0), 12)
    0.0
    """

    def __init__(self, rate: float, coefficients: Coefficients) -> None:
        self.rate = rate
        self._source: Coefficients | None = coefficients
        self._tail: Tail | None = None
        self._columns: list[list[float]] = []
        self._failure: Exception | None = None

    def at(self, time: float, function: int = 0) -> float:
        """The value of one function at a time. Cost: coefficients up to about q t, kept for later calls."""
        mean = self.rate * time
        first, last = poisson_window(mean)
        self._extend(last + 1)
        known = self._columns[function]
        if self._tail is not None and first >= len(known):
            return self._tail.averaged(mean, len(known), known[-1], function)
        terms = np.array(known[first : last + 1])
        if self._tail is not None and len(known) <= last:
            beyond = np.arange(1.0, last + 2 - len(known))
            terms = np.concatenate([terms, self._tail.after(beyond, known[-1], function)])
        return float(poisson_probabilities(np.arange(first, last + 1), mean) @ terms)

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
                found = next(self._source)
            except StopIteration as end:
                self._source, self._tail = None, end.value
                return
            except Exception as error:
                self._failure = error
                raise
            if not self._columns:
                self._columns = [[] for _ in found]
            for column, value in zip(self._columns, found, strict=True):
                column.append(value)
