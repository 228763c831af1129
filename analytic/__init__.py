"""The chain: state space, generator, stationary solvers, measures, sojourn times, optimisation."""

from analytic.solution import Solution, SolverReport
from analytic.solve import METHODS, solve

__all__ = ["METHODS", "Solution", "SolverReport", "solve"]
