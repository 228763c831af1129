"""From a fit and the operator's words to one scenario, with the origin of every number.

Where the operator says nothing of costs, weights are set so that five evils are on one scale, whatever the unit of
time: losing every page costs 100, letting every page go stale 100, an indexer that is always idle 100, running all
robots 10, and making a page wait for one mean indexing time 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from crawltwin.model import (
    BMAP,
    ControlledArrivals,
    CostWeights,
    ModeMatrices,
    PhaseType,
    ScaledStream,
    Scenario,
    ThinnedStream,
)
from crawltwin.plan.day.logged_crawl import RobotsLogged
from crawltwin.plan.evidence.robots import robots_in_log
from crawltwin.plan.settings import WEIGHTS, NamedWeights, PlanSettings
from crawltwin.plan.wording import in_time, with_interval
from fitting import FitResult
from fitting.choose.result import ASSUMED_LOAD
from fitting.robots.learned import FetchingModel
from fitting.robots.robot_model import RobotModel

FATE, IDLE, ROBOTS, WAIT = 100.0, 100.0, 10.0, 1.0
"""Default costs: all pages lost or stale, indexer always idle, all robots on, one mean indexing time of waiting."""
WEIGHT_UNITS = {
    "loss": "for each page lost per second",
    "obsolescence": "for each page stale per second",
    "response": "for each second until indexed",
    "robots": "for each running robot",
    "starvation": "for an indexer that is always idle",
    "switching": "for each change of robots per second",
}
"""What each weight is paid for."""
FETCHING_PHASES = 120
"""Phases of robots that finish their fetch up to which a plan uses them: every policy is solved with them."""


@dataclass(frozen=True)
class Input:
    """One number of the plan and its origin.

    Parameters
    ----------
    name, value : str
        For people.
    source : {"given", "log", "default"}
    words : str
        Why this value, where it was not given.
    """

    name: str
    value: str
    source: Literal["given", "log", "default"]
    words: str = ""


def robot_model(fit: FitResult, settings: PlanSettings) -> RobotModel | None:
    """What the log tells of other numbers of robots; None where it tells nothing, or the operator said what holds."""
    if settings.is_given("control"):
        return None
    if fit.modes is not None:
        return replace(fit.modes, each=settings.fetches_per_robot)
    # Robots are learned over the whole log; where its rate changes they hold at no time.
    if settings.fetches_per_robot > 1 or fit.evened is not None:
        return None
    learned, named, supported = fit.robots, fit.named, fit.brought.supported
    if named is not None and supported == named.kind:
        return named if settings.robots == settings.recorded == named.robots else None
    if learned is None or not learned.supports(settings.recorded):
        return None
    fetching = FetchingModel(learned, settings.recorded)
    return fetching if fetching.arrivals(settings.robots).phases <= FETCHING_PHASES else None


def with_robots_of_log(fit: FitResult, settings: PlanSettings) -> PlanSettings:
    """The settings with the numbers of robots that the log tells, where the operator gave none."""
    seen = fit.robots_in_log
    supported = fit.brought.supported
    if seen is None and fit.robots is not None and supported == "fetching":
        seen = fit.robots.robots
    if seen is None and fit.named is not None and supported == fit.named.kind:
        seen = fit.named.robots
    if seen is None:
        return settings
    seen = max(1, seen // settings.fetches_per_robot)
    if settings.is_given("robots") and fit.robots_in_log is None:
        return settings
    robots = settings.robots if settings.is_given("robots") else seen
    recorded = settings.robots_in_log if settings.is_given("robots_in_log") else seen
    told = frozenset(name for name in ("robots", "robots_in_log") if not settings.is_given(name))
    return replace(settings, robots=robots, robots_in_log=recorded, from_log=told)


def arrivals_of(process: BMAP, settings: PlanSettings) -> ControlledArrivals:
    """What each number of robots is taken to bring, from the stream of those that wrote the log."""
    if settings.control_in_force == "thinned":
        shares = tuple((r + 1) / settings.recorded for r in range(settings.robots))
        return ThinnedStream(process, shares)
    single = process.scaled(1 / settings.recorded) if settings.recorded > 1 else process
    return ScaledStream(single, settings.robots)


def arrivals_again(
    process: BMAP,
    model: RobotModel | None,
    logged: RobotsLogged | None,
    settings: PlanSettings,
    rng: np.random.Generator,
) -> ControlledArrivals:
    """What each number of robots brings by a resampled log, of which `process` and `logged` were learned."""
    if model is None:
        return arrivals_of(process if logged is None else logged.process(settings.recorded), settings)
    return model.redrawn(settings.robots, rng) if logged is None else logged.arrivals(settings.robots)


def arrivals_by_share(process: BMAP, settings: PlanSettings, shares: Sequence[float]) -> ControlledArrivals:
    """Arrivals where 1, 2, ... robots bring these shares of what the robots of the log bring."""
    if settings.control_in_force == "thinned" and max(shares) <= 1:
        return ThinnedStream(process, tuple(shares))
    return ModeMatrices({r: process.scaled(share) for r, share in enumerate(shares, start=1)})


def default_cost(page_rate: float, service_mean: float, robots: int) -> CostWeights:
    """The unit-free default weights, see this file's head."""
    return CostWeights(
        loss=FATE / page_rate,
        obsolescence=FATE / page_rate,
        response=WAIT / service_mean,
        robots=ROBOTS / robots,
        starvation=IDLE,
    )


