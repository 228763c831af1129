r"""Compiled steps on one level of the chain, seen as an array (ordered phases, counts, small block).

A level with n waiting pages is an array x[f, c, a]: f numbers the ordered phases of the first h of them
(lexicographic, the oldest page first), c the counts of the phases of the other n - h
(`analytic.linear.count_vectors`), a the small block that goes with every configuration: arrival and service phase
in the stationary chain, service phase and own clock in the tagged page's chain. With h = n the counts are
trivial and everything here is exact.

No step allocates more than its result; every number that enters is a sum of products of non-negative numbers when the
basis is natural (`PhaseBasis.natural`).
"""

from __future__ import annotations

from typing import NamedTuple

from analytic.linear.count_vectors import IntArray
from analytic.linear.kronecker import AnyArray
from crawltwin.work.compiling import njit

CACHE_ENTRIES = 32768
"""Entries of a level that are worked on at a time when pages are deleted: they stay in the processor's cache."""


class LevelTables(NamedTuple):
    """What the diagonal block of one level needs.

    Parameters
    ----------
    classes : ndarray of int
        For each string of ordered phases the number of its counts, k.
    pairs : ndarray of int
        `pairs[k, c]` numbers the counts of all pages from those of the ordered (k) and the counted ones (c).
    inverses : ndarray
        For each count vector of all pages the inverse of the small block, shifted by the clocks.
    vectors, more, less : ndarray of int
        Counts of the counted pages, and where they lead with one page more or less in a phase.
    sums, flows : ndarray
        For each count vector of all pages the product of the phases' e, and the rate at which one becomes obsolete.
    shifts : ndarray
        For each count vector of all pages the sum of the clocks' diagonal entries.
    small : ndarray
        The generator of the small block.
    """

    classes: IntArray
    pairs: IntArray
    inverses: AnyArray
    vectors: IntArray
    more: IntArray
    less: IntArray
    sums: AnyArray
    flows: AnyArray
    shifts: AnyArray
    small: AnyArray


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def leave_front(
    x: AnyArray,
    ends: AnyArray,
    leave: AnyArray,
    ones: AnyArray,
    h: int,
    y: AnyArray,
) -> None:  # pragma: no cover - compiled
    """y[g, c, :] = sum over the ordered pages: the first goes into service, or any becomes obsolete.

    x has shape (R^h, D, A), y (R^(h-1), D, A). `ends` is the small matrix of a service end and a new start.
    """
    R = leave.size
    F, D, A = x.shape
    row = D * A
    G = F // R
    # The first page into service.
    xs, ys = x.reshape(F * row), y.reshape(G * row)
    for k in range(G * D):
        for b in range(A):
            ys[k * A + b] = 0.0
        for r in range(R):
            base = (r * G * D + k) * A
            weight = ones[r]
            for a in range(A):
                value = xs[base + a] * weight
                if value != 0.0:
                    for b in range(A):
                        ys[k * A + b] += value * ends[a, b]
    # Deletions: far axes in whole passes, near axes block by block.
    split, block = 0, F * row
    while split < h - 1 and block > CACHE_ENTRIES:
        block //= R
        split += 1
    for j in range(split):
        inner = (F // R ** (j + 1)) * row
        for hi in range(R**j):
            for r in range(R):
                rate = leave[r]
                if rate != 0.0:
                    source, target = (hi * R + r) * inner, hi * inner
                    for k in range(inner):
                        ys[target + k] += rate * xs[source + k]
    for b in range(R**split):
        for j in range(split, h):
            inner = (F // R ** (j + 1)) * row
            for hi in range(R ** (j - split)):
                for r in range(R):
                    rate = leave[r]
                    if rate != 0.0:
                        source = b * block + (hi * R + r) * inner
                        target = b * (block // R) + hi * inner
                        for k in range(inner):
                            ys[target + k] += rate * xs[source + k]


@njit(cache=True)
def draw_next(
    y: AnyArray,
    x: AnyArray,
    leave: AnyArray,
    more: IntArray,
    fewer: IntArray,
    q: int,
    out: AnyArray,
) -> None:  # pragma: no cover - compiled
    """After a page left the ordered ones, the next is drawn from the counts; pages among the counts become obsolete.

    y (R^(h-1), D, A) comes from `leave_front`, x (R^h, D, A) is the level itself; out (R^h, D', A) has q - 1
    counted pages. `more` is one_more(q - 1), `fewer` counts(q - 1).
    """
    G, _, A = y.shape
    R = leave.size
    Dn = out.shape[1]
    for g in range(G):
        for r in range(R):
            f = g * R + r
            for c in range(Dn):
                share = (fewer[c, r] + 1) / q
                source = more[c, r]
                for a in range(A):
                    out[f, c, a] = share * y[g, source, a]
                for s in range(R):
                    rate = leave[s] * (fewer[c, s] + 1)
                    if rate != 0.0:
                        source_s = more[c, s]
                        for a in range(A):
                            out[f, c, a] += rate * x[f, source_s, a]


@njit(cache=True)
def leave_counted(
    x: AnyArray,
    ends: AnyArray,
    leave: AnyArray,
    ones: AnyArray,
    more: IntArray,
    fewer: IntArray,
    q: int,
    out: AnyArray,
) -> None:  # pragma: no cover - compiled
    """The same two steps when no page is kept in order (h = 0): the next into service is drawn from the counts."""
    A = x.shape[2]
    R = leave.size
    for c in range(out.shape[1]):
        for b in range(A):
            out[0, c, b] = 0.0
        for r in range(R):
            source = more[c, r]
            share = ones[r] * (fewer[c, r] + 1) / q
            for a in range(A):
                value = x[0, source, a] * share
                for b in range(A):
                    out[0, c, b] += value * ends[a, b]
            rate = leave[r] * (fewer[c, r] + 1)
            for a in range(A):
                out[0, c, a] += rate * x[0, source, a]


@njit(cache=True)
def add_page(v: AnyArray, start: AnyArray, out: AnyArray) -> None:  # pragma: no cover - compiled
    """A new page joins the ordered ones: out[f R + r, 0, :] = start[r] v[f, 0, :]."""
    F, _, A = v.shape
    R = start.size
    for f in range(F):
        for r in range(R):
            for a in range(A):
                out[f * R + r, 0, a] = start[r] * v[f, 0, a]


@njit(cache=True)
def add_counted(v: AnyArray, start: AnyArray, less: IntArray, out: AnyArray) -> None:  # pragma: no cover - compiled
    """A new page joins the counted ones; `less` is one_less of the new number of counted pages."""
    F, D, A = out.shape
    R = start.size
    for f in range(F):
        for c in range(D):
            for a in range(A):
                out[f, c, a] = 0.0
            for r in range(R):
                source = less[c, r]
                if source >= 0:
                    for a in range(A):
                        out[f, c, a] += start[r] * v[f, source, a]


@njit(cache=True)
def times_small(x: AnyArray, small: AnyArray, out: AnyArray) -> None:  # pragma: no cover - compiled
    """Add x times the small matrix, configuration by configuration: out[f, c, :] += x[f, c, :] small."""
    F, D, A = x.shape
    B = small.shape[1]
    for f in range(F):
        for c in range(D):
            for a in range(A):
                value = x[f, c, a]
                if value != 0.0:
                    for b in range(B):
                        out[f, c, b] += value * small[a, b]


@njit(cache=True)
def _add_clock_changes(
    x: AnyArray, matrix: AnyArray, tables: LevelTables, h: int, f: int, c: int, out: AnyArray
) -> None:  # pragma: no cover - compiled
    """Add to out[f, c, :] what comes from earlier phases of one clock, ordered or counted."""
    vectors, R, A = tables.vectors, matrix.shape[0], x.shape[2]
    digit_weight, rest = 1, f
    for _ in range(h):
        r = rest % R
        rest //= R
        for s in range(r):
            rate = matrix[s, r]
            if rate != 0.0:
                source = f - (r - s) * digit_weight
                for a in range(A):
                    out[f, c, a] += rate * x[source, c, a]
        digit_weight *= R
    for r in range(R):
        if vectors[c, r] > 0:
            below = tables.less[c, r]
            for s in range(r):
                rate = matrix[s, r]
                if rate != 0.0:
                    # From counts with one page more in phase s and one less in r.
                    source = tables.more[below, s]
                    rate = rate * vectors[source, s]
                    for a in range(A):
                        out[f, c, a] += rate * x[f, source, a]


@njit(cache=True)
def solve_level(
    right: AnyArray,
    matrix: AnyArray,
    tables: LevelTables,
    h: int,
    scale: AnyArray,
    x: AnyArray,
    total: AnyArray,
    flow: AnyArray,
) -> float:  # pragma: no cover - compiled
    """Solve x (-Q_ii) = `right` by substitution in lexicographic order; returns the sum of |change| of x.

    `right` is overwritten. x on entry is the old level before its columns are multiplied by `scale`, on exit
    the new one; it is summed into `total` and `flow` (by small state) with the weights of `tables`.
    """
    F, D, A = right.shape
    R = matrix.shape[0]
    coupled = False
    for r in range(R):
        for s in range(r + 1, R):
            if matrix[r, s] != 0.0:
                coupled = True
    change = 0.0
    for a in range(A):
        total[a] = 0.0
        flow[a] = 0.0
    for f in range(F):
        k = tables.classes[f]
        for c in range(D):
            if coupled:
                _add_clock_changes(x, matrix, tables, h, f, c, right)
            place = tables.pairs[k, c]
            weight, rate = tables.sums[place], tables.flows[place]
            for b in range(A):
                value = right[f, c, 0] * tables.inverses[place, 0, b]
                for a in range(1, A):
                    value += right[f, c, a] * tables.inverses[place, a, b]
                change += abs(value - x[f, c, b] * scale[b])
                x[f, c, b] = value
                total[b] += weight * value
                flow[b] += rate * value
    return change


@njit(cache=True)
def apply_level(
    x: AnyArray, matrix: AnyArray, tables: LevelTables, h: int, out: AnyArray
) -> None:  # pragma: no cover - compiled
    """Add x Q_ii: the small block's generator, and the clocks of all waiting pages; arguments as in `solve_level`."""
    F, D, A = x.shape
    for f in range(F):
        k = tables.classes[f]
        for c in range(D):
            shift = tables.shifts[tables.pairs[k, c]]
            for a in range(A):
                value = x[f, c, a]
                out[f, c, a] += shift * value
                for b in range(A):
                    out[f, c, b] += value * tables.small[a, b]
            _add_clock_changes(x, matrix, tables, h, f, c, out)
