"""`plan`: from a log to a decision. Read, clean, fit, optimise, prove, check twice, doubt, ask what if.

A step that cannot be done does not end the plan: it is left out, and the result says which one and why. Only a log
that allows no model at all gives an `Unsuitable` result, with what can be concluded nevertheless.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import crawltwin
from analytic import Certificate, Completion, Optimum, Solution, certify, completion, optimize, passage, solve
from crawltwin.model import ConvergenceError, InputError, Scenario
from crawltwin.plan.prepare import inputs_of, processing_rate_of, scenario_of
from crawltwin.plan.replayed import Replayed, replayed
from crawltwin.plan.settings import Input, PlanSettings
from crawltwin.plan.sweep import Sweep, short_policy
from crawltwin.plan.uncertainty import Uncertainty, uncertainty
from crawltwin.plan.unsuitable import Unsuitable, diagnose, remarks_on
from crawltwin.plan.what_if import what_if
from fitting import FitOptions, FitResult, RawLog, fit, read_log
from validate import CrossCheck, ValidationPlan, crosscheck

QUANTILES = (0.5, 0.9, 0.95, 0.99)
Tell = Callable[[str], None]
Found = TypeVar("Found")


@dataclass(frozen=True)
class Backlog:
    """How the backlog may grow, how long pages stay, and when a list is done.

    Parameters
    ----------
    limit, within : int and float
        The limit asked about, and the time.
    passed : float
        Probability that the backlog passes the limit within that time, from an empty system.
    mean_passage : float
        Mean time until it does.
    waits : tuple of (p, seconds)
        Quantiles of the time that indexed pages spend in the system.
    timeout, late : float or None
        Share of indexed pages that spend longer than the timeout.
    list : Completion or None
    """

    limit: int
    within: float
    passed: float
    mean_passage: float
    waits: tuple[tuple[float, float | None], ...]
    timeout: float | None
    late: float | None
    list: Completion | None

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and numbers."""
        return {
            "limit": self.limit,
            "within": self.within,
            "passed": self.passed,
            "mean_passage": self.mean_passage,
            "sojourn_quantiles": [{"p": p, "seconds": value} for p, value in self.waits],
            "timeout": self.timeout,
            "late": self.late,
            "list": None if self.list is None else self.list.to_json(),
        }


