"""The chain: state space, generator, stationary solvers, measures, sojourn times, optimisation."""

from analytic.optimize import Optimum, PolicyCost, optimize
from analytic.solution import Solution, SolverReport
from analytic.solve import METHODS, solve
from analytic.transient import Transient, settling_time, transient

__all__ = [
    "METHODS",
    "Optimum",
    "PolicyCost",
    "Solution",
    "SolverReport",
    "Transient",
    "optimize",
    "settling_time",
    "solve",
    "transient",
]
