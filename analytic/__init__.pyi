from analytic.policy.certificate import Certificate as Certificate, certify as certify
from analytic.policy.constraints import Constrained as Constrained, constrain as constrain
from analytic.policy.front import ParetoFront as ParetoFront, pareto as pareto
from analytic.policy.memory.polling import PollingCost as PollingCost, polling_cost as polling_cost
from analytic.policy.search import Optimum as Optimum, PolicyCost as PolicyCost, optimize as optimize
from analytic.response.derivatives import Sensitivity as Sensitivity, sensitivity as sensitivity
from analytic.response.variances import (
    AsymptoticVariance as AsymptoticVariance,
    asymptotic_variance as asymptotic_variance,
)
from analytic.stationary.choice import solve as solve
from analytic.stationary.methods import METHODS as METHODS
from analytic.stationary.solution import Solution as Solution, SolverReport as SolverReport
from analytic.time.absorption import AbsorptionTime as AbsorptionTime
from analytic.time.approach import Transient as Transient, settling_time as settling_time, transient as transient
from analytic.time.finite_list import Completion as Completion, completion as completion
from analytic.time.first_passage import passage as passage
