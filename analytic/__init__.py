"""The chain: state space, generator, stationary solvers, measures, sojourn times, optimisation."""

from analytic.absorption import AbsorptionTime
from analytic.certify import Certificate, certify
from analytic.completion import Completion, completion
from analytic.constraints import Constrained, constrain
from analytic.optimize import Optimum, PolicyCost, optimize
from analytic.pareto import ParetoFront, pareto
from analytic.passage import passage
from analytic.sensitivity import Sensitivity, sensitivity
from analytic.solution import Solution, SolverReport
from analytic.solve import METHODS, solve
from analytic.transient import Transient, settling_time, transient
from analytic.variance import AsymptoticVariance, asymptotic_variance

__all__ = [
    "METHODS",
    "AbsorptionTime",
    "AsymptoticVariance",
    "Certificate",
    "Completion",
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
    "completion",
    "constrain",
    "optimize",
    "pareto",
    "passage",
    "sensitivity",
    "settling_time",
    "solve",
    "transient",
]
