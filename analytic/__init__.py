"""The chain: state space, generator, stationary solvers, measures, sojourn times, optimisation."""

from analytic.certify import Certificate, certify
from analytic.optimize import Optimum, PolicyCost, optimize
from analytic.solution import Solution, SolverReport
from analytic.solve import METHODS, solve
from analytic.transient import Transient, settling_time, transient

__all__ = [
    "METHODS",
    "Certificate",
    "Optimum",
    "PolicyCost",
    "Solution",
    "SolverReport",
    "Transient",
    "certify",
    "optimize",
    "settling_time",
    "solve",
    "transient",
]
