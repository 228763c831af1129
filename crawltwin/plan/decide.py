"""`plan`: from a log to a decision. Read, clean, fit, choose, prove, check twice, doubt, ask what if.

A step that cannot be done does not end the plan: it is left out, and the result says which one and why. Only a log
that allows no model at all gives an `Unsuitable` result, with what can be concluded nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from analytic import Optimum, Solution, certify, optimize
from crawltwin.model import InputError, Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.plan.choosing import Limited, choose_within
from crawltwin.plan.day.logged_crawl import AsLogged, as_logged, robots_of
from crawltwin.plan.day.parts import WHOLE_DAY, busiest_of, day_optimum, day_solution, parts_of
from crawltwin.plan.day.schedule import DayPlan, busiest_pace, followed, kept_times, scenarios_of, schedule_of
from crawltwin.plan.evidence.backlog import backlog_of
from crawltwin.plan.evidence.clock import ClockChoice, ReadLog, read_otherwise, reading_taken
from crawltwin.plan.evidence.finish import FinishTimes, finish_times
from crawltwin.plan.evidence.resampling import Uncertainty, uncertainty
from crawltwin.plan.evidence.robot_law import fewer_robots
from crawltwin.plan.evidence.robots import robots_in_log
from crawltwin.plan.evidence.unsuitable import Unsuitable, diagnose, limits_of, remarks_on
from crawltwin.plan.prepare import inputs_of, processing_rate_of, robot_model, scenario_of, with_robots_of_log
from crawltwin.plan.result import Plan
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.steps import StepProgress, Steps
from crawltwin.plan.what_if.assumed import assumptions
from crawltwin.plan.what_if.counted import other_reading
from crawltwin.plan.what_if.polling import polling_of
from crawltwin.plan.what_if.variations import what_if
from crawltwin.work.workers import check_workers
from fitting import CountLog, FitOptions, FitResult, RawLog, ReadOptions, fit
from fitting.choose.refit import at_latest_rate
from fitting.readers import read_either
from validate import ValidationPlan, crosscheck
from validate.logs.agreement import LOG_PLAN, LogAgreement, compare_fitted_log

__all__ = ["Plan", "plan"]

QUICK = {"redraws": 12, "budget": 500_000, "margin": 0.2, "what_if": False}
"""What `quick` changes, where nothing else was given."""
QUICK_PAGES = 50_000
"""Pages of the log that a quick plan looks at: the last ones."""


def plan(
    log: str | Path | Sequence[str | Path] | RawLog | CountLog | Mapping[int, RawLog],
    settings: PlanSettings | None = None,
    *,
    reading: ReadOptions | None = None,
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
    reading : ReadOptions, optional
        Choices of reading, where files are given.
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
    check_workers(workers)
    wanted = settings or PlanSettings()
    read_before = isinstance(log, RawLog | CountLog | Mapping)
    steps = Steps(_count(wanted) + (not read_before), tell)
    raw = (
        log
        if isinstance(log, RawLog | CountLog | Mapping)
        else steps.run("reading", lambda: read_either(log, reading, steps.update))
    )
    if wanted.quick:
        raw, wanted, options = _quick(raw, wanted, options, steps)
    try:
        # A rate that changed for good is planned for as it is now.
        fitted = at_latest_rate(steps.run("fitting", lambda: fit(raw, options=options, progress=steps.say)))
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
    optimum, limited, clock, day = _choose(fitted, scenario, logs, settings, steps)
    chosen = scenario.replace(policy=optimum.best.policy)
    certificate = None
    if limited is None and clock is None and day is None:
        certificate = steps.attempt(
            "proving that nothing is better", lambda: certify(scenario, optimum, max_nodes=5000)
        )
    doubt = _doubt(fitted, optimum, processing_rate_of(fitted, scenario.service), settings, day, workers, steps)
    if day is not None:
        drawn = day
        day = steps.run("following the day", lambda: followed(drawn, doubt, chosen, steps.leave_out))
    parts = (WHOLE_DAY,) if day is None else day.parts
    logged, always = as_logged(fitted, scenario, settings, parts), as_logged(fitted, scenario, settings).busiest
    # Everything is done for each part of the day; where there is one pace, the day has one part.
    under = [chosen] if day is None else scenarios_of(day, chosen)
    solution, today, busiest = day_solution(under, parts), logged.solution(), under[busiest_of(parts)]

    def replayed(log: FitResult, policy: Scenario, now: AsLogged) -> LogAgreement | None:
        return _replay(log, [policy], now, None, settings, steps)

    bounds = None if clock is None else clock.bounds(settings, replayed)
    robots, ran = robots_in_log(fitted, settings), logged.logged
    again = "reading the counts otherwise"
    counted = steps.attempt(again, lambda: other_reading(fitted, chosen, settings)) if fitted.counted else None
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
            "checking by simulation", lambda: crosscheck(busiest, judged, approach=False, progress=steps.update)
        ),
        clock=bounds,
        replay=_replay(fitted, under, logged, day, settings, steps) if bounds is None else bounds.own.replay,
        doubt=doubt,
        assumed=steps.attempt(
            "moving what was assumed",
            lambda: assumptions(fitted, settings, workers=workers, progress=steps.update),
        )
        or (),
        backlog=steps.attempt("backlog and completion", lambda: backlog_of(busiest, solution, settings)),
        finish=_finish(fitted, ((chosen, solution), (always, today)), day, doubt, settings, steps),
        sweeps=(
            steps.attempt("asking what if", lambda: what_if(optimum, workers=workers, progress=steps.update))
            if settings.what_if and limited is None and day is None
            else None
        )
        or (),
        polling=steps.attempt("asking what polling costs", lambda: polling_of(under, parts)) or (),
        robots=robots,
        fewer=steps.attempt("asking about fewer robots", lambda: fewer_robots(fitted, chosen, settings)),
        limiting=(
            *(one.in_words() for one in (bounds, counted) if one is not None),
            *filter(None, (*limits_of(fitted), robots.misfit(), "" if ran is None else ran.too_fast(scenario))),
        ),
        remarks=remarks_on(fitted, settings),
        missing=tuple(steps.missing),
        seconds=steps.seconds,
        day=day,
        counted=counted,
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
) -> tuple[Optimum, Limited | None, ClockChoice | None, DayPlan | None]:
    """The policy of the least cost, or the one that keeps the limits.

    With a coarse clock it is the one that stands both readings; where the rate follows the day, the one for the day.
    """
    optimum = steps.run("optimising", lambda: optimize(scenario, progress=steps.update))
    parts, limits, limited = parts_of(fitted), settings.limits, None
    if logs:
        choice = steps.run("choosing for what the clock hides", lambda: ClockChoice.of(logs, settings, optimum))
        if parts:
            steps.leave_out("the time of day", "the clock is too coarse for a plan by part of the day")
        return choice.optimum, choice.limited, choice, None
    today = as_logged(fitted, scenario, settings, parts or (WHOLE_DAY,)).rates()
    rates: FloatArray = np.zeros(0)
    if parts:
        optimum, rates = steps.run("optimising over the day", lambda: day_optimum(optimum, parts))
    if limits is not None:
        busiest = busiest_pace(scenario, parts)
        optimum, limited = steps.run(
            "keeping the limits", lambda: choose_within(optimum, limits, today, steps.update, busiest=busiest)
        )
    if not parts or fitted.season is None:
        return optimum, limited, None, None
    if settings.what_if and limits is None:
        steps.leave_out("asking what if", "the sweeps know one pace of the crawl, and here it follows the time of day")
    return optimum, limited, None, schedule_of(fitted.season, optimum, rates, today, limits)


def _replay(
    fitted: FitResult,
    chosen: Sequence[Scenario],
    today: AsLogged,
    day: DayPlan | None,
    settings: PlanSettings,
    steps: Steps,
) -> LogAgreement | None:
    """The log under the policy where r of N robots bring r/N; where they do not, as it was written.

    Where the rate follows the day, each part of it by itself, and the part that agrees least is returned; where a
    column tells several numbers of robots, so each number; where the rate changed for good, the time since then.
    """
    learned = robot_model(fitted, settings) is not None or today.logged is not None
    if not learned and settings.control_in_force != "thinned":
        steps.leave_out(
            "replaying the log",
            "the plan takes robots as scaling the clock of one stream, and a recorded log can only be thinned. Use "
            "--control thinned with --robots at most those that wrote the log",
        )
        return None

    def replayed() -> LogAgreement:
        scenarios, kept = today.scenarios if learned else chosen, kept_times(fitted, day)
        numbers = today.by_number(fitted.log) if isinstance(fitted.log, RawLog) else {}
        if numbers:
            scenarios, kept = [one for one, _ in numbers.values()], [keep for _, keep in numbers.values()]
        every = [
            compare_fitted_log(
                fitted,
                scenario,
                processing_rate=processing_rate_of(fitted, scenario.service),
                recorded_robots=robots_of(scenario) if learned else settings.recorded,
                seed=settings.seed,
                keep=keep,
                # Of many parts one is far out by chance: they share the error probability.
                confidence=1 - (1 - LOG_PLAN.confidence) / len(scenarios),
            )
            for scenario, keep in zip(scenarios, kept, strict=True)
        ]
        at = min(range(len(every)), key=lambda k: every[k].rank)
        if day is None and not numbers:
            return every[at]
        each = "number of robots" if day is None else "part of the day"
        shown = f"that of {[*numbers][at]}" if day is None else day.clock(day.parts[at])
        words = f"each {each} was replayed by itself; shown is {shown}, which agrees least"
        return replace(every[at], notes=(words, *every[at].notes))

    return steps.attempt("replaying the log", replayed)


def _doubt(
    fitted: FitResult,
    optimum: Optimum,
    bytes_rate: float | None,
    settings: PlanSettings,
    day: DayPlan | None,
    workers: int | None,
    steps: Steps,
) -> Uncertainty | None:
    words = "uncertainty of the decision"
    if not settings.redraws:
        steps.leave_out(words, "no resampled traces were asked for")
        return None
    found = steps.attempt(
        "resampling, refitting, choosing again",
        lambda: uncertainty(fitted, optimum, settings, bytes_rate, day=day, workers=workers, progress=steps.update),
    )
    if found is None:
        steps.leave_out(words, "fewer than ten resampled traces could be fitted")
    return found


def _finish(
    fitted: FitResult,
    under: Sequence[tuple[Scenario, Solution]],
    day: DayPlan | None,
    doubt: Uncertainty | None,
    settings: PlanSettings,
    steps: Steps,
) -> FinishTimes | None:
    """When the list is done, under the policy and today: by scenarios of the mean pace, at the rates over the day."""
    if settings.urls is None:
        return None
    columns = (2 if day is not None and day.worth_it else 0, 1)
    rates = np.zeros((0, 2)) if doubt is None else doubt.page_rates[:, columns]
    return steps.attempt("when the list is done", lambda: finish_times(fitted, settings, under, rates))
