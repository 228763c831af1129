"""Several indexers, hysteresis, polling, robots that finish their fetch: both engines, and all that uses them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from crawltwin.model import (
    ADMISSIONS,
    FetchingRobots,
    InputError,
    LevelPolicy,
    PhaseType,
    Scenario,
    Spells,
    ThresholdPolicy,
    examples,
    exponential,
)
from simulate import (
    RecordedTrace,
    SampleSettings,
    SelectionSettings,
    compare,
    coverage,
    draw_approach,
    draw_sample,
    replay,
    select_best,
    simulate,
    timeline,
)
from simulate.engine import compiled, reference
from simulate.engine.columns import CONTROL, SERVED
from simulate.engine.length import Length, Start
from simulate.engine.records import frame
from simulate.engine.run_plan import draw_opening, make_plan, opening
from simulate.engine.streams import open_streams
from simulate.sample.replications import Piece, run_piece
from tests.unit.simulate.cases import KINDS, assert_same, job_of

FETCHING, HYSTERESIS, INDEXERS = (examples.load(name) for name in ("fetching", "hysteresis", "indexers"))
NEW = {"fetching": FETCHING, "hysteresis": HYSTERESIS, "indexers": INDEXERS}
POLICIES = {
    "resume": ThresholdPolicy([3, 1], [4], resume=[1]),
    "polled": ThresholdPolicy([3, 2, 1], [2, 5], resume=[0, 3], check_every=0.7),
    "rising": ThresholdPolicy([1, 3], [3]),
}
ROBOTS = FetchingRobots(
    5,
    PhaseType([0.5, 0.5], [[-2, 1.0], [0.5, -1]]),
    (0.5, 0.0, 0.5),
    spells=Spells([[-0.2, 0.1, 0.1], [0.5, -0.6, 0.1], [1, 1, -2]], [1.0, 0.0, 0.3]),
)


@pytest.mark.parametrize("kind", [*KINDS, "fetching"])
def test_engines_agree_page_by_page(kind: str):
    scenario = examples.load(KINDS.get(kind, kind)).replace(capacity=9)
    for indexers, (name, policy) in product((1, 3), POLICIES.items()):
        admission = ADMISSIONS[(indexers + len(name)) % 3]
        run, _ = assert_same(job_of(scenario.replace(indexers=indexers, policy=policy, admission=admission), pages=700))
        assert run.check_conservation() == 0
        assert abs(run.check_little()) < 1e-12


@pytest.mark.parametrize("start_up", [None, exponential(0.4)])
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_engines_agree_on_fetches_from_a_given_level(start_up: PhaseType | None, policy: ThresholdPolicy):
    robots = replace(ROBOTS, start_up=start_up)
    scenario = Scenario(6, robots, exponential(0.2), exponential(2.0), policy, indexers=2)
    run, _ = assert_same(job_of(scenario, start=Start(np.array([0.0, 0.0, 0.0, 0.5, 0.5])), time=150.0))
    assert run.time_in_mode.sum() == pytest.approx(run.time)
    assert 1 <= run.control[:, CONTROL.fetches].sum() / run.time <= 3


def test_engines_agree_on_a_polled_table():
    assert_same(job_of(examples.load("paper").replace(policy=LevelPolicy([4, 1, 3, 1, 2, 1], check_every=2.0))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", [compiled, reference])
def test_the_general_engine_gives_the_same_run_where_it_is_not_needed(kind: str, engine):
    """A plain scenario followed mode by mode: the same bits, and the time in the modes is that at the levels."""
    scenario = examples.load(KINDS[kind])
    runs = []
    for general in (False, True):
        plan, streams = make_plan(scenario, Length(pages=3000), general=general), open_streams(3, 0)
        runs.append(engine.run(plan, streams, *draw_opening(opening(scenario, plan), Start(), streams))[0])
    plain, general_run = runs
    for name in plain.__dataclass_fields__:
        if name != "time_in_mode":
            np.testing.assert_array_equal(getattr(plain, name), getattr(general_run, name), err_msg=name)
    policy = scenario.policy_in_force
    active = plain.time_at_level.sum(axis=0) @ policy.robots_by_level(scenario.top_level)
    assert general_run.time_in_mode.sum(axis=0) @ policy.as_thresholds().robots == pytest.approx(active)


def test_hysteresis_between_equal_numbers_of_robots_changes_nothing():
    paper = examples.load("paper")
    plain = paper.replace(policy=ThresholdPolicy([3, 1], [2]))
    idle = paper.replace(policy=ThresholdPolicy([3, 1, 1], [2, 4], resume=[2, 3]))
    assert idle.features
    assert not paper.replace(policy=ThresholdPolicy([3, 1], [2], resume=[2])).features
    one, other = (run_piece(Piece(job_of(scenario), 0))[0] for scenario in (plain, idle))
    for name in ("time_at_level", "counts", "sojourns", "control", "histograms", "time", "events"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_switches_are_those_of_the_timeline():
    events = timeline(HYSTERESIS, end=400.0, seed=3)
    run, _ = run_piece(Piece(job_of(HYSTERESIS, seed=3, time=400.0), 0))
    seen = int((events["robots"].diff().fillna(0) != 0).sum())
    assert seen == run.control[:, CONTROL.switches].sum() > 5
    # Down only above the threshold, up only at the resume point.
    step = events["robots"].diff()
    assert (events.loc[step < 0, "level"] > 6).all()
    assert (events.loc[step > 0, "level"] <= 2).all()


def test_a_controller_that_polls_switches_between_the_pages_events():
    policy = ThresholdPolicy([4, 1], [3], check_every=2.0)
    events = timeline(HYSTERESIS.replace(policy=policy), end=300.0, seed=3)
    changed = events["robots"].diff().fillna(0) != 0
    assert changed.sum() > 5
    assert (events.loc[changed, "event"] == "switched").all()
    assert (events.loc[events["event"] == "switched", "pages"] == 0).all()


def test_indexers_work_side_by_side_and_pages_begin_in_order():
    _, pages = run_piece(Piece(replace(job_of(INDEXERS, pages=2000), recording=True), 0))
    table = frame(pages)
    served = table[pages.fate == SERVED]
    assert served["start"].is_monotonic_increasing
    begins, ends = served["start"].to_numpy(), np.sort(served["end"].to_numpy())
    at_work = [int((begins <= t).sum() - (ends <= t).sum()) for t in begins]
    assert max(at_work) == 3


def test_as_many_indexers_as_places_make_pages_never_wait():
    result = simulate(INDEXERS.replace(capacity=3, policy=ThresholdPolicy([4])), pages=2000, workers=1)
    assert result["obsolescence_probability"].high == 0.0
    assert result["mean_sojourn_obsolete"] is None
    assert not result.warnings


@pytest.mark.parametrize("name", NEW)
def test_workers_and_engines_do_not_matter(name: str):
    runs = [
        simulate(NEW[name], pages=1000, replications=4, workers=workers, engine=engine)
        for workers, engine in ((1, "compiled"), (2, "compiled"), (1, "simpy"))
    ]
    assert runs[0].measures == runs[1].measures == runs[2].measures
    assert (runs[0]["mean_fetches"] is None) == (name != "fetching")
    assert sum(runs[0].robots.values()) == pytest.approx(1.0)


def test_mean_active_robots_are_those_wanted_and_fetches_go_beyond_them():
    sample = draw_sample(FETCHING, SampleSettings(pages=5000))
    shares = sample.robot_estimates()
    assert sample.plain["mean_active_robots"] == pytest.approx(
        sum(r * one.value for r, one in shares.items()), rel=1e-3
    )
    no_start_up = FETCHING.replace(arrivals=replace(FETCHING.arrivals, start_up=None))
    longer = draw_sample(no_start_up, SampleSettings(pages=5000)).plain
    assert longer["mean_fetches"] > longer["mean_active_robots"]


def test_the_switching_cost_is_part_of_the_cost():
    dear, free = (
        simulate(HYSTERESIS.replace(cost=replace(HYSTERESIS.cost, switching=price)), pages=2000, workers=1)
        for price in (4.0, 0.0)
    )
    assert dear["cost"].value - free["cost"].value == pytest.approx(4.0 * dear["switch_rate"].value, rel=1e-3)


def test_comparison_selection_approach_coverage_and_precision_know_them():
    policies = {
        "keeps": ThresholdPolicy([4]),
        "waits": HYSTERESIS.policy,
        "looks": ThresholdPolicy([4, 1], [6], None, 3.0),
    }
    found = compare(HYSTERESIS, policies, pages=2000)
    verdicts = {(gap.policy, gap.measure): gap.verdict for gap in found.differences}
    assert verdicts["waits", "mean_active_robots"] == verdicts["looks", "mean_active_robots"] == "smaller"
    assert verdicts["waits", "switch_rate"] == "larger"
    settings = SelectionSettings(measure="mean_active_robots", indifference=0.05, pages=500)
    assert select_best(HYSTERESIS, {"keeps": policies["keeps"], "waits": policies["waits"]}, settings).best == "waits"
    early, late = draw_approach(FETCHING, SampleSettings(time=8.0, bins=4, replications=200), ends=(1, 4))
    assert early.plain["mean_pages"] < late.plain["mean_pages"]
    # From equilibrium: four fetches are in flight at time 0.
    assert (
        draw_approach(FETCHING, SampleSettings(time=1e-6, bins=4, replications=5), ends=(4,))[0].plain["mean_fetches"]
        == 4
    )
    truth = {"mean_pages": simulate(INDEXERS, pages=100_000, workers=1)["mean_pages"].value}
    assert coverage(INDEXERS, truth, experiments=40, replications=5, pages=500, workers=1).shares[0].share > 0.8
    assert simulate(INDEXERS, precision=0.05, measures=["mean_pages"], workers=1).precision.reached


def test_traces_meet_indexers_and_memory_but_not_changing_fetches():
    rng = np.random.default_rng(1)
    trace = RecordedTrace(np.cumsum(rng.exponential(0.5, 4000)), rng.integers(1, 3, 4000))
    one, three = (replay(INDEXERS.replace(indexers=c), trace, seed=2) for c in (1, 3))
    assert three["loss_probability"].value < one["loss_probability"].value
    kept, waits = (
        replay(HYSTERESIS.replace(policy=policy), trace, recorded_robots=4)
        for policy in (ThresholdPolicy([4, 1], [6]), HYSTERESIS.policy)
    )
    assert waits["switch_rate"].value < kept["switch_rate"].value
    for engine in ("simpy", "compiled"):
        assert replay(HYSTERESIS, trace, recorded_robots=4, engine=engine).measures == waits.measures
    with pytest.raises(InputError, match="policy must keep one number of robots where robots finish their fetch"):
        replay(FETCHING, trace)
    assert replay(FETCHING.replace(policy=ThresholdPolicy([4])), trace)["mean_fetches"] is None


def test_seldom_switches_have_limits():
    """A threshold that is hardly ever passed: no switch was seen, and the interval says what that is worth."""
    scenario = HYSTERESIS.replace(policy=ThresholdPolicy([1, 4], [10]))
    result = simulate(scenario.replace(capacity=40), pages=1000, replications=3, workers=1)
    assert result["switch_rate"].value == 0.0
    assert 0 < result["switch_rate"].high < 1
    assert simulate(scenario.replace(policy=ThresholdPolicy([4])), pages=1000, workers=1)["switch_rate"].high == 0.0
