"""Where EM may begin: gaps in classes by their own size or by that of their neighbours, and a closed form."""

from __future__ import annotations

import numpy as np

from crawltwin.model.errors import CrawltwinError
from fitting.models import map2
from fitting.models.em import MAX_STAGES
from fitting.models.erlang_map import ErlangMap
from fitting.models.general_map import GeneralMap
from fitting.trace.segments import Float, Int, Segments
from fitting.trace.statistics import correlations

WINDOWS = (1, 7, 51)
"""Gaps over which the size is averaged (in logarithms) before it is classed: from independent gaps to slow regimes."""


def _averaged(data: Segments, window: int) -> Float:
    if window == 1:
        return data.log_gaps
    result = np.empty(len(data))
    for piece in data.stretches():
        part = data.log_gaps[piece]
        width = min(window, part.size)
        sums = np.concatenate([[0.0], np.cumsum(part)])
        low = np.clip(np.arange(part.size) - width // 2, 0, part.size - width)
        result[piece] = (sums[low + width] - sums[low]) / width
    return result


def _by_quantile(score: Float, classes: int) -> Int:
    borders = np.quantile(score, np.arange(1, classes) / classes)
    return np.searchsorted(borders, score, side="right").astype(np.int64)


def _by_clusters(score: Float, classes: int) -> Int:
    """Lloyd's iterations in one dimension: classes of alike size rather than of alike number."""
    centres = np.quantile(score, (np.arange(classes) + 0.5) / classes)
    label = np.zeros(score.size, dtype=np.int64)
    for _ in range(15):
        label = np.searchsorted((centres[1:] + centres[:-1]) / 2, score, side="right").astype(np.int64)
        for i in range(classes):
            if np.any(label == i):
                centres[i] = score[label == i].mean()
        centres.sort()
    return label


def erlang_starts(data: Segments, branches: int, max_stages: int = MAX_STAGES) -> list[ErlangMap]:
    """Starting points for `branches` Erlang branches, the same for the same data. Cost: a few passes."""
    if branches == 1:
        return [ErlangMap(np.ones(1), np.array([1 / data.gaps.mean()]), np.ones((1, 1)))]
    return [
        _from_classes(data, classed(_averaged(data, window), branches), branches, max_stages)
        for window in WINDOWS
        for classed in (_by_quantile, _by_clusters)
    ]


def _from_classes(data: Segments, label: Int, branches: int, max_stages: int) -> ErlangMap:
    shape, rate = np.ones(branches), np.ones(branches)
    for i in range(branches):
        own = data.gaps[label == i] if np.any(label == i) else data.gaps
        mean, variance = own.mean(), own.var()
        shape[i] = np.clip(mean**2 / variance if variance > 0 else max_stages, 0.5, max_stages)
        rate[i] = shape[i] / mean
    moves = _moves(label, np.zeros((branches, branches)))
    # Hard classes know too much of themselves: every transition keeps a part of chance.
    moves += 0.05 * moves.sum(axis=1, keepdims=True) / branches + 1.0
    return ErlangMap(shape, rate, moves / moves.sum(axis=1, keepdims=True))


def _moves(label: Int, counts: Float) -> Float:
    """Numbers of moves from one class to the next, added to `counts`."""
    np.add.at(counts, (label[:-1], label[1:]), 1.0)
    return counts


def _rates(gaps: Float, label: Int, order: int) -> Float:
    return np.array([1 / gaps[label == i].mean() if np.any(label == i) else 1.0 for i in range(order)])


def _with_diagonal(D0: Float, D1: Float, family: str) -> GeneralMap:
    """The MAP whose rows sum to zero; the diagonal of `D0` that was given does not count."""
    D0 = np.where(np.eye(D0.shape[0], dtype=bool), 0.0, D0)
    return GeneralMap(D0 - np.diag(D0.sum(axis=1) + D1.sum(axis=1)), D1, family=family)


def map_start(data: Segments, order: int) -> GeneralMap:
    """A start for a general MAP: regimes of gap size spread over `order` levels, with every rate positive."""
    label = _by_quantile(data.gaps, order)
    rates = _rates(data.gaps, label, order)[:, None]
    moves = _moves(label, np.full((order, order), 0.5 + 0.05 * len(data) / order))
    P = moves / moves.sum(axis=1, keepdims=True)
    D0 = np.broadcast_to(rates * 0.1 / max(order - 1, 1), (order, order))
    return _with_diagonal(D0, rates * P * 0.9, "map")


def mmpp_start(data: Segments, order: int = 2, window: int = 25) -> GeneralMap:
    """A start for an MMPP: arrival rates of slow and fast regimes, and how long they last, from smoothed gaps."""
    kernel = min(window, max(1, len(data) // 4))
    label = _by_quantile(np.convolve(data.gaps, np.ones(kernel) / kernel, mode="same"), order)
    spent = np.array([data.gaps[label == i].sum() for i in range(order)])
    moves = _moves(label, np.zeros((order, order))) + 1.0
    D0 = moves / np.maximum(spent, data.gaps.mean())[:, None]
    return _with_diagonal(D0, np.diag(_rates(data.gaps, label, order)), "mmpp2")


def map_starts(data: Segments, order: int) -> list[GeneralMap]:
    """Classes of gap size, slow regimes, and for order two the closed form from moments and the lag-1 correlation."""
    mean = float(data.gaps.mean())
    found = [map_start(data, order), _dense(mmpp_start(data, order), mean)]
    if order == 2:
        scv = float(data.gaps.var() / mean**2)
        lag1 = float(np.nan_to_num(correlations(data, 1))[0])
        try:
            closed = map2.from_lag1(mean, max(scv, 0.5), float(np.mean(data.gaps**3)), lag1)
        except CrawltwinError:
            return found
        found.append(_dense(GeneralMap(closed.D0, closed.D1), mean))
    return found


def _dense(model: GeneralMap, mean: float) -> GeneralMap:
    """The model with every rate made positive, so that EM may use it."""
    floor = 0.02 / mean
    return _with_diagonal(np.maximum(model.D0, floor), np.maximum(model.D1, floor), "map")
