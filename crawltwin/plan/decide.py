"""`plan`: from a log to a decision. Read, clean, fit, choose, prove, check twice, doubt, ask what if.

A step that cannot be done does not end the plan: it is left out, and the result says which one and why. Only a log
that allows no model at all gives an `Unsuitable` result, with what can be concluded nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from analytic import Optimum, Solution, certify, completion, optimize, solve
from crawltwin.model import InputError, Scenario
from crawltwin.plan.choosing import Limited, choose_within
from crawltwin.plan.evidence.backlog import backlog_of
from crawltwin.plan.evidence.clock import ClockChoice, ReadLog, read_otherwise, reading_taken
from crawltwin.plan.evidence.finish import FinishTimes, finish_of
from crawltwin.plan.evidence.resampling import Uncertainty, uncertainty
from crawltwin.plan.evidence.robot_law import fewer_robots
from crawltwin.plan.evidence.robots import robots_in_log
from crawltwin.plan.evidence.unsuitable import Unsuitable, diagnose, limits_of, remarks_on
from crawltwin.plan.prepare import (
    inputs_of,
    processing_rate_of,
    robot_model,
    scenario_of,
    today_of,
    today_rates,
    with_robots_of_log,
)
from crawltwin.plan.result import Plan
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.steps import StepProgress, Steps
from crawltwin.plan.what_if.assumed import assumptions
from crawltwin.plan.what_if.polling import polling_of
from crawltwin.plan.what_if.variations import what_if
from fitting import CountLog, FitOptions, FitResult, RawLog, fit
from fitting.readers import read_either
from validate import ValidationPlan, crosscheck
from validate.logs.agreement import LogAgreement, compare_fitted_log

__all__ = ["Plan", "plan"]

QUICK = {"redraws": 12, "budget": 500_000, "margin": 0.2, "what_if": False}
"""What `quick` changes, where nothing else was given."""
QUICK_PAGES = 50_000
"""Pages of the log that a quick plan looks at: the last ones."""


def plan(
    log: str | Path | Sequence[str | Path] | RawLog | CountLog | Mapping[int, RawLog],
    settings: PlanSettings | None = None,
    *,
    options: FitOptions | None = None,
    workers: int | None = 1,
    tell: Callable[[StepProgress], None] | None = None,
) -> Plan | Unsuitable:
    """From a log to a decision.

    Parameters
    ----------
    log : path, paths, RawLog, CountLog or mapping
        One of `fitting.read_log` or `fitting.read_counts` where the format, zone or columns must be named; a `RawLog`
        for each number of robots where several were seen.
    settings : PlanSettings, optional
    options : FitOptions, optional
        Choices of cleaning and fitting.
    workers : int, optional
        Processes for the uncertainty and the sweeps; the result does not depend on them.
    tell : callable, optional
        Told which step is being done, and how far it is.

    Notes
    -----
    Cost: for a log of 65,000 pages, K = 20 and four robots, a minute and a half on two cores.
    """
    wanted = settings or PlanSettings()
    read_before = isinstance(log, RawLog | CountLog | Mapping)
    steps = Steps(_count(wanted) + (not read_before), tell)
    raw = log if isinstance(log, RawLog | CountLog | Mapping) else steps.run("reading", lambda: read_either(log))
    if wanted.quick:
        raw, wanted, options = _quick(raw, wanted, options, steps)
    try:
        fitted = steps.run("fitting", lambda: fit(raw, options=options, progress=steps.say))
    except InputError as error:
        return diagnose(raw[max(raw)] if isinstance(raw, Mapping) else raw, wanted, str(error))
    wanted = with_robots_of_log(fitted, wanted)
    logs = () if isinstance(raw, CountLog) else _readings(raw, fitted, wanted, options or FitOptions(), steps)
    return _decide(fitted, logs, wanted, workers, steps)


def _count(settings: PlanSettings) -> int:
    """Steps of a plan beside reading the log, as its settings ask for them."""
    asked = (
        settings.control_in_force == "thinned",  # replaying the log
        settings.redraws > 0,
        settings.urls is not None,
        settings.what_if and not settings.quick and settings.limits is None,
    )
    return 8 + sum(asked)


def _quick(
    raw: RawLog | CountLog | Mapping[int, RawLog], settings: PlanSettings, options: FitOptions | None, steps: Steps
) -> tuple[RawLog | CountLog | Mapping[int, RawLog], PlanSettings, FitOptions]:
    """Less work for a first look, and what was left out."""
    changes = {name: value for name, value in QUICK.items() if not settings.is_given(name)}
    logs = () if isinstance(raw, CountLog) else tuple(raw.values()) if isinstance(raw, Mapping) else (raw,)
    most = max(map(len, logs), default=0)
    cut = f"only the last {QUICK_PAGES:,} pages were looked at, " if most > QUICK_PAGES else ""
    steps.leave_out(
        "a full plan",
        f"with --quick {cut}fewer models were fitted, fewer traces resampled and fewer pages simulated, and the sweeps "
        "were left out. Run it again without --quick before you act on it",
    )
    families = ("poisson", "mmpp2") if isinstance(raw, CountLog) else ("poisson", "map2", "erlang")
    own = options or FitOptions(methods=families, repetitions=40, refits=0)
    changed: PlanSettings = replace(settings, **changes)  # type: ignore[arg-type]
    if isinstance(raw, Mapping):
        return {number: one.last(QUICK_PAGES) for number, one in raw.items()}, changed, own
    return raw if isinstance(raw, CountLog) else raw.last(QUICK_PAGES), changed, own


def _decide(
    fitted: FitResult, logs: Sequence[ReadLog], settings: PlanSettings, workers: int | None, steps: Steps
) -> Plan:
    scenario = scenario_of(fitted, settings)
    bytes_rate = processing_rate_of(fitted, scenario.service)
    optimum, limited, clock = _choose(fitted, scenario, logs, settings, steps)
    chosen = scenario.replace(policy=optimum.best.policy)
    solution = solve(chosen)
    certificate = None
    if limited is None and clock is None:
        certificate = steps.attempt(
            "proving that nothing is better", lambda: certify(scenario, optimum, max_nodes=5000)
        )
    today = solve(today_of(fitted.process, scenario, settings))
    doubt = _doubt(fitted, optimum, bytes_rate, settings, workers, steps)

    def replayed(log: FitResult, under: Scenario, now: Scenario) -> LogAgreement | None:
        return _replay(log, under, now, settings, steps)

    bounds = None if clock is None else clock.bounds(settings, replayed)
    robots = robots_in_log(fitted, settings)
    judged = ValidationPlan(margin=settings.margin, rare_margin=0, budget=settings.budget, seed=settings.seed)
    return Plan(
        fit=fitted,
        settings=settings,
        scenario=chosen,
        inputs=inputs_of(fitted, settings, scenario),
        optimum=optimum,
        limited=limited,
        certificate=certificate,
        solution=solution,
        today=today,
        check=steps.attempt(
            "checking by simulation", lambda: crosscheck(chosen, judged, approach=False, progress=steps.update)
        ),
        clock=bounds,
        replay=replayed(fitted, chosen, today.scenario) if bounds is None else bounds.own.replay,
        doubt=doubt,
        assumed=steps.attempt(
            "moving what was assumed",
            lambda: assumptions(fitted, settings, workers=workers, progress=steps.update),
        )
        or (),
        backlog=steps.attempt("backlog and completion", lambda: backlog_of(chosen, solution, settings)),
        finish=_finish(fitted, solution, today, doubt, settings, steps),
        sweeps=(
            steps.attempt("asking what if", lambda: what_if(optimum, workers=workers, progress=steps.update))
            if settings.what_if and limited is None
            else None
        )
        or (),
        polling=steps.attempt("asking what polling costs", lambda: polling_of(solution)) or (),
        robots=robots,
        fewer=steps.attempt("asking about fewer robots", lambda: fewer_robots(fitted, chosen, settings)),
        limiting=tuple(
            words
            for words in ("" if bounds is None else bounds.in_words(), *limits_of(fitted), robots.misfit())
            if words
        ),
        remarks=remarks_on(fitted, settings),
        missing=tuple(steps.missing),
        seconds=steps.seconds,
    )


def _readings(
    raw: RawLog | Mapping[int, RawLog], fitted: FitResult, settings: PlanSettings, options: FitOptions, steps: Steps
) -> tuple[ReadLog, ...]:
    """The log in both readings of a clock that matters, the one that was taken first; alone where the other fails."""
    name = reading_taken(fitted, options, settings)
    if name is None:
        return ()
    steps.count += 2
    taken = ReadLog(name, fitted, scenario_of(fitted, settings))
    other = steps.attempt("reading the clock otherwise", lambda: read_otherwise(raw, taken, options, settings))
    return (taken,) if other is None else (taken, other)


def _choose(
    fitted: FitResult, scenario: Scenario, logs: Sequence[ReadLog], settings: PlanSettings, steps: Steps
) -> tuple[Optimum, Limited | None, ClockChoice | None]:
    """The policy of the least cost, or the one that keeps the limits; with a coarse clock the one that stands both."""
    optimum = steps.run("optimising", lambda: optimize(scenario, progress=steps.update))
    limits = settings.limits
    if logs:
        choice = steps.run("choosing for both readings", lambda: ClockChoice.of(logs, settings, optimum))
        return choice.optimum, choice.limited, choice
    if limits is None:
        return optimum, None, None
    today = today_rates(fitted.process, scenario, settings)
    chosen = steps.run("keeping the limits", lambda: choose_within(optimum, limits, today, steps.update))
    return *chosen, None


def _replay(
    fitted: FitResult, chosen: Scenario, today: Scenario, settings: PlanSettings, steps: Steps
) -> LogAgreement | None:
    """The log under the policy where r of N robots bring r/N; where they do not, as it was written."""
    learned = robot_model(fitted, settings) is not None
    if not learned and settings.control_in_force != "thinned":
        steps.leave_out(
            "replaying the log",
            "the plan takes robots as scaling the clock of one stream, and a recorded log can only be thinned. Use "
            "--control thinned with --robots at most those that wrote the log",
        )
        return None
    return steps.attempt(
        "replaying the log",
        lambda: compare_fitted_log(
            fitted,
            today if learned else chosen,
            processing_rate=processing_rate_of(fitted, chosen.service),
            recorded_robots=settings.recorded,
            seed=settings.seed,
        ),
    )


def _doubt(
    fitted: FitResult,
    optimum: Optimum,
    bytes_rate: float | None,
    settings: PlanSettings,
    workers: int | None,
    steps: Steps,
) -> Uncertainty | None:
    words = "uncertainty of the decision"
    if not settings.redraws:
        steps.leave_out(words, "no resampled traces were asked for")
        return None
    found = steps.attempt(
        "resampling, refitting, choosing again",
        lambda: uncertainty(fitted, optimum, settings, bytes_rate, workers=workers, progress=steps.update),
    )
    if found is None:
        steps.leave_out(words, "fewer than ten resampled traces could be fitted")
    return found


def _finish(
    fitted: FitResult,
    solution: Solution,
    today: Solution,
    doubt: Uncertainty | None,
    settings: PlanSettings,
    steps: Steps,
) -> FinishTimes | None:
    """When the list is done, under the policy and today."""
    urls = settings.urls
    if urls is None:
        return None
    rates = np.zeros((0, 2)) if doubt is None else doubt.page_rates

    def times() -> FinishTimes:
        both = [
            finish_of(completion(one.scenario, urls), rates[:, at], one.measures["arrival_rate"], fitted, settings.seed)
            for at, one in enumerate((solution, today))
        ]
        return FinishTimes(
            urls, today=both[1], plan=both[0], pauses=fitted.cleaning.pauses, rate_doubted=bool(rates.size)
        )

    return steps.attempt("when the list is done", times)
