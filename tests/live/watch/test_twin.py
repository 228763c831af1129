"""The model beside the crawl: it follows what is seen, and only policies that are surely better are written."""

import json

import numpy as np
import pytest

from crawltwin.live.recorder import Recorder
from crawltwin.live.watch.better_policy import cost_of, improve
from crawltwin.live.watch.monitor import Monitor
from crawltwin.live.watch.refit import moved_factors, newest_lines, refit_record, refit_stream, repaced, retimed
from crawltwin.live.watch.settings import WatchSettings
from crawltwin.live.watch.twin import Twin
from crawltwin.live.watch.watcher import Watcher
from crawltwin.model import CostWeights, Scenario, ThresholdPolicy, examples, exponential
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.errors import InputError
from crawltwin.model.policies.policy_file import PolicyFile
from crawltwin.model.policies.schedule import Schedule, SchedulePart
from fitting.readers.settings import ReadOptions
from tests.live.made_record import made_events
from tests.live.watch.test_watcher import log_lines

BAD = ThresholdPolicy([3], [])


def write_policy(path, policy, capacity):
    path.write_text(json.dumps(PolicyFile(policy).to_mapping(capacity)))


def test_the_arrivals_go_faster():
    for name in ("paper", "fetching"):
        arrivals = examples.load(name).arrivals
        for robots in arrivals.robot_numbers:
            assert arrivals.scaled(1.7).page_rate(robots) == pytest.approx(1.7 * arrivals.page_rate(robots))


def test_a_policy_must_be_better_in_every_variant():
    scenario = examples.load("paper")
    better = improve(retimed(scenario, 1.0, 0.01), BAD)
    # The paper's own optimum: three robots up to two pages, one above, 63.54.
    assert (better.policy.robots, better.policy.thresholds) == ((3, 1), (2,))
    assert better.cost == pytest.approx(63.54, abs=0.01)
    assert 0 <= better.doubt < better.gain == pytest.approx(cost_of(scenario, BAD) - better.cost)
    assert improve(retimed(scenario, 1.0, 0.01), better.policy) is None
    # Where pages come so slowly that the indexer starves anyway, one robot is cheaper than three: nothing is sure.
    one = ThresholdPolicy([1])
    assert improve(retimed(scenario, 1.0, 0.01), one) is not None
    assert improve(retimed(scenario, 1.0, 0.5), one) is None


def test_policies_with_several_thresholds_are_among_those_that_are_looked_at():
    """The founding paper's table 3 at s = 3, misprint corrected: robots 4, 3, 1 at (1, 3), 160.48."""
    scenario = examples.load("paper")
    better = improve(retimed(scenario.replace(service=scenario.service.scaled(3.0)), 1.0, 0.0), ThresholdPolicy([1]))
    assert (better.policy.robots, better.policy.thresholds) == ((4, 3, 1), (1, 3))
    assert better.cost == pytest.approx(160.48, abs=0.01)


def test_a_better_policy_is_written_whole_and_only_once(tmp_path):
    scenario = examples.load("paper")
    log, policy = tmp_path / "crawl.log", tmp_path / "policy.json"
    pace = Twin(scenario.replace(policy=BAD), None, {}, print).expected
    log.write_text("".join(log_lines(2000, pace=pace)))
    write_policy(policy, BAD, scenario.capacity)
    told = []
    arguments = ([str(log)], WatchSettings(learn=800, every=0.01), str(tmp_path / "state"), scenario, str(policy))
    watcher = Watcher(*arguments, reading=ReadOptions("plain"), tell=told.append)
    watcher.look()
    last = float(log.read_text().split()[-1])
    with log.open("a") as file:
        file.write("".join(log_lines(500, seed=9, start=last, pace=pace)))
    watcher.look()
    found = PolicyFile.read(policy).policy
    assert (found.robots, found.thresholds) != (BAD.robots, BAD.thresholds)
    assert any("arrivals fitted anew" in words for words in told)
    # The pace will fall because of the new policy: that is no alarm, and what is normal is learnt anew.
    assert watcher.monitor.reference is None and not watcher.monitor.alarms
    stamp = policy.stat().st_mtime_ns
    watcher._refit_at = 0.0
    watcher.look()
    assert policy.stat().st_mtime_ns == stamp
    again = Watcher(*arguments, reading=ReadOptions("plain"))
    assert again.twin.scenario == watcher.twin.scenario


def test_the_prediction_is_that_of_the_policy_that_is_obeyed(tmp_path):
    scenario, policy = examples.load("paper"), tmp_path / "policy.json"
    twin = Twin(scenario, str(policy), {}, print)
    write_policy(policy, ThresholdPolicy([1]), scenario.capacity)
    one = twin.expected
    write_policy(policy, BAD, scenario.capacity)
    assert one == pytest.approx(scenario.arrivals.page_rate(1))
    assert twin.expected == pytest.approx(scenario.arrivals.page_rate(3))


