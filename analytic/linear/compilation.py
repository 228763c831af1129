"""Loops that are compiled only where they are long: loading the compiler takes longer than a small chain.

The loops are plain Python that numba can compile. Both forms do the same operations in the same order, so results have
the same bits whichever is taken. A process interprets until its loops have come to `INTERPRETED_STEPS`, and compiles
from then on: many short loops are not slower than one long loop.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

INTERPRETED_STEPS = 300_000
"""Most innermost steps that are left to the interpreter: they take about as long as loading the compiler."""


class _Budget:
    """Innermost steps that this process has left to the interpreter so far."""

    spent = 0.0


def compiled_when_large(function: Callable[..., Any]) -> Callable[[float], Callable[..., Any]]:
    """Turn a loop into a function of the number of its innermost steps, which gives the loop in the better form.

    Examples
    --------
    >>> @compiled_when_large
    ... def total(values):
    ...     found = 0.0
    ...     for value in values:
    ...         found += value
    ...     return found
    >>> total(3)((1.0, 2.0, 3.0))
    6.0
    """

    @cache
    def compiled() -> Callable[..., Any]:
        from crawltwin.work.compiling import njit

        return njit(cache=True)(function)

    def choose(steps: float) -> Callable[..., Any]:
        if "numba" in sys.modules or _Budget.spent + steps > INTERPRETED_STEPS:
            return compiled()
        _Budget.spent += steps
        return function

    return choose
