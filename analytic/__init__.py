"""The chain: state space, generator, stationary solvers, measures, sojourn times, optimisation."""

from analytic.absorption import AbsorptionTime
from analytic.certify import Certificate, certify
from analytic.completion import Completion, completion
from analytic.optimize import Optimum, PolicyCost, optimize
from analytic.passage import passage
from analytic.solution import Solution, SolverReport
from analytic.solve import METHODS, solve
from analytic.transient import Transient, settling_time, transient

__all__ = [
    "METHODS",
    "AbsorptionTime",
    "Certificate",
    "Completion",
    "Optimum",
    "PolicyCost",
    "Solution",
    "SolverReport",
    "Transient",
    "certify",
    "completion",
    "optimize",
    "passage",
    "settling_time",
    "solve",
    "transient",
]