@dataclass(frozen=True)
class Plan:
    """A decision with everything that supports it.

    Parameters
    ----------
    fit : FitResult
    scenario : Scenario
        With the recommended policy.
    inputs : tuple of Input
        Every number and its origin.
    optimum, certificate, solution
        The choice, its proof among wider classes, and the measures under it.
    check : CrossCheck or None
        Solved against simulated.
    replay : Replayed or None
        The log under the policy, beside the model's prediction.
    doubt : Uncertainty or None
    backlog : Backlog or None
    sweeps : tuple of Sweep
    remarks : tuple of str
        What in the log limits the plan: long pauses, few gaps, a fixed delay.
    missing : tuple of str
        Steps that were left out, and why.
    seconds : mapping
        Time of each step.
    """

    fit: FitResult = field(repr=False)
    settings: PlanSettings
    scenario: Scenario
    inputs: tuple[Input, ...] = field(repr=False)
    optimum: Optimum = field(repr=False)
    certificate: Certificate | None = field(repr=False)
    solution: Solution = field(repr=False)
    check: CrossCheck | None = field(repr=False)
    replay: Replayed | None = field(repr=False)
    doubt: Uncertainty | None = field(repr=False)
    backlog: Backlog | None = field(repr=False)
    sweeps: tuple[Sweep, ...] = field(repr=False)
    remarks: tuple[str, ...]
    missing: tuple[str, ...]
    seconds: dict[str, float] = field(compare=False, repr=False)

    @property
    def policy(self) -> str:
        """The recommended policy in its short form."""
        best = self.optimum.best
        return short_policy({"robots": best.robots, "thresholds": best.thresholds}) or ""

    @property
    def trusted(self) -> bool:
        """Whether nothing that was checked speaks against the model."""
        simulated = self.check is None or self.check.verdict != "different"
        replay = self.replay is None or self.replay.trusted
        return simulated and replay and self.fit.goodness.verdict != "poor"

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin plan --json` prints it."""
        best = self.optimum.best
        return {
            "suitable": True,
            "policy": {
                "robots": list(best.robots),
                "thresholds": list(best.thresholds),
                "table": [self.scenario.policy_in_force.robots_at(k) for k in range(self.scenario.capacity + 1)],
                "words": self.scenario.policy_in_force.in_words(self.scenario.capacity),
                "cost": best.cost,
                "proof": best.proof,
            },
            "trusted": self.trusted,
            "measures": dict(self.solution.measures),
            "inputs": [
                {"name": one.name, "value": one.value, "source": one.source, "words": one.words} for one in self.inputs
            ],
            "fixed": {str(robots): cost for robots, cost in self.optimum.fixed.items()},
            "profit_percent": self.optimum.profit,
            "certificate": None if self.certificate is None else self.certificate.to_json(),
            "check": None if self.check is None else {"verdict": self.check.verdict, "pages": self.check.pages},
            "replay": None if self.replay is None else self.replay.to_json(),
            "uncertainty": None if self.doubt is None else self.doubt.to_json(),
            "backlog": None if self.backlog is None else self.backlog.to_json(),
            "what_if": [found.to_json() for found in self.sweeps],
            "fit": {"chosen": self.fit.chosen.name, "verdict": self.fit.goodness.verdict,
                    "warnings": list(self.fit.warnings)},
            "remarks": list(self.remarks),
            "missing": list(self.missing),
            "scenario": self.scenario.to_mapping(),
            "seconds": dict(self.seconds),
            "versions": {"crawltwin": crawltwin.__version__},
        }  # fmt: skip


def plan(
    log: str | Path | Sequence[str | Path] | RawLog,
    settings: PlanSettings | None = None,
    *,
    options: FitOptions | None = None,
    workers: int | None = 1,
    tell: Tell | None = None,
) -> Plan | Unsuitable:
    """Go the whole way.

    Parameters
    ----------
    log : path, paths or RawLog
        A `RawLog` of `fitting.read_log` where the format, zone or columns must be named.
    settings : PlanSettings, optional
    options : FitOptions, optional
        Choices of cleaning and fitting.
    workers : int, optional
        Processes for the uncertainty and the sweeps; the result does not depend on them.
    tell : callable, optional
        Told in words what is being done.

    Notes
    -----
    Cost: for a log of 65,000 pages, K = 20 and four robots, a minute and a half on two cores.
    """
    wanted = settings or PlanSettings()
    return _Road(wanted, workers, tell or (lambda _: None)).walk(log, options)


class _Road:
    """The steps in their order, each timed."""

    def __init__(self, settings: PlanSettings, workers: int | None, tell: Tell) -> None:
        self.settings, self.workers, self.tell = settings, workers, tell
        self.seconds: dict[str, float] = {}
        self.missing: list[str] = []

    def walk(self, log: str | Path | Sequence[str | Path] | RawLog, options: FitOptions | None) -> Plan | Unsuitable:
        raw = log if isinstance(log, RawLog) else self._timed("reading", lambda: read_log(log))
        try:
            fitted = self._timed("fitting", lambda: fit(raw, options=options, progress=self.tell))
        except InputError as error:
            return diagnose(raw, self.settings, str(error))
        settings = self.settings
        scenario = scenario_of(fitted, settings)
        bytes_rate = processing_rate_of(fitted, scenario.service)
        optimum = self._timed("optimising", lambda: optimize(scenario))
        best = optimum.best.policy
        chosen = scenario.replace(policy=best)
        solution = solve(chosen)
        return Plan(
            fit=fitted,
            settings=settings,
            scenario=chosen,
            inputs=inputs_of(fitted, settings, scenario),
            optimum=optimum,
            certificate=self._try("proving that nothing is better", lambda: certify(scenario, optimum, max_nodes=5000)),
            solution=solution,
            check=self._try(
                "checking by simulation",
                lambda: crosscheck(
                    chosen,
                    ValidationPlan(margin=settings.margin, budget=settings.budget, seed=settings.seed),
                    approach=False,
                ),
            ),
            replay=self._replay(fitted, scenario, bytes_rate, optimum),
            doubt=self._doubt(fitted, optimum, bytes_rate),
            backlog=self._try("backlog and completion", lambda: backlog_of(chosen, solution, settings)),
            sweeps=self._sweeps(optimum),
            remarks=remarks_on(fitted, settings),
            missing=tuple(self.missing),
            seconds=self.seconds,
        )

    def _timed(self, words: str, step: Callable[[], Found]) -> Found:
        self.tell(words)
        began = time.perf_counter()
        try:
            return step()
        finally:
            self.seconds[words] = time.perf_counter() - began

    def _try(self, words: str, step: Callable[[], Found]) -> Found | None:
        """A step that may be left out, with the reason kept."""
        try:
            return self._timed(words, step)
        except (InputError, ConvergenceError) as error:
            self.missing.append(f"{words}: {error}")
            return None

    def _replay(
        self, fitted: FitResult, scenario: Scenario, bytes_rate: float | None, optimum: Optimum
    ) -> Replayed | None:
        settings = self.settings
        if settings.control_in_force != "thinned":
            self.missing.append(
                "replaying the log: the plan takes robots as scaling the clock of one stream, and a recorded log can "
                "only "
                "be thinned. Use --control thinned with --robots at most those that wrote the log"
            )
            return None
        return self._try(
            "replaying the log",
            lambda: replayed(fitted, scenario, optimum.best.policy, settings.recorded, bytes_rate, settings.seed),
        )

    def _doubt(self, fitted: FitResult, optimum: Optimum, bytes_rate: float | None) -> Uncertainty | None:
        if not self.settings.redraws:
            self.missing.append("uncertainty of the decision: no resampled traces were asked for")
            return None
        found = self._try(
            "resampling, refitting, choosing again",
            lambda: uncertainty(fitted, optimum, self.settings, bytes_rate, workers=self.workers),
        )
        if found is None:
            self.missing.append("uncertainty of the decision: fewer than ten resampled traces could be fitted")
        return found

    def _sweeps(self, optimum: Optimum) -> tuple[Sweep, ...]:
        if not self.settings.what_if:
            return ()
        found = self._try("asking what if", lambda: what_if(optimum, workers=self.workers))
        return found or ()


def backlog_of(scenario: Scenario, solution: Solution, settings: PlanSettings) -> Backlog:
    """First passage, time in the system against a timeout, and the list, under the scenario's policy.

    Without an own limit and time the question is: how likely is a full system within one hour?
    """
    limit = min(settings.backlog_limit if settings.backlog_limit is not None else scenario.top_level - 1,
                scenario.top_level - 1)  # fmt: skip
    within = settings.backlog_time if settings.backlog_time is not None else 3600.0
    first = passage(scenario, limit)
    late = None
    if settings.timeout is not None:
        found = solution.sojourn.survival(settings.timeout, "served")
        late = None if found is None else float(np.asarray(found))
    return Backlog(
        limit=limit,
        within=within,
        passed=first.cdf(within),
        mean_passage=first.mean,
        waits=tuple((p, solution.sojourn.quantile(p, "served")) for p in QUANTILES),
        timeout=settings.timeout,
        late=late,
        list=None if settings.urls is None else completion(scenario, settings.urls),
    )
