"""The watch itself: new lines of all logs in the order of their times, the test, the policy, the state file."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from crawltwin.live.watch.better_policy import Improvement, cost_of, improve
from crawltwin.live.watch.change import BLOCK
from crawltwin.live.watch.follow import Piece, new_lines
from crawltwin.live.watch.monitor import WINDOW, Monitor, State
from crawltwin.live.watch.settings import WatchSettings
from crawltwin.model import Scenario, ThresholdPolicy
from crawltwin.model.errors import InputError
from crawltwin.model.files import check_writable, write_whole
from crawltwin.model.policies.policy_file import PolicyFile
from fitting.readers.base import Reader
from fitting.readers.detection import detect
from fitting.readers.input.streams import Source
from fitting.readers.reading import FORMATS
from fitting.readers.settings import ReadOptions
from fitting.readers.times import zones
from fitting.readers.times.stamps import SECOND

NO_LINES = ("parquet", "warc", "csv")
"""Formats that cannot be followed line by line: their head or their blocks tell how the rest is read."""


class Watcher:
    """Follows one log in one or several files.

    Parameters
    ----------
    paths : sequence of str
    settings : WatchSettings
    state : str
        The state file; an earlier watch goes on where it ended.
    scenario : Scenario, optional
        The model: what the pace should be, and what policies cost. Without it there is no policy.
    policy_path : str, optional
        Where a better policy is written; a policy that is there already is the present one.
    log_format, timezone : str, optional
        As for `crawltwin fit`.
    tell : callable
        Gets a sentence when something happens.
    """

    def __init__(
        self,
        paths: Sequence[str],
        settings: WatchSettings,
        state: str,
        scenario: Scenario | None = None,
        policy_path: str | None = None,
        log_format: str | None = None,
        timezone: str | None = None,
        tell: Callable[[str], None] = lambda _words: None,
    ) -> None:
        self.paths, self.settings, self.state_path = tuple(paths), settings, state
        self.scenario, self.policy_path, self.timezone, self.tell = scenario, policy_path, timezone, tell
        self._cost: Callable[[Scenario], float] = cost_of
        self._reader: Reader | None = _named(log_format)
        check_writable(state)
        known = Path(state).exists()
        self.state = State.read(state) if known else State(Monitor(settings.learn))
        if known:
            tell(f"going on after {self.state.monitor.deliveries:,} deliveries")
        if policy_path is not None:
            check_writable(policy_path)
            if scenario is None:
                raise InputError("--policy must come with --scenario: the costs of policies come from it; got none")
        self.model: Mapping[str, Any] = {} if scenario is None else solve_model(scenario)
        self._refit_at: float | None = None

    @property
    def expected(self) -> float | None:
        """Pages per unit of time by the model."""
        found = self.model.get("arrival_rate")
        return None if found is None else float(found)

    @property
    def monitor(self) -> Monitor:
        """The account."""
        return self.state.monitor

    @property
    def present(self) -> ThresholdPolicy | None:
        """The policy that is obeyed now: that of the policy file, else that of the scenario."""
        if self.policy_path is not None and Path(self.policy_path).exists():
            return PolicyFile.read(self.policy_path).policy
        return None if self.scenario is None or self.scenario.policy is None else self.scenario.policy.as_thresholds()

    def look(self, final: bool = False) -> int:
        """Read what is new, count it, save the state, and look for a policy where it is time; returns new alarms.

        `final` counts also what waits for deliveries from before it.
        """
        monitor, raised = self.monitor, 0
        fronts: dict[str, float] = {}
        streams = {path: new_lines(path, self.state.positions.get(path)) for path in self.paths}
        while streams:
            path = min(streams, key=lambda name: fronts.get(name, -math.inf))
            piece = next(streams[path], None)
            if piece is None:
                del streams[path]
                continue
            times = self._times(path, piece)
            monitor.take(times)
            fronts[path] = max(fronts.get(path, -math.inf), max(times, default=-math.inf))
            self.state.positions[path] = piece.position
            behind = min((fronts.get(name, -math.inf) for name in streams), default=math.inf)
            raised += monitor.settle(min(behind, monitor.newest) - WINDOW)
            if raised or len(piece.text) > 1 << 19:
                self._save()
        raised += monitor.settle(math.inf if final else None)
        self._save()
        for alarm in monitor.alarms[len(monitor.alarms) - raised :]:
            self.tell(alarm_words(alarm))
        if raised or self._is_due():
            self._renew(raised > 0)
        return raised

    def _save(self) -> None:
        self.state.save(self.state_path)

    def _times(self, path: str, piece: Piece) -> list[float]:
        if piece.note:
            self.tell(piece.note)
        if self._reader is None:
            known = self.state.facts.get("format")
            self._reader = _named(known) or detect(Source(path, io.BytesIO(piece.text)), FORMATS)
            _check_followed(self._reader)
            self.state.facts["format"] = self._reader.name
        found: list[float] = []
        for columns in self._reader.read(Source(path, io.BytesIO(piece.text)), ReadOptions()):
            if columns.kind == "gaps":
                raise InputError(f"{path} must hold times to be watched; got gaps")
            time = columns.time
            if not columns.zoned and self.timezone is not None:
                time = zones.to_utc(time, self.timezone)
            found += (time / SECOND).tolist()
        if self._reader.name == "crawltwin":
            self._note_state(piece.text)
        return found

    def _note_state(self, text: bytes) -> None:
        """Backlog and robots from the last line of a record."""
        try:
            last = json.loads(text.rstrip(b"\n").rpartition(b"\n")[2])
            self.state.facts["level"], self.state.facts["robots"] = int(last["level"]), int(last["robots"])
        except (ValueError, KeyError, TypeError):
            return

    def _is_due(self) -> bool:
        last = self.monitor.last
        if self.settings.every <= 0 or last is None:
            return False
        if self._refit_at is None:
            self._refit_at = last + 60 * self.settings.every
        return last >= self._refit_at

    def _renew(self, after_alarm: bool) -> None:
        last = self.monitor.last
        self._refit_at = None if last is None else last + 60 * self.settings.every
        found = self.better_policy(after_alarm)
        if found is None or self.policy_path is None or self.scenario is None:
            return
        content = PolicyFile(found.policy).to_mapping(self.scenario.capacity) | {"cost": found.cost}
        write_whole(self.policy_path, json.dumps(content, indent=1) + "\n")
        self.tell(
            f"a new policy was written: {found.policy.phrase}; cost {found.cost:.4g} instead of {found.before:.4g}, "
            f"{found.gain:.2g} +- {found.doubt:.2g} saved"
        )

    def better_policy(self, after_alarm: bool = False) -> Improvement | None:
        """A policy that is surely better at the pace that is seen now; None where there is none."""
        present, monitor = self.present, self.monitor
        if self.scenario is None or present is None or not self.expected:
            return None
        pace = monitor.alarms[-1]["pace_after"] if after_alarm and monitor.alarms else monitor.pace
        if not pace:
            return None
        error = pace_error(monitor, after_alarm)
        return improve(self.scenario, present, pace / self.expected, error * pace / self.expected, self._cost)

    def summary(self) -> dict[str, Any]:
        """What the page and the gauges show."""
        monitor, facts = self.monitor, self.state.facts
        reference = monitor.reference
        return {
            "deliveries": monitor.deliveries,
            "pace": monitor.pace,
            "expected_pace": self.expected,
            "normal_pace": None if reference is None else 1 / reference.gap,
            "threshold": None if reference is None else reference.threshold,
            "slower": monitor.test.slower,
            "faster": monitor.test.faster,
            "level": facts.get("level"),
            "robots": facts.get("robots"),
            "predicted_loss": self.model.get("loss_probability"),
            "alarms": list(monitor.alarms),
            "late": monitor.late,
            "pauses": monitor.pauses,
            "learning": None if reference is not None else len(monitor.learning) / monitor.learn,
            "policy": None if self.present is None else self.present.phrase,
        }


def solve_model(scenario: Scenario) -> Mapping[str, Any]:
    """The measures of the model under its own policy."""
    from analytic import solve

    return solve(scenario).measures


def pace_error(monitor: Monitor, after_alarm: bool) -> float:
    """Relative standard error of the pace: of the recent deliveries, or of those since the change."""
    blocks = max(len(monitor.recent) / BLOCK, 1.0)
    if after_alarm:
        # The alarm comes after some hundred deliveries of the new pace.
        blocks = max(min(blocks, 300 / BLOCK), 1.0)
    deviation = monitor.reference.deviation if monitor.reference is not None else 1 / math.sqrt(BLOCK)
    return deviation / math.sqrt(blocks)


def alarm_words(alarm: dict[str, Any]) -> str:
    """An alarm as a sentence."""
    after = alarm["pace_after"]
    now = "" if after is None else f", now about {after:.4g}"
    return f"the crawl has left its model: {alarm['direction']} than {alarm['pace_before']:.4g} pages per second{now}"


def _named(name: str | None) -> Reader | None:
    if name is None:
        return None
    for reader in FORMATS:
        if reader.name == name:
            _check_followed(reader)
            return reader
    raise InputError(f"the format must be one that can be followed; got {name!r}")


def _check_followed(reader: Reader) -> None:
    if reader.name in NO_LINES:
        raise InputError(f"a log must be one line per delivery to be watched; got the format {reader.name}")
