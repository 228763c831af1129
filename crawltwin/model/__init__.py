"""The shared vocabulary of both sides: phase types, arrivals, policies, costs, scenarios."""

from crawltwin.model.arrivals import (
    ControlledArrivals,
    IndependentRobots,
    MarkedStream,
    ModeMatrices,
    ScaledStream,
    ThinnedStream,
)
from crawltwin.model.bmap import BMAP
from crawltwin.model.cost import CostWeights
from crawltwin.model.errors import ConvergenceError, CrawltwinError, Fault, InputError, TooLargeError
from crawltwin.model.families import (
    coxian,
    deterministic_like,
    erlang,
    exponential,
    from_mean_and_scv,
    from_moments,
    from_three_moments,
    hyper_erlang,
    hyperexponential,
)
from crawltwin.model.measures import MEASURES, SCALAR_MEASURES, Measure
from crawltwin.model.phase_type import PhaseType
from crawltwin.model.policy import LevelPolicy, Policy, ThresholdPolicy
from crawltwin.model.scenario import ADMISSIONS, Admission, Scenario

__all__ = [
    "ADMISSIONS",
    "BMAP",
    "MEASURES",
    "SCALAR_MEASURES",
    "Admission",
    "ControlledArrivals",
    "ConvergenceError",
    "CostWeights",
    "CrawltwinError",
    "Fault",
    "IndependentRobots",
    "InputError",
    "LevelPolicy",
    "MarkedStream",
    "Measure",
    "ModeMatrices",
    "PhaseType",
    "Policy",
    "ScaledStream",
    "Scenario",
    "ThinnedStream",
    "ThresholdPolicy",
    "TooLargeError",
    "coxian",
    "deterministic_like",
    "erlang",
    "exponential",
    "from_mean_and_scv",
    "from_moments",
    "from_three_moments",
    "hyper_erlang",
    "hyperexponential",
]
