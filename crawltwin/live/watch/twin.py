"""The model beside the crawl: what it predicts under the policy that is obeyed, and how it follows the crawl.

After an alarm its arrivals go at the pace that was seen. When the normal pace has been learnt anew, and every so often
where that is asked for, the model is fitted anew as far as the log tells (`crawltwin.live.watch.refit`). Each time a
better policy is looked for. The model that is in force is kept in the state file, so that a restart goes on with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from crawltwin.live.watch.better_policy import Improvement, improve
from crawltwin.live.watch.change import BLOCK
from crawltwin.live.watch.monitor import Monitor
from crawltwin.live.watch.refit import Relearnt, newest_lines, refit_record, refit_stream, repaced
from crawltwin.model import Scenario, ThresholdPolicy
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.errors import CrawltwinError, InputError
from crawltwin.model.files import check_writable, write_whole
from crawltwin.model.policies.policy_file import PolicyFile

FEWEST = 200
"""Deliveries below which the model is not fitted anew."""


class Twin:
    """A scenario that follows the crawl.

    Parameters
    ----------
    scenario : Scenario
        The model at the beginning, in seconds.
    policy_path : str or None
        Where a better policy is written; a policy that is there already is the one that is obeyed.
    facts : dict
        Of the state file: the model in force is kept there.
    tell : callable
        Gets a sentence when something happens.
    """

    def __init__(
        self, scenario: Scenario, policy_path: str | None, facts: dict[str, Any], tell: Callable[[str], None]
    ) -> None:
        self.policy_path, self.facts, self.tell = policy_path, facts, tell
        self._file: PolicyFile | None = None
        self._told = ""
        if policy_path is not None:
            check_writable(policy_path)
            if Path(policy_path).exists():
                self._file = one_policy(policy_path)
        if facts.get("model_of") == scenario.content_hash:
            self.scenario = Scenario.from_mapping(facts["model"])
        else:
            facts["model_of"] = scenario.content_hash
            self._adopt(scenario)
        self._solved: tuple[tuple[Scenario, ThresholdPolicy], Mapping[str, Any]] | None = None

    @property
    def present(self) -> ThresholdPolicy | None:
        """The policy that is obeyed now: that of the policy file, else that of the scenario.

        A file that is gone or has become wrong leaves the last good one in force, as in the crawler that obeys it.
        """
        if self.policy_path is not None and (self._file is not None or Path(self.policy_path).exists()):
            try:
                self._file = one_policy(self.policy_path)
                self._told = ""
            except InputError as error:
                self._tell_once(f"the policy file is not taken, the policy stays as it was: {error}")
        if self._file is not None:
            return self._file.policy
        return None if self.scenario.policy is None else self.scenario.policy.as_thresholds()

    def _tell_once(self, words: str) -> None:
        if words != self._told:
            self.tell(words)
        self._told = words

    @property
    def measures(self) -> Mapping[str, Any]:
        """What the model predicts under the policy that is obeyed; nothing where no policy is known, or none of it."""
        present = self.present
        if present is None:
            return {}
        if self._solved is None or self._solved[0] != (self.scenario, present):
            from analytic import solve

            found: Mapping[str, Any] = {}
            try:
                found = solve(self.scenario.replace(policy=present)).measures
            except CrawltwinError as error:
                self.tell(f"the model predicts nothing under the policy {present.short}: {error}")
            self._solved = ((self.scenario, present), found)
        return self._solved[1]

    @property
    def expected(self) -> float | None:
        """Pages per second by the model."""
        found = self.measures.get("arrival_rate")
        return None if found is None else float(found)

    def note_policy(self, monitor: Monitor) -> None:
        """Another policy brings another pace: what is normal is learnt anew when the policy has changed."""
        present = self.present
        now = None if present is None else present.short
        if self.facts.setdefault("policy", now) != now:
            self.facts["policy"] = now
            monitor.learn_anew()
            monitor.recent.clear()
            self.tell(f"the policy is now {now}: the normal pace is learnt anew")

    def follow_alarm(self, monitor: Monitor) -> None:
        """The arrivals go at the pace that was seen since the change; a better policy is looked for."""
        alarm, present = monitor.alarms[-1], self.present
        pace, deliveries = alarm["pace_after"], alarm.get("deliveries", BLOCK)
        if pace and present is not None:
            self._renew(monitor, lambda: repaced(self.scenario, present, pace, pace_error(monitor, deliveries)))

    def learn(self, monitor: Monitor, paths: Sequence[str]) -> None:
        """Fit the model anew to what came since the last alarm, as far as the log tells; look for a better policy."""
        changed = monitor.alarms[-1]["time"] if monitor.alarms else 0.0
        times = [time for time in monitor.recent if time >= changed]
        if len(times) >= FEWEST and times[-1] > times[0]:
            self._renew(monitor, lambda: self._relearnt(monitor, times, paths))

    def _relearnt(self, monitor: Monitor, times: list[float], paths: Sequence[str]) -> Relearnt:
        present, error = self.present, pace_error(monitor, len(times))
        if self.facts.get("format") == "crawltwin":
            return refit_record(self.scenario, newest_lines(paths, times[0]))
        fetching = isinstance(self.scenario.arrivals, FetchingRobots)
        if present is not None and len(present.robots) == 1 and not fetching:
            return refit_stream(self.scenario, present.robots[0], times, error)
        if present is None:
            raise InputError("the policy that is obeyed must be known to tell how fast robots are; got none")
        return repaced(self.scenario, present, (len(times) - 1) / (times[-1] - times[0]), error)

    def _renew(self, monitor: Monitor, relearn: Callable[[], Relearnt]) -> None:
        present = self.present
        try:
            model = relearn()
            better = None if present is None or self.policy_path is None else improve(model, present)
        except CrawltwinError as error:
            self.tell(f"the model stays as it was: {error}")
            return
        self._adopt(model.scenario)
        self.tell(f"the model follows the crawl: {model.words}")
        if better is not None:
            self._write(better)
            self.note_policy(monitor)

    def _adopt(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.facts["model"] = scenario.to_mapping()

    def _write(self, better: Improvement) -> None:
        assert self.policy_path is not None
        if _has_schedule(self.policy_path):
            self.tell("a better policy was found and not written: the policy file holds a schedule")
            return
        threads = 1 if self._file is None else self._file.threads_per_robot
        content = PolicyFile(better.policy, threads).to_mapping(self.scenario.capacity) | {"cost": better.cost}
        try:
            write_whole(self.policy_path, json.dumps(content, indent=1) + "\n")
        except InputError as error:
            self.tell(f"a better policy was found and not written: {error}")
            return
        self.tell(
            f"a new policy was written: {better.policy.phrase}; cost {better.cost:.4g} instead of {better.before:.4g}, "
            f"{better.gain:.2g} saved, {better.gain - better.doubt:.2g} at least"
        )


def check_outputs(scenario: Scenario | None, policy_path: str | None) -> None:
    """A policy is written only where a scenario tells what policies cost.

    Raises
    ------
    InputError
        When there is none, or it has no cost.
    """
    if policy_path is None:
        return
    if scenario is None:
        raise InputError("--policy must come with --scenario: the costs of policies come from it; got none")
    if scenario.cost is None:
        raise InputError("the scenario must have a cost to tell a better policy; got none. Add [cost] to it")
    if scenario.policy is None and not Path(policy_path).exists():
        raise InputError(
            "the policy that is obeyed must be known to tell a better one; got none in the scenario and no file "
            f"{policy_path!r}. Add [policy] to the scenario, or write the file"
        )


def one_policy(path: str) -> PolicyFile:
    """The policy file, which must hold one policy for all times.

    Raises
    ------
    InputError
        Also where there is a schedule: the watch knows one pace, and what it writes would be in force all day.
    """
    found = PolicyFile.read(path)
    if found.schedule is not None:
        raise InputError(
            f"a policy file must hold one policy to be watched; got a schedule of {len(found.schedule.parts)} parts in "
            f"{path!r}. Leave --policy out, or give another file; to follow a schedule, run crawltwin plan again"
        )
    return found


def _has_schedule(path: str) -> bool:
    """Whether somebody has put a schedule there; a file that is gone or wrong has none."""
    try:
        return PolicyFile.read(path).schedule is not None
    except InputError:
        return False


def pace_error(monitor: Monitor, deliveries: int) -> float:
    """Relative standard error of a pace that was seen over so many deliveries."""
    return float(monitor.deviation / max(min(deliveries, len(monitor.recent)) / BLOCK, 1.0) ** 0.5)
