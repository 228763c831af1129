"""Measures of a record: those of hand-made events exactly, those of a long played crawl against a small chain."""

import numpy as np
import pytest

from crawltwin.live.measured import measure
from crawltwin.live.record import Record
from crawltwin.live.recorder import FORMAT
from crawltwin.model import Scenario, ThresholdPolicy, exponential, hyperexponential
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.errors import InputError
from tests.live.made_record import made_record
from tests.live.small_chain import solve_small_chain

POLICIES = [
    ThresholdPolicy([4]),
    ThresholdPolicy([4, 1], [3]),
    ThresholdPolicy([4, 1], [5], resume=[1]),
    ThresholdPolicy([4, 1], [3], check_every=1.0),
]


def test_a_record_made_by_hand():
    state = {"robots": 2, "in_flight": 2}
    record = Record.of(
        [
            {"time": 0.0, "event": "opened", "format": FORMAT, "capacity": 2, "indexers": 1, "level": 0, **state},
            {"time": 1.0, "event": "delivered", "page": 0, "fate": "waiting", "duration": 1.0, "level": 1, **state},
            {"time": 2.0, "event": "delivered", "page": 1, "fate": "waiting", "duration": 1.0, "level": 2, **state},
            {"time": 3.0, "event": "delivered", "page": 2, "fate": "lost", "duration": 1.0, "level": 2, **state},
            {"time": 5.0, "event": "stale", "page": 1, "sojourn": 3.0, "level": 1, **state},
            {"time": 7.0, "event": "indexed", "page": 0, "duration": 6.0, "sojourn": 6.0, "level": 0, **state},
            {"time": 10.0, "event": "closed", "level": 0, "robots": 1, "in_flight": 1},
        ]
    )
    found = measure(record, batches=2).values
    assert found["arrival_rate"] == pytest.approx(0.3)
    assert found["mean_pages"] == pytest.approx((1 + 2 + 4 + 2) / 10)
    assert found["loss_probability"] == pytest.approx(1 / 3)
    assert found["obsolescence_probability"] == pytest.approx(1 / 3)
    assert found["starvation_probability"] == pytest.approx(0.4)
    assert found["mean_sojourn_served"] == pytest.approx(6.0)
    assert found["mean_sojourn_obsolete"] == pytest.approx(3.0)
    assert found["mean_active_robots"] == pytest.approx(2.0)


def test_an_empty_part_is_refused():
    record = made_record(ThresholdPolicy([4]), 5.0, 1)
    with pytest.raises(InputError, match="must be longer than nothing"):
        measure(record, begin=6.0)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.short)
def test_a_long_played_crawl_agrees_with_the_chain(policy):
    """Scores of nine measures over a long run stay within four standard errors: chance of a false alarm below 1e-3."""
    record = made_record(policy, 3_000.0, 7)
    scenario = Scenario(
        capacity=10,
        arrivals=FetchingRobots(4, hyperexponential([0.7, 0.3], [1 / 0.3, 1 / 0.9])),
        service=exponential(0.1),
        obsolescence=exponential(1.2),
        policy=policy,
    )
    predicted = solve_small_chain(scenario)
    seen = measure(record, begin=50.0, batches=30)
    for name in (
        *("arrival_rate", "mean_pages", "mean_active_robots", "mean_fetches", "switch_rate", "loss_probability"),
        *("obsolescence_probability", "starvation_probability", "mean_sojourn"),
    ):
        gap, error = seen.values[name] - float(predicted[name]), seen.errors[name]
        # Of a loss that happens once in some thousand pages, five cases more or fewer are chance.
        unseen = 5 / seen.pages if name == "loss_probability" else 0.0
        assert abs(gap) <= 4 * error + unseen + 1e-9, name


@pytest.mark.slow
def test_intervals_of_batches_cover_what_they_claim():
    """Of 60 independent crawls of 200 s about 95% of the intervals cover; fewer than 48 would be a fault (p < 1e-5)."""
    policy = ThresholdPolicy([4, 1], [3])
    long = measure(made_record(policy, 30_000.0, 3), begin=50.0).values["mean_pages"]
    covered = 0
    for seed in range(60):
        interval = measure(made_record(policy, 204.0, 100 + seed), begin=4.0).interval("mean_pages")
        covered += interval.low <= long <= interval.high
    assert covered >= 48
    assert np.isfinite(long)
