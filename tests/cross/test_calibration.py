"""The whole machine on random crawlers: a few always, two hundred under the slow tests; interruption and resumption."""

import pytest

from crawltwin.work.store import Store
from validate.calibration import calibrate, calibrate_one, calibration_plan, judge_calibration
from validate.random_crawlers.scenarios import FAMILIES


def test_a_few_random_crawlers_agree_and_an_interrupted_calibration_goes_on(tmp_path, monkeypatch):
    store = Store(tmp_path)
    whole = calibrate(6, 3, pages=20_000)
    assert not whole.broken
    assert not whole.outliers
    calibrate(4, 3, pages=20_000, store=store)
    told = []
    monkeypatch.setattr(
        "validate.calibration.calibrate_one", lambda piece: told.append(piece[1]) or calibrate_one(piece)
    )
    resumed = calibrate(6, 3, pages=20_000, store=store)
    assert told == [4, 5]
    assert resumed.pooled == whole.pooled
    assert resumed.by_measure == whole.by_measure


def test_a_few_random_crawlers_beyond_the_paper_agree():
    found = calibrate(4, (3, "features"), pages=20_000)
    assert found.family == "features"
    assert not found.broken
    assert not found.outliers


def test_a_planted_defect_in_every_scenario_is_seen():
    # The simulated side of each scenario belongs to a crawler whose scores are shifted by one standard error.
    rows = [calibrate_one((calibration_plan(3, 20_000), index, "paper")) for index in range(6)]
    shifted = []
    for copy in range(10):
        for row in rows:
            moved = [
                value + 1.0 * error if error < float("inf") else value
                for value, error in zip(row["simulated"], row["error"], strict=True)
            ]
            shifted.append({**row, "index": 100 * copy + row["index"], "simulated": moved, "cases": [1e9] * len(moved)})
    assert not judge_calibration(calibration_plan(3, 20_000), shifted).sound


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_two_hundred_random_crawlers_are_calibrated_without_false_alarms_beyond_the_nominal_rate(family):
    found = calibrate(200, (1, family), workers=2)
    assert found.sound, found.to_json()
    assert found.p_false_alarms > 0.01
    assert len(found.pooled.scores) >= 195
