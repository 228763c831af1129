"""Where the EM for Erlang branches may begin: gaps in classes by their own size or by that of their neighbours."""

from __future__ import annotations

import numpy as np

from fitting.erlang_map import MAX_STAGES, ErlangMap
from fitting.segments import Float, Int, Segments

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


def starts(data: Segments, branches: int, q: Float, max_stages: int = MAX_STAGES) -> list[ErlangMap]:
    """Starting points for `branches` branches, the same for the same data. Cost: a few passes."""
    if branches == 1:
        return [ErlangMap(np.ones(1), np.array([1 / data.gaps.mean()]), np.ones((1, 1)), q)]
    found = []
    for window in WINDOWS:
        score = _averaged(data, window)
        found += [
            _from_labels(data, classed(score, branches), branches, q, max_stages)
            for classed in (_by_quantile, _by_clusters)
        ]
    return found


def _from_labels(data: Segments, label: Int, branches: int, q: Float, max_stages: int) -> ErlangMap:
    shape, rate = np.ones(branches), np.ones(branches)
    for i in range(branches):
        own = data.gaps[label == i] if np.any(label == i) else data.gaps
        mean, variance = own.mean(), own.var()
        shape[i] = np.clip(mean**2 / variance if variance > 0 else max_stages, 0.5, max_stages)
        rate[i] = shape[i] / mean
    moves = np.zeros((branches, branches))
    np.add.at(moves, (label[:-1], label[1:]), 1.0)
    # Hard classes know too much of themselves: every transition keeps a part of chance.
    moves += 0.05 * moves.sum(axis=1, keepdims=True) / branches + 1.0
    return ErlangMap(shape, rate, moves / moves.sum(axis=1, keepdims=True), np.repeat(q[:1], branches, axis=0))
