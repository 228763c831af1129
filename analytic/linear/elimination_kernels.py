"""The loops of `analytic.linear.elimination`, compiled: they can be called from other compiled code."""

from __future__ import annotations

from analytic.linear import elimination
from crawltwin.work.compiling import njit

factor_in_place = njit(cache=True)(elimination.factor_in_place)
solve_left_in_place = njit(cache=True)(elimination.solve_left_in_place)
solve_right_in_place = njit(cache=True)(elimination.solve_right_in_place)
stationary_in_place = njit(cache=True)(elimination.stationary_in_place)
