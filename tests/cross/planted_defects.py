r"""Defects that can be written as another scenario, and the smallest of them that a run of given length finds.

A cross-check is worth what it finds. A defect of size x shifts a measure by :math:`x\,dm/dx`, known from the chain; a
run of n pages has the standard error :math:`\sigma/\sqrt n`, known from a pilot; a shift is called `different` with
probability `power` when it exceeds :math:`(z_{1-\alpha_n/2k} + z_{power})\,\sigma/\sqrt n`, with k numbers in the
family (Holm's first step) and the part :math:`\alpha_n` of the level that a run of n pages may use
(`validate.verdict`). So the smallest defect that is found is

.. math:: x(n) = \min_{measures} (z_{1-\alpha_n/2k} + z_{power})\, \frac{\sigma}{\sqrt n\, |dm/dx|} .

Faults of meaning (last in first out, a clock that restarts, a phase that is lost) are no scenarios; for them
`pages_to_find` takes the comparisons of a run of the faulty program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from scipy import optimize, stats

from analytic import Solution, solve
from crawltwin.model import BMAP, InputError, ModeMatrices, Scenario, ThresholdPolicy
from simulate import SampleSettings, draw_sample
from validate.comparison import compare
from validate.evidence import MAIN, child_seed, runs_after_warm_up
from validate.length import PILOT_REPLICATIONS, StartUp, longest_stay, settling
from validate.parts import ActiveRobots, Levels, SojournPoint, SojournQuantile
from validate.plan import ValidationPlan
from validate.verdict import Comparison, information, spent

STEP = 0.001
"""Relative step of the derivatives."""


@dataclass(frozen=True)
class Defect:
    """A way to be wrong: its name, its words, and the scenario that a program with it would simulate.

    `apply` takes the scenario and the size: a relative change, or a whole number of places.
    """

    name: str
    words: str
    apply: Callable[[Scenario, float], Scenario]
    whole: bool = False


def _service(scenario: Scenario, size: float) -> Scenario:
    return scenario.replace(service=scenario.service.scaled(1 + size))


def _obsolescence(scenario: Scenario, size: float) -> Scenario:
    if scenario.obsolescence is None:
        raise InputError("obsolescence must be given for a defect of its rate; got none at obsolescence")
    return scenario.replace(obsolescence=scenario.obsolescence.scaled(1 + size))


def _arrivals(scenario: Scenario, size: float) -> Scenario:
    modes: dict[int, BMAP] = {robots: mode.scaled(1 + size) for robots, mode in scenario.arrivals.modes.items()}
    return scenario.replace(arrivals=ModeMatrices(modes))


def _capacity(scenario: Scenario, size: float) -> Scenario:
    return scenario.replace(capacity=scenario.capacity + int(size))


def _thresholds(scenario: Scenario, size: float) -> Scenario:
    policy = scenario.policy_in_force
    if not isinstance(policy, ThresholdPolicy) or not policy.thresholds:
        raise InputError(f"policy must have thresholds for a defect of them; got {policy!r}")
    moved = [min(max(limit + int(size), -1), scenario.capacity) for limit in policy.thresholds]
    return scenario.replace(policy=ThresholdPolicy(policy.robots, moved))


DEFECTS: Mapping[str, Defect] = MappingProxyType(
    {
        defect.name: defect
        for defect in (
            Defect("service", "indexing rates off by a factor", _service),
            Defect("obsolescence", "obsolescence rates off by a factor", _obsolescence),
            Defect("arrivals", "arrival rates off by a factor", _arrivals),
            Defect("capacity", "capacity off by places", _capacity, whole=True),
            Defect("thresholds", "thresholds off by pages", _thresholds, whole=True),
        )
    }
)
"""Every defect that is another scenario, by name."""


@dataclass(frozen=True)
class Detectable:
    """The smallest defect found within a number of pages, and the number that shows it first."""

    defect: str
    pages: int
    size: float
    shown_by: str


def smallest_defects(
    scenario: Scenario,
    budgets: Sequence[int],
    defects: Sequence[str] = ("service", "obsolescence", "arrivals"),
    plan: ValidationPlan | None = None,
    power: float = 0.9,
    pilot_pages: int = 1_000_000,
) -> tuple[Detectable, ...]:
    """The smallest defect of each kind that is found within each budget of pages.

    Cost: one pilot, and two solutions for each defect.
    """
    plan = plan or ValidationPlan()
    solution = solve(scenario)
    comparisons, pages = _pilot(scenario, solution, plan, pilot_pages)
    limits = {
        budget: [_limit(one, pages / budget, plan, power, len(comparisons)) for one in comparisons]
        for budget in budgets
    }
    found = []
    for name in defects:
        defect = DEFECTS[name]
        if defect.whole:
            raise InputError(f"defects must be continuous for a smallest one; got {name!r}")
        slopes = _slopes(solve(defect.apply(scenario, STEP)), comparisons)
        for budget in budgets:
            sizes = {
                one.name: limit / abs(slopes[one.name])
                for one, limit in zip(comparisons, limits[budget], strict=True)
                if abs(slopes.get(one.name, 0.0)) > 0 and math.isfinite(one.error)
            }
            first = min(sizes, key=lambda key: sizes[key])
            found.append(Detectable(name, budget, sizes[first], first))
    return tuple(found)


def pages_to_find(comparisons: Sequence[Comparison], pages: int, plan: ValidationPlan, power: float = 0.9) -> int:
    """Pages until a faulty program is found out, judged from a run of it that lasted `pages`."""
    needed = [
        _pages_until(one, pages, plan, power, len(comparisons))
        for one in comparisons
        if math.isfinite(one.error) and one.error > 0 and abs(one.difference) > 3 * one.error
    ]
    if not needed:
        raise InputError(f"comparisons must show a fault; got none that stands out after {pages} pages. Run longer")
    return math.ceil(min(needed))


def _pages_until(one: Comparison, pages: int, plan: ValidationPlan, power: float, family: int) -> float:
    """Pages at which the limit has fallen to the shift seen: it falls with every page."""
    shift = abs(one.difference)
    log = optimize.brentq(lambda x: math.log(_limit(one, pages / math.exp(x), plan, power, family) / shift), 0.0, 60.0)
    return math.exp(log)


def _limit(one: Comparison, shorter: float, plan: ValidationPlan, power: float, family: int) -> float:
    """The shift of a number that is found with that power by a run so many times shorter than the one it is from."""
    known = replace(one, error=one.error * math.sqrt(shorter))
    part = spent(information(known, plan.confidence, plan.power)) if math.isfinite(one.error) else 1.0
    return shift_limit(plan.confidence, power, family / part) * known.error


def shift_limit(confidence: float, power: float, family: float) -> float:
    """How many standard errors a shift must have to be called `different` with that power in a family of that size."""
    return float(stats.norm.isf((1 - confidence) / (2 * family)) + stats.norm.ppf(power))


def _pilot(
    scenario: Scenario, solution: Solution, plan: ValidationPlan, pages: int
) -> tuple[tuple[Comparison, ...], int]:
    rate = float(solution.measures["arrival_rate"])
    start_up = StartUp(rate, settling(scenario, solution.solver.states), longest_stay(solution))
    least = start_up.least_pages(PILOT_REPLICATIONS)
    settings = SampleSettings(seed=child_seed(plan.seed, scenario, MAIN), engine=plan.engine)
    time_each = max(pages, least) / PILOT_REPLICATIONS / rate
    sample = draw_sample(scenario, runs_after_warm_up(settings, time_each, PILOT_REPLICATIONS))
    return compare(solution, sample, plan), sample.pages


def _slopes(off: Solution, comparisons: Sequence[Comparison]) -> dict[str, float]:
    """Derivatives of the compared numbers by the size of a defect; distribution functions at fixed times."""
    values = {one.name: _solved_value(off, one) for one in comparisons}
    return {one.name: (value - one.solved) / STEP for one in comparisons if (value := values[one.name]) is not None}


def _solved_value(solution: Solution, number: Comparison) -> float | None:
    """The same number of another solution."""
    match number.part:
        case Levels(first, last):
            return float(sum(solution.measures["level_distribution"][first : last + 1]))
        case ActiveRobots(robots):
            return solution.mode_probabilities.get(robots, 0.0)
        case SojournQuantile(fate, order):
            return solution.sojourn.quantile(order, fate)
        case SojournPoint(fate, time):
            law = solution.sojourn.cdf([time], fate)
            return None if law is None else float(law[0])
        case _:
            return solution.measures.get(number.measure)