def scenario_of(fit: FitResult, settings: PlanSettings) -> Scenario:
    """The scenario to be optimised; times in seconds."""
    service = fit.service(settings.processing_rate, settings.service_mean)
    model, logged = robot_model(fit, settings), RobotsLogged.of(fit, settings)
    # Where the number of robots changes in the log, its one stream is that of no number of them.
    process = fit.process if logged is None else logged.process(settings.recorded)
    arrivals = arrivals_of(process, settings) if model is None else model.arrivals(settings.robots)
    base = fit.scenario(
        capacity=settings.capacity, service_mean=service.mean, obsolescence_mean=settings.obsolescence_mean
    )
    full = arrivals.mode(settings.robots).page_rate
    return Scenario(
        title="the crawler of the log",
        capacity=settings.capacity,
        arrivals=arrivals,
        service=service,
        obsolescence=base.obsolescence,
        cost=_cost(settings, default_cost(full, service.mean, settings.robots)),
        admission=settings.admission_rule,
    )


def _cost(settings: PlanSettings, default: CostWeights) -> CostWeights:
    """The weights that were given; those that were not named keep their defaults."""
    if isinstance(settings.cost, NamedWeights):
        return CostWeights(**{**default.to_mapping(), **dict(settings.cost.weights)})
    return settings.cost or default


def processing_rate_of(fit: FitResult, service: PhaseType) -> float | None:
    """Bytes per second that make content sizes the service times of the scenario; None without sizes."""
    return None if fit.sizes is None else fit.sizes.distribution.mean / service.mean


def inputs_of(fit: FitResult, settings: PlanSettings, scenario: Scenario) -> tuple[Input, ...]:
    """Every number of the plan with its origin."""
    rate = fit.numbers["page_rate"]
    found = [
        Input("robots", str(settings.robots), _origin(settings, "robots"), "the most a policy may run"),
        _robot(fit, settings),
        _ran(fit, settings),
        _control(fit, settings),
        Input("capacity", f"{settings.capacity} pages", _origin(settings, "capacity")),
        Input("admission", settings.admission, _origin(settings, "admission")),
        Input(
            "arrivals",
            with_interval(rate.value, rate.low, rate.high, kind="rate"),
            "log",
            f"in brackets 95%; {fit.chosen.name}, {fit.process.phases} phase{'s' if fit.process.phases > 1 else ''}",
        ),
        _service(fit, settings, scenario),
        _stale(fit, settings, scenario),
        *_weights(settings, scenario),
        Input("seed", str(settings.seed), _origin(settings, "seed")),
    ]
    return tuple(found)


def _origin(settings: PlanSettings, name: str) -> Literal["given", "log", "default"]:
    if name in settings.from_log:
        return "log"
    return "given" if settings.is_given(name) else "default"


