"""Numbers with their confidence intervals."""

from __future__ import annotations

import math

from crawltwin.model import Interval


def test_an_interval_tells_its_width_and_what_it_covers():
    found = Interval(2.0, 1.5, 2.5, 0.9)
    assert (found.half_width, found.relative_half_width) == (0.5, 0.25)
    assert found.covers(1.5) and found.covers(2.5) and not found.covers(2.6)
    assert found.to_json() == {"value": 2.0, "low": 1.5, "high": 2.5, "confidence": 0.9}
    assert Interval(0.0, -1.0, 1.0).relative_half_width == math.inf
    assert Interval(0.0, 0.0, 0.0).relative_half_width == 0.0


def test_what_is_not_finite_is_null():
    assert Interval(math.nan, -math.inf, 3).to_json() == {"value": None, "low": None, "high": 3.0, "confidence": 0.95}
