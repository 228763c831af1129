"""What a plan says of fewer robots: the assumption, the data's verdict, the worst case."""

import json

import numpy as np
import pytest

from analytic import solve
from crawltwin.model import ThresholdPolicy
from crawltwin.plan.evidence.robot_law import fewer_robots
from crawltwin.plan.prepare import inputs_of, scenario_of
from crawltwin.plan.settings import PlanSettings
from fitting import FitOptions, fit

SETTINGS = PlanSettings(robots=4, capacity=6)


def fitted(folder, numbers, theta):
    """A log in which the number of robots goes round every 300 pages, and r robots bring r^theta pages per second."""
    robots = np.repeat(np.tile(numbers, 6), 300)
    times = 1.5e9 + np.cumsum(np.random.default_rng(4).exponential(1 / robots**theta))
    path = folder / "log.jsonl"
    path.write_text(
        "\n".join(json.dumps({"timestamp": t, "robots": int(r)}) for t, r in zip(times, robots, strict=True))
    )
    return fit(path, options=FitOptions(methods=("poisson",), repetitions=20, refits=0))


def control(found, settings, scenario):
    return next(one for one in inputs_of(found, settings, scenario) if one.name == "what fewer robots bring")


def test_one_number_of_robots_cannot_tell(tmp_path):
    found = fitted(tmp_path, [4], 0.5)
    scenario = scenario_of(found, SETTINGS)
    chosen = scenario.replace(policy=ThresholdPolicy([4, 1], [2]))
    told = fewer_robots(found, chosen, SETTINGS)
    assert told.verdict == "cannot tell"
    assert "probability r/4" in control(found, SETTINGS, scenario).value
    assert "cannot be told" in control(found, SETTINGS, scenario).words
    # The interval has the assumption itself at its end, so the worst case cannot be better.
    assert told.worst_cost >= solve(chosen).measures["cost"] * (1 - 1e-12)
    assert 0.5 <= told.worst_theta <= 1


def test_refuted_shares_are_not_used(tmp_path):
    found = fitted(tmp_path, [1, 2, 4], 0.5)
    assert found.evidence.verdict == "refuted"
    scenario = scenario_of(found, SETTINGS)
    assert scenario.arrivals.page_rate(1) == pytest.approx(1, rel=0.1)
    assert scenario.arrivals.page_rate(4) == pytest.approx(2, rel=0.1)
    assert control(found, SETTINGS, scenario).source == "log"
