"""The chain: state space, generator, stationary solvers, measures, sojourn times, optimisation."""

from analytic.certify import Certificate, certify
from analytic.constraints import Constrained, constrain
from analytic.optimize import Optimum, PolicyCost, optimize
from analytic.pareto import ParetoFront, pareto
from analytic.sensitivity import Sensitivity, sensitivity
from analytic.solution import Solution, SolverReport
from analytic.solve import METHODS, solve
from analytic.transient import Transient, settling_time, transient
from analytic.variance import AsymptoticVariance, asymptotic_variance

__all__ = [
    "METHODS",
    "AsymptoticVariance",
    "Certificate",
    "Constrained",
    "Optimum",
    "ParetoFront",
    "PolicyCost",
    "Sensitivity",
    "Solution",
    "SolverReport",
    "Transient",
    "asymptotic_variance",
    "certify",
    "constrain",
    "optimize",
    "pareto",
    "sensitivity",
    "settling_time",
    "solve",
    "transient",
]
