"""From a fit and the operator's words to one scenario, with the origin of every number.

Where the operator says nothing of costs, weights are set so that five evils are on one scale, whatever the unit of
time: losing every page costs 100, letting every page go stale 100, an indexer that is always idle 100, running all
robots 10, and making a page wait for one mean indexing time 1.
"""

from __future__ import annotations

from typing import Literal

from crawltwin.model import ControlledArrivals, CostWeights, PhaseType, ScaledStream, Scenario, ThinnedStream
from crawltwin.model.bmap import BMAP
from crawltwin.plan.settings import Input, PlanSettings
from fitting import FitResult
from fitting.result import ASSUMED_LOAD

FATE, IDLE, ROBOTS, WAIT = 100.0, 100.0, 10.0, 1.0
"""Default costs: all pages lost or stale, indexer always idle, all robots on, one mean indexing time of waiting."""


def arrivals_of(process: BMAP, settings: PlanSettings) -> ControlledArrivals:
    """What each number of robots brings, from the stream of those that wrote the log."""
    if settings.control_in_force == "thinned":
        shares = tuple((r + 1) / settings.recorded for r in range(settings.robots))
        return ThinnedStream(process, shares)
    single = process.scaled(1 / settings.recorded) if settings.recorded > 1 else process
    return ScaledStream(single, settings.robots)


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
    arrivals = arrivals_of(fit.process, settings)
    base = fit.scenario(
        capacity=settings.capacity, service_mean=service.mean, obsolescence_mean=settings.obsolescence_mean
    )
    cost = settings.cost
    if cost is None:
        full = arrivals.mode(settings.robots).page_rate
        cost = default_cost(full, service.mean, settings.robots)
    return Scenario(
        title="the crawler of the log",
        capacity=settings.capacity,
        arrivals=arrivals,
        service=service,
        obsolescence=base.obsolescence,
        cost=cost,
        admission="partial"
        if settings.admission == "partial"
        else "all-or-nothing"
        if settings.admission == "all-or-nothing"
        else "overflow",
    )


def processing_rate_of(fit: FitResult, service: PhaseType) -> float | None:
    """Bytes a second that make content sizes the service times of the scenario; None without sizes."""
    return None if fit.sizes is None else fit.sizes.distribution.mean / service.mean


def inputs_of(fit: FitResult, settings: PlanSettings, scenario: Scenario) -> tuple[Input, ...]:
    """Every number of the plan with its origin."""
    rate = fit.numbers["page_rate"]
    found = [
        Input("robots", str(settings.robots), _origin(settings, "robots"), "the most a policy may run"),
        Input(
            "robots that wrote the log",
            str(settings.recorded),
            _origin(settings, "robots_in_log"),
            "taken to be the same number" if settings.robots_in_log is None else "",
        ),
        _control(settings),
        Input("capacity", f"{settings.capacity} pages", _origin(settings, "capacity")),
        Input("admission", settings.admission, _origin(settings, "admission")),
        Input(
            "arrivals",
            f"{rate.value:.4g} pages/s (95%: {rate.low:.4g} to {rate.high:.4g})",
            "log",
            f"{fit.chosen.name}, {fit.process.phases} phases",
        ),
        _service(fit, settings, scenario),
        _stale(fit, settings, scenario),
        *_weights(settings, scenario),
        Input("seed", str(settings.seed), _origin(settings, "seed")),
    ]
    return tuple(found)


def _origin(settings: PlanSettings, name: str) -> Literal["given", "default"]:
    """Given where the operator said so, or where the value is not the default."""
    changed = getattr(settings, name) != getattr(PlanSettings(), name)
    return "given" if name in settings.given or changed else "default"


def _control(settings: PlanSettings) -> Input:
    words = {
        "thinned": f"r robots deliver each batch of the log with probability r/{settings.recorded}",
        "scaled": "r robots deliver what one would, r times as fast",
    }[settings.control_in_force]
    return Input("what fewer robots bring", words, _origin(settings, "control"))


def _service(fit: FitResult, settings: PlanSettings, scenario: Scenario) -> Input:
    value = f"mean {scenario.service.mean:.4g} s, squared coefficient of variation {scenario.service.scv:.3g}"
    form = (
        "exponential: the log tells no content sizes" if fit.sizes is None else "form of the content sizes in the log"
    )
    if settings.processing_rate is not None:
        return Input("indexing time", value, "given", f"{settings.processing_rate:g} bytes/s; {form}")
    if settings.service_mean is not None:
        return Input("indexing time", value, "given", form)
    words = (
        f"nothing is known of the indexer's speed: set so that all robots keep it busy {ASSUMED_LOAD:.0%} of the time; "
        f"{form}. Give --processing-rate or --service-mean"
    )
    return Input("indexing time", value, "default", words)


def _stale(fit: FitResult, settings: PlanSettings, scenario: Scenario) -> Input:
    law = scenario.obsolescence
    if law is None:
        words = (
            f"the log has {fit.visits[0]} pages fetched again, {fit.visits[1]} of them changed: too few to tell. "
            "Give --obsolescence-mean"
        )
        return Input("time until stale", "never", "default", words)
    value = f"mean {law.mean:.4g} s"
    if settings.obsolescence_mean is not None:
        return Input("time until stale", value, "given", "exponential")
    return Input("time until stale", value, "log", f"from {fit.visits[0]} revisits, {fit.visits[1]} of them changed")


def _weights(settings: PlanSettings, scenario: Scenario) -> list[Input]:
    assert scenario.cost is not None
    words = {
        "loss": f"losing every page costs {FATE:g}",
        "obsolescence": f"every page stale costs {FATE:g}",
        "response": f"waiting one mean indexing time costs {WAIT:g}",
        "robots": f"all robots on cost {ROBOTS:g}",
        "starvation": f"an indexer always idle costs {IDLE:g}",
    }
    return [
        Input(
            f"cost of {name}",
            f"{getattr(scenario.cost, name):.6g}",
            "default" if settings.cost is None else "given",
            said if settings.cost is None else "",
        )
        for name, said in words.items()
    ]
