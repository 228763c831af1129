"""Stamps do not follow a wall clock that jumps."""

import time

from crawltwin.live.clock import SteadyTime


def test_a_wall_clock_that_jumps_is_not_followed(monkeypatch):
    wall, steady = [1_000_000.0], [50.0]
    monkeypatch.setattr(time, "time", lambda: wall[0])
    monkeypatch.setattr(time, "monotonic", lambda: steady[0])
    clock = SteadyTime()
    found = [clock.now()]
    for jump in (-3600.0, 0.0, 86400.0):
        wall[0] += jump
        steady[0] += 1.0
        found.append(clock.now())
    assert found == [1_000_000.0, 1_000_001.0, 1_000_002.0, 1_000_003.0]
