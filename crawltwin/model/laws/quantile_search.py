"""Quantiles from the tail of a distribution: one search for all laws of times."""

from __future__ import annotations

from collections.abc import Callable

from crawltwin.model.errors import InputError


def quantile_from_tail(tail: Callable[[float], float], p: float, mean: float, weight: float = 1.0) -> float:
    """The smallest x >= 0 with P(X <= x) >= p.

    Parameters
    ----------
    tail : callable
        P(X > x) times `weight`, continuous for x > 0 and not growing; what is missing to `weight` at 0 is mass at 0.
    p : float
        0 <= p < 1.
    mean : float
        Where the search begins; it doubles until the quantile is below.
    weight : float
        What the tail is to be divided by.

    Examples
    --------
    >>> import math
    >>> round(quantile_from_tail(lambda x: math.exp(-x), 0.5, 1.0), 9) == round(math.log(2), 9)
    True
    """
    if not 0 <= p < 1:
        raise InputError(f"p must be in [0, 1); got {p!r}")
    wanted = (1 - p) * weight
    if tail(0.0) <= wanted:
        return 0.0
    high = mean
    while tail(high) > wanted:
        high *= 2
    # Loaded here: most who import this module never ask for a quantile.
    from scipy.optimize import brentq

    return float(brentq(lambda x: tail(x) - wanted, 0.0, high, xtol=1e-300, rtol=1e-12))
