"""The arena: rules do what they say, all see the same random numbers, and who is best is told with intervals."""

import json

import numpy as np
import pytest

from crawltwin.cli.main import main
from crawltwin.live.arena.rules import AdditiveMultiplicative, Autoscaled, AutoThrottle, Fixed, Thresholds
from crawltwin.live.arena.standings import Draws, contest, contestants, replay
from crawltwin.live.demo.fitted import fit_record
from crawltwin.live.demo.settings import WEIGHTS
from crawltwin.live.recorder import Recorder
from crawltwin.model import Scenario, ThresholdPolicy, exponential
from crawltwin.model.arrivals.fetching import FetchingRobots
from tests.live.made_record import made_events, made_record
from tests.live.small_chain import solve_small_chain


def draws(seed=1, size=200_000):
    chance = np.random.default_rng(seed)
    return Draws(*(chance.exponential(mean, size) for mean in (0.48, 0.1, 1.2)))


@pytest.mark.parametrize(
    "policy", [ThresholdPolicy([4]), ThresholdPolicy([4, 1], [2]), ThresholdPolicy([4, 1], [5], [1])]
)
def test_a_replay_agrees_with_the_chain(policy):
    scenario = Scenario(
        capacity=10,
        arrivals=FetchingRobots(4, exponential(0.48)),
        service=exponential(0.1),
        obsolescence=exponential(1.2),
        policy=policy,
    )
    found, small = replay(Thresholds(policy), draws(), 10, 8000.0), solve_small_chain(scenario)
    for name in ("arrival_rate", "mean_pages", "mean_active_robots", "obsolescence_probability"):
        assert float(found.value(name)) == pytest.approx(float(small[name]), rel=0.04), name


def test_more_robots_deliver_more():
    rates = [float(replay(Fixed(robots), draws(), 10, 1000.0).value("arrival_rate")) for robots in (1, 2, 4)]
    assert rates == sorted(rates) and rates[2] > 3 * rates[0]


def test_autothrottle_keeps_its_target_whatever_the_backlog():
    found = replay(AutoThrottle(8, 2.0), draws(), 10, 4000.0)
    assert float(found.value("arrival_rate")) == pytest.approx(2 / 0.48, rel=0.15)


def test_aimd_halves_and_grows():
    rule = AdditiveMultiplicative(8, 10, 1.0)
    rule.changed(0.5, 6)
    assert rule.robots == 4
    rule.changed(0.6, 6)
    assert rule.robots == 4
    rule.fetched(1.6, 3, 0.1, True)
    assert rule.robots <= 3
    for time in range(3, 12):
        rule.changed(float(time), 0)
    assert rule.robots == 8


def test_the_pool_grows_while_it_is_calm_and_shrinks_when_it_is_full():
    rule = Autoscaled(4, 10, 1.0)
    for time in range(1, 5):
        rule.changed(float(time), 0)
    assert rule.robots == 4
    for time in range(5, 12):
        rule.changed(float(time), 9)
    assert rule.robots == 1


def test_the_contest_tells_a_bad_rule_and_not_two_equal_ones():
    record = made_record(ThresholdPolicy([4]), 200.0, 1)
    fitted = fit_record(record, 4.0)
    policy = ThresholdPolicy([4, 1], [2])
    names = [rule().name for rule in contestants(fitted, policy)]
    assert len(set(names)) == len(names) == 8
    ours, same, one = contest(
        record, fitted, [lambda: Thresholds(policy), lambda: Thresholds(policy), lambda: Fixed(1)], WEIGHTS
    )
    assert ours.word() == same.word() == "not told apart" and same.difference.value == 0
    assert one.word() == "worse" and one.cost > ours.cost
    # One robot always costs more, but it is one robot: there it must be told that ours is not the best.
    assert "mean_active_robots" in one.better_in and "arrival_rate" not in one.better_in
    assert one.word("arrival_rate") == "worse"


def test_the_page_tells_where_ours_is_not_the_best(tmp_path, capsys):
    recorder = Recorder(tmp_path / "crawl.jsonl")
    for event in made_events(ThresholdPolicy([4]), 100.0, 1):
        recorder.write(**event)
    recorder.close()
    assert main(["live", "arena", str(tmp_path / "crawl.jsonl"), "--report", str(tmp_path / "page"), "--json"]) == 0
    standings = json.loads(capsys.readouterr().out)["standings"]
    page = (tmp_path / "page" / "report.html").read_text()
    assert len(standings) == 8 and all(one["rule"] in page for one in standings)
    assert "mean_active_robots" in next(one for one in standings if one["rule"] == "1 always")["better_in"]
    assert "is better than ours: " in page


def test_the_command(tmp_path, capsys):
    """A record on disk, as a crawl writes it."""
    assert main(["live", "arena"]) == 2
    assert "RECORD must be given" in capsys.readouterr().err
    assert main(["live", "arena", str(tmp_path / "none.jsonl")]) == 2
    assert "the record must exist" in capsys.readouterr().err
    assert main(["live", "demo", "record.jsonl"]) == 2