def _ran(fit: FitResult, settings: PlanSettings) -> Input:
    logged, name = RobotsLogged.of(fit, settings), "robots that wrote the log"
    if logged is not None:
        return Input(name, logged.in_words(), "log", "each number is taken as stationary by itself")
    words = "taken to be the same number" if settings.robots_in_log is None else ""
    return Input(name, str(settings.recorded), _origin(settings, "robots_in_log"), words)


def _robot(fit: FitResult, settings: PlanSettings) -> Input:
    count = settings.fetches_per_robot
    value = "one fetch under way" if count == 1 else f"{count} fetches under way"
    return Input("a robot", value, _origin(settings, "fetches_per_robot"), robots_in_log(fit, settings).in_words())


def _control(fit: FitResult, settings: PlanSettings) -> Input:
    model = robot_model(fit, settings)
    if model is not None:
        told = "; ".join((*model.words, fit.evidence.words)) if fit.evidence.known else "; ".join(model.words)
        return Input("what fewer robots bring", f"as learned from the log ({model.kind})", "log", told)
    words = {
        "thinned": f"r robots deliver each batch of the log with probability r/{settings.recorded}"
        if settings.recorded > 1
        else "one robot delivers the log as it is",
        "scaled": "r robots deliver what one would, r times as fast",
    }[settings.control_in_force]
    return Input("what fewer robots bring", words, _origin(settings, "control"), fit.evidence.words)


def _service(fit: FitResult, settings: PlanSettings, scenario: Scenario) -> Input:
    value = f"mean {in_time(scenario.service.mean)}, squared coefficient of variation {scenario.service.scv:.3g}"
    form = (
        "exponential: the log tells no content sizes" if fit.sizes is None else "form of the content sizes in the log"
    )
    if settings.processing_rate is not None:
        return Input("indexing time", value, "given", f"{settings.processing_rate:,g} bytes per second; {form}")
    if settings.service_mean is not None:
        return Input("indexing time", value, "given", form)
    words = (
        f"nothing is known of the indexer's speed: set so that all robots keep it busy {ASSUMED_LOAD:.0%} of the "
        f"time; {form}. Give --processing-rate or --service-mean"
    )
    return Input("indexing time", value, "default", words)


def _stale(fit: FitResult, settings: PlanSettings, scenario: Scenario) -> Input:
    law = scenario.obsolescence
    if law is None and settings.obsolescence_mean is not None:
        return Input("time until stale", "never", "given")
    if law is None:
        words = (
            f"the log has {fit.visits[0]} page{'s' * (fit.visits[0] != 1)} fetched again, {fit.visits[1]} of them "
            "changed: too few to tell. Give --obsolescence-mean"
        )
        return Input("time until stale", "never", "default", words)
    value = f"mean {in_time(law.mean)}"
    if settings.obsolescence_mean is not None:
        return Input("time until stale", value, "given", "exponential")
    return Input("time until stale", value, "log", f"from {fit.visits[0]} revisits, {fit.visits[1]} of them changed")


def given_weights(settings: PlanSettings) -> frozenset[str]:
    """Names of the weights that the operator set."""
    if isinstance(settings.cost, NamedWeights):
        return frozenset(name for name, _ in settings.cost.weights)
    return frozenset() if settings.cost is None else frozenset(WEIGHTS)


def _weights(settings: PlanSettings, scenario: Scenario) -> list[Input]:
    assert scenario.cost is not None
    said = given_weights(settings)
    words = {
        "loss": f"losing every page costs {FATE:g}",
        "obsolescence": f"every page stale costs {FATE:g}",
        "response": f"waiting one mean indexing time costs {WAIT:g}",
        "robots": f"all robots on cost {ROBOTS:g}",
        "starvation": f"an indexer always idle costs {IDLE:g}",
    }
    return [
        Input(f"cost of {name}", f"{getattr(scenario.cost, name):,.6g} {WEIGHT_UNITS[name]}", "given")
        if name in said
        else Input(
            f"cost of {name}", f"{getattr(scenario.cost, name):,.4g} {WEIGHT_UNITS[name]}", "default", words[name]
        )
        for name in WEIGHTS
    ]
