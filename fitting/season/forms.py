r"""Forms of a pace: sines whose sum is the logarithm of the rate, or parts of the period with a rate each.

With n_c batches in e_c running seconds of cell c, a form :math:`\lambda_c` has the Poisson likelihood
:math:`\sum_c n_c \log\lambda_c - \lambda_c e_c`. Correlations make the counts vary :math:`\phi` times as much as
those of a Poisson stream, so the forms are compared by the quasi-BIC :math:`-2\log L/\phi + k\log n`, n the cells
that were run in and k the numbers of the form: 2 for each sine, and for m parts m - 1 ratios and m borders. The best
borders for each m are found exactly, over the circle of 24 cells, by dynamic programming.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fitting.season.running import CELLS
from fitting.season.spectral_test import HARMONICS, PER_PERIOD
from fitting.trace.segments import Float

MOST_PARTS = 6
FINE = CELLS // PER_PERIOD


@dataclass(frozen=True, eq=False)
class Shape:
    """One form: its name, the rate of each of the `CELLS` cells, how many numbers it has, and the quasi-BIC.

    `borders` are the cells at which a new part begins, empty for sines.
    """

    name: str
    rates: Float
    parameters: int
    bic: float
    borders: tuple[int, ...] = ()


def shapes(batches: Float, seconds: Float, dispersion: float) -> list[Shape]:
    """Every form, the constant first; batches and running seconds of each cell of the period."""
    ran = seconds > 0
    mean = batches.sum() / seconds.sum()
    cells = np.count_nonzero(ran)

    def shape(name: str, rates: Float, parameters: int, borders: tuple[int, ...] = ()) -> Shape:
        own = np.maximum(rates[ran], 1e-9 * mean)
        likelihood = float(np.sum(batches[ran] * np.log(own / mean) - own * seconds[ran]))
        bic = -2 * likelihood / max(dispersion, 1.0) + parameters * math.log(cells)
        return Shape(name, np.maximum(rates, 1e-9 * mean), parameters, bic, borders)

    found = [shape("constant", np.full(CELLS, mean), 0)]
    for count in range(1, HARMONICS + 1):
        rates = _harmonic(batches, seconds, count)
        if rates is not None:
            found.append(shape(f"{count} harmonic{'s' if count > 1 else ''}", rates, 2 * count))
    n, e = (column.reshape(PER_PERIOD, FINE).sum(axis=1) for column in (batches, seconds))
    gain = _segment_gains(n, e, lambda n, e: n * np.log(np.maximum(n, 1e-300) / np.maximum(e, 1e-300) / mean))
    for count in range(2, MOST_PARTS + 1):
        borders = best_borders(gain, count)
        rates = np.empty(PER_PERIOD)
        for own in parts_of(borders, PER_PERIOD):
            rates[own] = n[own].sum() / max(e[own].sum(), 1e-300) if e[own].any() else mean
        fine = tuple(FINE * border for border in borders)
        found.append(shape(f"{count} parts", np.repeat(rates, FINE), 2 * count - 1, fine))
    return found


def _harmonic(batches: Float, seconds: Float, count: int) -> Float | None:
    """Rates of a log-linear model with so many sines, by Newton's method; None where the cells cannot tell them."""
    ran = seconds > 0
    angle = 2 * np.pi * (np.arange(CELLS) + 0.5) / CELLS
    X = np.column_stack([np.ones(CELLS), *(f(h * angle) for h in range(1, count + 1) for f in (np.cos, np.sin))])
    own, n, e = X[ran], batches[ran], seconds[ran]
    theta = np.zeros(X.shape[1])
    theta[0] = math.log(n.sum() / e.sum())
    if np.linalg.matrix_rank(own) < X.shape[1]:
        return None
    for _ in range(50):
        expected = e * np.exp(np.clip(own @ theta, -700, 700))
        step = np.linalg.lstsq(own * np.sqrt(expected)[:, None], (n - expected) / np.sqrt(expected), rcond=None)[0]
        theta += step * min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-9:
            return np.where(ran, np.exp(X @ theta), n.sum() / e.sum())
    return None


Gain = Callable[[Float, Float], Float]


def _segment_gains(first: Float, second: Float, gain: Gain) -> Float:
    """`gain` of the sums over each run of cells: [begin, length], length from 0 to all, over the circle."""
    size = first.size
    sums = [np.concatenate([[0.0], np.cumsum(np.tile(column, 2))]) for column in (first, second)]
    begin, length = np.meshgrid(np.arange(size), np.arange(size + 1), indexing="ij")
    return gain(*(total[begin + length] - total[begin] for total in sums))


def best_borders(gain: Float, count: int, shortest: int = 2) -> tuple[int, ...]:
    """Cells at which `count` parts begin so that their gains are largest in sum; each of `shortest` cells at least."""
    size = gain.shape[0]
    best: tuple[float, tuple[int, ...]] = (-math.inf, ())
    # Of any parts, one begins among these cells: none of them is longer than all cells but the shortest others.
    for start in range(size - (count - 1) * shortest):
        value = np.full((count + 1, size + 1), -math.inf)
        came = np.zeros((count + 1, size + 1), dtype=np.int64)
        value[0, 0] = 0.0
        for k in range(1, count + 1):
            for end in range(k * shortest, size + 1):
                froms = np.arange((k - 1) * shortest, end - shortest + 1)
                options = value[k - 1, froms] + gain[(start + froms) % size, end - froms]
                at = int(np.argmax(options))
                value[k, end], came[k, end] = options[at], froms[at]
        if value[count, size] > best[0] + 1e-9:
            end, borders = size, []
            for k in range(count, 0, -1):
                end = int(came[k, end])
                borders.append((start + end) % size)
            best = (float(value[count, size]), tuple(sorted(borders)))
    return best[1]


def smooth_borders(rates: Float, seconds: Float, roughness: float) -> tuple[int, ...]:
    """Borders of the fewest parts, at most `MOST_PARTS`, within which the log rate strays by at most `roughness`.

    It is the root of the mean of squares over the time that was run.
    """
    logs, weight = np.log(rates.reshape(PER_PERIOD, FINE).mean(axis=1)), seconds.reshape(PER_PERIOD, FINE).sum(axis=1)
    gain = _segment_gains(weight * logs, weight, lambda s, w: s * s / np.maximum(w, 1e-300))
    total = float(weight @ logs**2)
    borders: tuple[int, ...] = ()
    for count in range(2, MOST_PARTS + 1):
        borders = best_borders(gain, count)
        kept = sum(_gain_of(gain, own) for own in parts_of(borders, PER_PERIOD))
        if total - kept <= roughness**2 * weight.sum():
            break
    return tuple(FINE * border for border in borders)


def _gain_of(gain: Float, own: Sequence[int]) -> float:
    return float(gain[own[0], len(own)])


def parts_of(borders: tuple[int, ...], cells: int) -> list[list[int]]:
    """Cells of each part; the last part goes on at the beginning of the period."""
    ends = [*borders[1:], borders[0] + cells]
    return [[cell % cells for cell in range(begin, end)] for begin, end in zip(borders, ends, strict=True)]
