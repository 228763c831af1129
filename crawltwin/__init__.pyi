from analytic import Optimum as Optimum, Solution as Solution, optimize as optimize, solve as solve
from crawltwin.model.sources import load as load
from crawltwin.model.scenario import Scenario as Scenario
from crawltwin.plan.decide import Plan as Plan, plan as plan
from crawltwin.plan.evidence.unsuitable import Unsuitable as Unsuitable
from fitting import FitResult as FitResult, fit as fit
from simulate import SimulationResult as SimulationResult, simulate as simulate
from validate import CrossCheck as CrossCheck, crosscheck as crosscheck

__version__: str