def test_another_policy_in_the_file_is_no_alarm(tmp_path):
    scenario, policy = examples.load("paper"), tmp_path / "policy.json"
    told, monitor = [], Monitor(800)
    twin = Twin(scenario, str(policy), {}, told.append)
    twin.note_policy(monitor)
    monitor.take(np.cumsum(np.random.default_rng(1).exponential(size=1000)).tolist())
    monitor.settle(np.inf)
    assert monitor.reference is not None and not told
    write_policy(policy, ThresholdPolicy([1]), scenario.capacity)
    twin.note_policy(monitor)
    assert monitor.reference is None and "learnt anew" in told[0]


def test_the_model_follows_an_alarm_and_a_restart_goes_on_with_it():
    scenario, facts = examples.load("paper").replace(policy=BAD), {}
    twin = Twin(scenario, None, facts, print)
    monitor = Monitor(800)
    monitor.alarms = [{"time": 0.0, "pace_after": 2 * twin.expected}]
    before = twin.expected
    twin.follow_alarm(monitor)
    assert twin.expected == pytest.approx(2 * before)
    assert Twin(scenario, None, facts, print).expected == pytest.approx(2 * before)
    other = scenario.replace(title="another")
    assert Twin(other, None, facts, print).expected == pytest.approx(before)


def test_regular_deliveries_are_fitted_as_such():
    """Gaps of Erlang-4 at the pace of two robots: the new model has their pace and their small variation."""
    scenario = examples.load("scaled")
    times = 1.7e9 + np.cumsum(np.random.default_rng(7).gamma(4.0, 0.05, 3000))
    found = refit_stream(scenario, 2, times.tolist(), 0.01)
    arrivals, before = found.scenario.arrivals, scenario.arrivals
    assert arrivals.page_rate(2) == pytest.approx(5.0, rel=0.03)
    assert arrivals.page_rate(1) / arrivals.page_rate(2) == pytest.approx(before.page_rate(1) / before.page_rate(2))
    mean, second = (arrivals.mode(2).interval_moment(k) for k in (1, 2))
    assert second / mean**2 - 1 == pytest.approx(0.25, abs=0.05)


def test_a_record_tells_all_three_laws_under_control_too(tmp_path):
    policy = ThresholdPolicy([4, 1], [3])
    recorder = Recorder(tmp_path / "crawl.jsonl")
    for event in made_events(policy, 1200.0, 3, service=0.15):
        recorder.write(**event)
    recorder.close()
    scenario = Scenario(
        title="before",
        capacity=10,
        arrivals=FetchingRobots(4, exponential(2.0)),
        service=exponential(0.1),
        obsolescence=exponential(5.0),
        policy=policy,
        cost=CostWeights(loss=5, robots=20),
    )
    found = refit_record(scenario, newest_lines([str(tmp_path / "crawl.jsonl")], 200.0))
    assert found.scenario.arrivals.fetch.mean == pytest.approx(0.48, rel=0.08)
    assert found.scenario.service.mean == pytest.approx(0.15, rel=0.06)
    assert found.scenario.obsolescence.mean == pytest.approx(1.2, rel=0.2)
    assert found.scenario.policy == policy and found.scenario.cost == scenario.cost
    assert len(found.variants) == 6


def test_of_a_record_with_several_starts_the_last_one_is_fitted(tmp_path):
    """Page numbers begin anew, and the clock was set back before the second start."""
    recorder = Recorder(tmp_path / "crawl.jsonl")
    for time, event in ((500.0, "opened"), (501.0, "delivered"), (300.0, "opened"), (301.0, "delivered")):
        recorder.write(time, event, page=0)
    recorder.close()
    assert [line["time"] for line in newest_lines([str(tmp_path / "crawl.jsonl")], 200.0)] == [301.0]


def test_under_control_the_arrivals_change_by_more_than_the_pace_that_is_seen():
    """Exponential fetches and indexing, four robots up to three pages and one above: made 1.8 times faster."""
    policy = ThresholdPolicy([4, 1], [3])
    scenario = Scenario(
        title="before",
        capacity=10,
        arrivals=FetchingRobots(4, exponential(1.0)),
        service=exponential(1 / 3),
        policy=policy,
    )
    truth = scenario.replace(arrivals=FetchingRobots(4, exponential(1 / 1.8)))
    pace = Twin(truth, None, {}, print).expected
    assert pace / Twin(scenario, None, {}, print).expected < 1.7
    found = repaced(scenario, policy, pace, 0.02)
    assert found.scenario.arrivals.fetch.mean == pytest.approx(1 / 1.8, rel=1e-4)
    for move, variant in zip(moved_factors(0.02), found.variants, strict=True):
        assert Twin(variant, None, {}, print).expected == pytest.approx(move * pace, rel=1e-4)


def test_a_doubt_of_any_size_moves_the_model():
    assert moved_factors(0.1) == pytest.approx((0.8, 1.2))
    assert moved_factors(0.7) == pytest.approx((0.05, 2.4))
    assert moved_factors(np.nan) == pytest.approx((0.05, 3.0))


