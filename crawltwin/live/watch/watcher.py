"""The watch itself: new lines of all logs in the order of their times, the test, the twin, the state file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from crawltwin.live.watch.follow import Piece, check_followable, new_lines
from crawltwin.live.watch.monitor import Monitor, State
from crawltwin.live.watch.reading import GrowingLog
from crawltwin.live.watch.settings import WatchSettings
from crawltwin.live.watch.twin import Twin, check_outputs
from crawltwin.model import Scenario
from crawltwin.model.errors import InputError
from crawltwin.model.files import check_writable
from fitting.readers.settings import ReadOptions


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
    reading : ReadOptions, optional
        What is read of the log and how, as for `crawltwin fit`.
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
        reading: ReadOptions | None = None,
        tell: Callable[[str], None] = lambda _words: None,
    ) -> None:
        self.paths, self.settings, self.state_path = tuple(paths), settings, state
        self.tell = tell
        for path in self.paths:
            check_followable(path)
        check_outputs(scenario, policy_path)
        check_writable(state)
        known = Path(state).exists()
        self.state = State.read(state) if known else State(Monitor(settings.learn))
        if known:
            tell(f"going on after {self.state.monitor.deliveries:,} deliveries")
        self.log = GrowingLog(reading or ReadOptions(), self.state.facts, tell)
        # Another --learn than before holds from now on.
        self.monitor.learn = settings.learn
        self.twin = None if scenario is None else Twin(scenario, policy_path, self.state.facts, tell)
        self._refit_at: float | None = None
        self._unsaved = False
        for path in self.paths:
            if not Path(path).exists():
                tell(f"{path} does not exist yet: waiting for it")

    @property
    def monitor(self) -> Monitor:
        """The account."""
        return self.state.monitor

    def look(self, final: bool = False) -> int:
        """Read what is new, count it, save the state, and look for a policy where it is time; returns new alarms.

        `final` counts also what waits for deliveries from before it.
        """
        monitor, raised = self.monitor, 0
        if self.twin is not None:
            self.twin.note_policy(monitor)
        fronts: dict[str, float] = {}
        streams = {
            path: self.log.pieces(path, new_lines(path, self.state.positions.get(path)), final) for path in self.paths
        }
        while streams:
            path = min(streams, key=lambda name: fronts.get(name, -math.inf))
            piece = next(streams[path], None)
            if piece is None:
                del streams[path]
                continue
            times = self._times(path, piece)
            others = min((fronts.get(name, -math.inf) for name in streams if name != path), default=math.inf)
            raised += monitor.take(times, others if len(self.paths) > 1 else None)
            fronts[path] = max(fronts.get(path, -math.inf), max(times, default=-math.inf))
            self.state.positions[path] = piece.position
            if raised or len(piece.text) > 1 << 19:
                self._save()
        raised += monitor.settle(math.inf if final else None)
        self._save(final)
        for alarm in monitor.alarms[max(len(monitor.alarms) - raised, 0) :]:
            self.tell(alarm_words(alarm))
        self.log.judge(monitor.deliveries + len(monitor.pending), final)
        if self.twin is not None:
            self._let_the_twin_follow(self.twin)
            self._save(final)
        return raised

    def _let_the_twin_follow(self, twin: Twin) -> None:
        """What is owed to the model since it last followed, also by a watch that was killed before it could."""
        monitor, facts = self.monitor, self.state.facts
        due = self._is_due()
        if monitor.alarms and facts.get("followed", 0) != monitor.raised:
            twin.follow_alarm(monitor)
        facts["followed"] = monitor.raised
        learnt = monitor.reference is not None and monitor.references > max(facts.get("fitted", 1), 1)
        if learnt or due:
            twin.learn(monitor, self.paths)
        if monitor.reference is not None:
            facts["fitted"] = monitor.references

    def _save(self, final: bool = False) -> None:
        """Save the state; where that fails (a full disk) it is tried again at the next look.

        What was counted since then is counted again by a watch that is started anew, from the state that was saved.
        """
        try:
            self.state.save(self.state_path)
            self._unsaved = False
        except InputError as error:
            if final:
                raise
            if not self._unsaved:
                self.tell(f"the state is not saved, the watch goes on: {error}")
            self._unsaved = True

    def _times(self, path: str, piece: Piece) -> list[float]:
        if piece.note:
            self.tell(piece.note)
        found = self.log.times(path, piece.text)
        if self.state.facts["format"] == "crawltwin":
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
        due = self._refit_at is not None and last >= self._refit_at
        if due or self._refit_at is None:
            self._refit_at = last + 60 * self.settings.every
        return due

    def summary(self) -> dict[str, Any]:
        """What the page and the gauges show."""
        monitor, facts, twin = self.monitor, self.state.facts, self.twin
        present = None if twin is None else twin.present
        reference = monitor.reference
        return {
            "deliveries": monitor.deliveries,
            "pace": monitor.pace,
            "expected_pace": None if twin is None else twin.expected,
            "normal_pace": None if reference is None else 1 / reference.gap,
            "threshold": None if reference is None else reference.threshold,
            "slower": monitor.test.slower,
            "faster": monitor.test.faster,
            "level": facts.get("level"),
            "robots": facts.get("robots"),
            "predicted_loss": None if twin is None else twin.measures.get("loss_probability"),
            "alarms": list(monitor.alarms),
            "alarms_raised": monitor.raised,
            "late": monitor.late,
            "pauses": monitor.pauses,
            "left_out": self.log.left_out,
            "learning": None if reference is not None else len(monitor.learning) / monitor.learn,
            "policy": None if present is None else present.phrase,
        }


def alarm_words(alarm: dict[str, Any]) -> str:
    """An alarm as a sentence."""
    after = alarm["pace_after"]
    now = "" if after is None else f", now about {after:.4g}"
    return f"the crawl has left its model: {alarm['direction']} than {alarm['pace_before']:.4g} pages per second{now}"
