from crawltwin.model.arrivals.fetching import FetchingRobots as FetchingRobots
from crawltwin.model.arrivals.kinds import (
    ControlledArrivals as ControlledArrivals,
    IndependentRobots as IndependentRobots,
    MarkedStream as MarkedStream,
    ModeMatrices as ModeMatrices,
    ScaledStream as ScaledStream,
    ThinnedStream as ThinnedStream,
)
from crawltwin.model.arrivals.matrices import ArrivalMatrices as ArrivalMatrices
from crawltwin.model.arrivals.spells import Spells as Spells
from crawltwin.model.bmap import BMAP as BMAP
from crawltwin.model.policies.cost import CostWeights as CostWeights
from crawltwin.model.errors import (
    ConvergenceError as ConvergenceError,
    CrawltwinError as CrawltwinError,
    Fault as Fault,
    InputError as InputError,
    TooLargeError as TooLargeError,
)
from crawltwin.model.interval import Interval as Interval
from crawltwin.model.laws.families import (
    coxian as coxian,
    deterministic_like as deterministic_like,
    erlang as erlang,
    exponential as exponential,
    from_mean_and_scv as from_mean_and_scv,
    from_moments as from_moments,
    from_three_moments as from_three_moments,
    hyper_erlang as hyper_erlang,
    hyperexponential as hyperexponential,
)
from crawltwin.model.measures import MEASURES as MEASURES, SCALAR_MEASURES as SCALAR_MEASURES, Measure as Measure
from crawltwin.model.laws.phase_type import PhaseType as PhaseType
from crawltwin.model.policies.levels import LevelPolicy as LevelPolicy
from crawltwin.model.policies.policy import Policy as Policy
from crawltwin.model.policies.thresholds import ThresholdPolicy as ThresholdPolicy
from crawltwin.model.rates import RATES as RATES, Rates as Rates, cost_error as cost_error
from crawltwin.model.scenario import ADMISSIONS as ADMISSIONS, Admission as Admission, Scenario as Scenario