def test_a_policy_file_that_goes_or_becomes_wrong_leaves_the_last_good_one(tmp_path):
    scenario, policy, told = examples.load("paper"), tmp_path / "policy.json", []
    write_policy(policy, BAD, scenario.capacity)
    twin, monitor = Twin(scenario, str(policy), {}, told.append), Monitor(800)
    twin.note_policy(monitor)
    for wrong in ('{"format": "crawltwin pol', '{"format": "crawltwin policy 1", "table": [4, NaN]}', None):
        policy.unlink() if wrong is None else policy.write_text(wrong)
        told.clear()
        twin.note_policy(monitor)
        assert twin.present == BAD and twin.expected == pytest.approx(scenario.arrivals.page_rate(3))
        assert len(told) == 1 and "the policy stays as it was" in told[0]
    write_policy(policy, ThresholdPolicy([1]), scenario.capacity)
    assert twin.present == ThresholdPolicy([1])


def test_a_policy_that_the_model_does_not_know_ends_nothing(tmp_path):
    scenario, policy, told = examples.load("paper"), tmp_path / "policy.json", []
    write_policy(policy, ThresholdPolicy([9]), scenario.capacity)
    twin, monitor = Twin(scenario, str(policy), {}, told.append), Monitor(800)
    monitor.alarms = [{"time": 0.0, "pace_after": 2.0, "deliveries": 300}]
    assert twin.expected is None
    twin.follow_alarm(monitor)
    assert any("predicts nothing" in words for words in told) and any("stays as it was" in words for words in told)


def test_a_new_policy_keeps_the_threads_per_robot(tmp_path):
    scenario, policy = examples.load("paper"), tmp_path / "policy.json"
    policy.write_text(json.dumps(PolicyFile(BAD, threads_per_robot=5).to_mapping(scenario.capacity)))
    twin, monitor = Twin(scenario, str(policy), {}, print), Monitor(800)
    monitor.alarms = [{"time": 0.0, "pace_after": twin.expected, "deliveries": 40_000}]
    monitor.recent.extend(range(5000))
    twin.follow_alarm(monitor)
    written = PolicyFile.read(policy)
    assert written.policy != BAD and written.threads_per_robot == 5


def test_an_alarm_that_a_kill_left_is_followed_after_the_restart(tmp_path, monkeypatch):
    scenario, log = examples.load("paper").replace(policy=BAD), tmp_path / "crawl.log"
    pace = Twin(scenario, None, {}, print).expected
    first = log_lines(1500, pace=pace)
    log.write_text("".join([*first, *log_lines(600, seed=9, start=float(first[-1]), pace=2 * pace)]))
    arguments = ([str(log)], WatchSettings(learn=800), str(tmp_path / "state"), scenario)
    killed = Watcher(*arguments, reading=ReadOptions("plain"))
    with monkeypatch.context() as patch:
        patch.setattr(Twin, "follow_alarm", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            killed.look()
    again = Watcher(*arguments, reading=ReadOptions("plain"))
    again.look()
    assert again.monitor.raised == 1 and again.twin.expected == pytest.approx(2 * pace, rel=0.2)
    model = again.twin.scenario
    again.look()
    assert again.twin.scenario == model


def test_a_policy_without_one_to_hold_it_against_is_refused(tmp_path):
    scenario = examples.load("paper").replace(policy=None)
    with pytest.raises(InputError, match="the policy that is obeyed must be known"):
        Watcher(["a.log"], WatchSettings(), str(tmp_path / "state"), scenario, str(tmp_path / "policy.json"))


SCHEDULE = Schedule([SchedulePart(0.0, 43200.0, ThresholdPolicy([1])), SchedulePart(43200.0, 86400.0, BAD)])


def test_a_schedule_is_refused(tmp_path):
    """The watch knows one pace: a policy of its own would be in force all day."""
    scenario, policy = examples.load("paper"), tmp_path / "policy.json"
    policy.write_text(json.dumps(PolicyFile(BAD, schedule=SCHEDULE).to_mapping(scenario.capacity)))
    with pytest.raises(InputError, match="must hold one policy to be watched; got a schedule of 2 parts"):
        Twin(scenario, str(policy), {}, print)


def test_a_schedule_that_is_put_there_meanwhile_is_not_written_over(tmp_path):
    scenario, policy, told = examples.load("paper"), tmp_path / "policy.json", []
    write_policy(policy, BAD, scenario.capacity)
    twin, monitor = Twin(scenario, str(policy), {}, told.append), Monitor(800)
    text = json.dumps(PolicyFile(BAD, schedule=SCHEDULE).to_mapping(scenario.capacity))
    policy.write_text(text)
    monitor.alarms = [{"time": 0.0, "pace_after": twin.expected, "deliveries": 40_000}]
    monitor.recent.extend(range(5000))
    twin.follow_alarm(monitor)
    assert policy.read_text() == text
    assert any("got a schedule of 2 parts" in words for words in told)
    assert any("a better policy was found and not written" in words for words in told)
