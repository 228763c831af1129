"""A plan by part of the day: paces, schedules against every choice, the day followed in time, the whole road."""

import json
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from analytic import optimize, solve
from analytic.policy.tables import rates_of_tables
from benchmarks.fitting_checks import DAY, HOUR, drawn
from crawltwin.model import (
    BMAP,
    CostWeights,
    FetchingRobots,
    ModeMatrices,
    ScaledStream,
    Scenario,
    ThinnedStream,
    ThresholdPolicy,
    examples,
    exponential,
)
from crawltwin.model.policies.policy_file import PolicyFile
from crawltwin.pages.explore import explore_page
from crawltwin.plan import decide
from crawltwin.plan.choosing import aim_of
from crawltwin.plan.day.followed_day import follow
from crawltwin.plan.day.parts import WHOLE_DAY, at_pace, day_optimum, day_solution, over_day, rates_by_part, redrawn
from crawltwin.plan.day.schedule import DayPlan, best_schedule, schedule_of, value_of
from crawltwin.plan.decide import plan
from crawltwin.plan.evidence import finish
from crawltwin.plan.evidence.resampling import Spread
from crawltwin.plan.export import policy_table
from crawltwin.plan.settings import NamedWeights, PlanSettings
from crawltwin.plan.steps import Steps
from crawltwin.plan.what_if.explored import KEYS, explored_policies
from fitting import FitOptions, RawLog, read_log
from fitting.season.pace import Pace, PacePart
from fitting.season.season import Season

NIGHT, NOON = PacePart(0.0, 12 * HOUR, 0.3, 0.02, 0.6), PacePart(12 * HOUR, DAY, 2.05, 0.01, 0.4)
PARTS = (NIGHT, NOON)
COST = CostWeights(loss=40.0, obsolescence=20.0, response=0.5, robots=1.0, starvation=6.0)


def crawler(capacity=4):
    stream = BMAP([[[-1.2, 0.2], [0.1, -0.6]], [[1.0, 0.0], [0.0, 0.5]]])
    return Scenario(
        capacity=capacity,
        arrivals=ThinnedStream(stream, (0.5, 1.0)),
        service=exponential(1.0),
        obsolescence=exponential(8.0),
        cost=COST,
    )


def season():
    pace = Pace(DAY, 0.0, "2 parts", np.repeat([0.3, 2.05], 48), np.ones(96, dtype=bool), PARTS)
    return Season(DAY, 5.0, 1e-9, 1.0, 0.9, pace=pace)


def test_a_pace_multiplies_the_rates_of_every_mode():
    base = crawler()
    for arrivals in (base.arrivals, ScaledStream(BMAP.poisson(0.4), 2), ModeMatrices({1: BMAP.poisson(0.4)})):
        fast = at_pace(base.replace(arrivals=arrivals), 3.0).arrivals
        assert fast.kind == arrivals.kind
        for robots, mode in arrivals.modes.items():
            assert fast.mode(robots).page_rate == pytest.approx(3 * mode.page_rate)


def test_the_single_policy_is_the_best_of_all_over_the_day():
    """Every table that never rises, written down, solved in both parts and averaged."""
    base = crawler()
    found, _ = day_optimum(optimize(base), PARTS)
    tables = np.array([row for row in product((1, 2), repeat=5) if sorted(row, reverse=True) == list(row)])
    mean = sum(part.share * rates_of_tables(at_pace(base, part.pace), tables) for part in PARTS)
    costs = aim_of(mean, COST, None)
    assert found.best.cost == pytest.approx(costs.min(), rel=1e-12)
    assert found.best.policy.robots_by_level(4) == tuple(tables[np.argmin(costs)])
    assert found.fixed[1] == pytest.approx(costs[(tables == 1).all(axis=1)][0])


def test_the_schedule_is_the_best_of_all_pairs():
    base = crawler()
    optimum, rates = day_optimum(optimize(base), PARTS)
    value = value_of(COST, None, np.zeros((1, 8)))
    single = int(np.argmin(optimum.costs))
    own = best_schedule(rates, PARTS, value, single)
    every = [
        float(value(over_day(np.stack([rates[0, a], rates[1, b]]), PARTS)))
        for a in range(len(optimum.tables))
        for b in range(len(optimum.tables))
    ]
    mine = float(value(over_day(np.stack([rates[0, own[0]], rates[1, own[1]]]), PARTS)))
    assert mine == pytest.approx(min(every), rel=1e-9)
    day = schedule_of(season(), optimum, rates, np.ones((1, 8)), None)
    assert day.schedule == pytest.approx(mine)
    assert day.single == pytest.approx(optimum.best.cost)
    assert day.saving.value == pytest.approx(1 - mine / optimum.best.cost)


@pytest.mark.parametrize(
    ("saving", "worth"),
    [
        (Spread(0.05, 0.02, 0.08), True),
        (Spread(0.05, -0.01, 0.1), False),
        (Spread(0.005, 0.004, 0.006), False),
        (Spread(0.05), False),
    ],
)
def test_a_schedule_must_be_worth_it(saving, worth):
    """At least a percent, and more than its doubt."""
    tables = np.array([[2, 2, 1], [2, 1, 1], [2, 2, 2]])
    day = DayPlan(season(), PARTS, tables, np.zeros((3, 8)), 1.0, 0.95, saving, "cost")
    assert day.worth_it is worth
    assert [policy.short for policy in day.policies] == (["2,1@1", "2,1@0"] if worth else ["2", "2"])
    assert day.to_json()["recommended"] == ("schedule" if worth else "single")
    assert ("is worth it" in day.in_words()[1]) is worth
    if not worth:
        assert day.by_part is None
        return
    # A log that names no zone has the times of the machine that wrote it.
    assert day.by_part.utc_offset is None
    universal = replace(day, season=replace(day.season, utc=True))
    content = policy_table(crawler(2), ThresholdPolicy([2]), schedule=universal.by_part)
    file = PolicyFile.of(json.loads(json.dumps(content)))
    assert [file.policy_at(hour * HOUR) for hour in (3, 15)] == list(day.policies)


def test_measures_over_the_day_are_quotients_of_averages():
    every = [at_pace(crawler().replace(policy=ThresholdPolicy([2, 1], [2])), part.pace) for part in PARTS]
    day = day_solution(every, PARTS)
    one, two = (solve(scenario).measures for scenario in every)
    pages = 0.6 * one["arrival_rate"] + 0.4 * two["arrival_rate"]
    lost = sum(w * m["arrival_rate"] * m["loss_probability"] for w, m in ((0.6, one), (0.4, two)))
    assert day.measures["loss_probability"] == pytest.approx(lost / pages)
    assert sum(day.measures["level_distribution"]) == pytest.approx(1)
    assert day.scenario == every[1]


def test_a_slow_day_is_stationary_by_part_and_a_quick_one_is_not():
    base = crawler()
    policies = [ThresholdPolicy([2, 1], [2])] * 2
    slow = follow(base, PARTS, policies, 1e6)
    assert slow.close
    assert "may be taken as stationary" in slow.in_words()
    quick = follow(base, PARTS, policies, 4.0)
    assert not quick.close
    assert quick.followed["lost"] < quick.stationary["lost"]


def test_redrawn_paces_keep_the_mean():
    found = redrawn(PARTS, np.random.default_rng(1))
    assert sum(part.share * part.pace for part in found) == pytest.approx(sum(p.share * p.pace for p in PARTS))
    assert found[0].pace != NIGHT.pace
    assert rates_by_part(crawler(), [np.full((1, 5), 2)] * 2, PARTS).shape == (2, 1, 8)


def log_of(times, tmp_path) -> RawLog:
    path = tmp_path / "day.log"
    path.write_text("\n".join(f"{1_714_521_600 + t:.3f}" for t in times))
    return read_log(path)


@pytest.mark.slow
def test_the_whole_road_with_a_cycle(tmp_path):
    """Ten times as many pages from 9 to 17 o'clock: the parts are found, the checks agree, the schedule is solved."""
    times = drawn(
        lambda t: 0.08 * np.where((t % DAY >= 9 * HOUR) & (t % DAY < 17 * HOUR), 1.0, 0.1),
        4 * DAY, 0.08, np.random.default_rng(1),
    )  # fmt: skip
    settings = PlanSettings(
        robots=4, capacity=8, service_mean=30.0, obsolescence_mean=1800.0, lose_at_most=0.01, index_at_least=0.5,
        redraws=12, budget=2_000_000, margin=0.3, what_if=False,
    )  # fmt: skip
    options = FitOptions(methods=("poisson",), repetitions=20, refits=0)
    found = plan(log_of(times, tmp_path), settings, options=options)
    assert [(part.begin, part.end) for part in found.day.parts] == [(9 * HOUR, 17 * HOUR), (17 * HOUR, 9 * HOUR)]
    assert found.day.followed.close
    assert found.trusted, found.verdict.in_words()
    assert found.solution.measures["loss_probability"] <= 0.01
    # By itself the mean pace would have told another story of the losses.
    mean = solve(found.scenario).measures["loss_probability"]
    assert mean < 0.5 * found.solution.measures["loss_probability"]
    weights = NamedWeights.read("loss=1,robots=0.1,starvation=0,obsolescence=0")
    costs = replace(settings, lose_at_most=None, index_at_least=None, cost=weights)
    assert plan(log_of(times, tmp_path), costs, options=options).day is not None


@pytest.mark.slow
def test_the_whole_road_with_a_step(tmp_path):
    """A rate that rose threefold is planned for as it is now, and the plan is provisional."""
    times = drawn(lambda t: np.where(t < 3 * HOUR, 0.1, 0.3), 6 * HOUR, 0.3, np.random.default_rng(1))
    settings = PlanSettings(robots=2, capacity=8, service_mean=3.0, obsolescence_mean=900.0, redraws=0, what_if=False,
                            cost=COST, margin=0.3, budget=500_000)  # fmt: skip
    options = FitOptions(methods=("poisson",), repetitions=20, refits=0)
    found = plan(log_of(times, tmp_path), settings, options=options)
    assert found.today.measures["arrival_rate"] == pytest.approx(0.3, rel=0.05)
    assert found.verdict.word == "PROVISIONAL"
    assert any("the mean gap changes once" in reason for reason in found.verdict.reasons)
    assert found.replay.trusted


@pytest.mark.parametrize("redraws", [True, False])
def test_a_list_under_a_policy_by_part_is_done_at_the_rate_of_that_policy(monkeypatch, redraws):
    """The scenario of the mean pace brings 3 per second, as the policy over the day does; today it is 2."""
    told = []
    measures = [SimpleNamespace(measures={"arrival_rate": rate}) for rate in (3.0, 2.0)]
    # Nine URLs take 3 s at 3 per second, but 12 s from a slow phase, which the log has counted in already.
    monkeypatch.setattr(finish, "completion", lambda scenario, urls: SimpleNamespace(mean=12.0))
    monkeypatch.setattr(finish, "solve", lambda scenario: measures[0])
    monkeypatch.setattr(finish, "finish_of", lambda wanted, done, slower, *rest: told.append(slower.tolist()) or slower)
    monkeypatch.setattr(finish, "growth_of", lambda log, urls: None)
    day, doubt = SimpleNamespace(worth_it=True), SimpleNamespace(page_rates=np.array([[10.0, 20.0, 30.0]]))
    log, cleaning = SimpleNamespace(seconds=np.array([0.0, 5.0])), SimpleNamespace(pauses=0, stretches=())
    fit = SimpleNamespace(cleaning=cleaning, log=log)
    under = [(None, one) for one in measures]
    found = decide._finish(fit, under, day, doubt if redraws else None, PlanSettings(urls=9), Steps(1, None))
    assert told == [[0.25], [0.375]]
    assert found.linear == pytest.approx(9 * 5.0 / 2)


def test_robots_that_finish_their_fetch_have_one_pace():
    base = examples.load("paper")
    fetching = base.replace(arrivals=FetchingRobots(2, exponential(1.0)), policy=None)
    tables = np.full((1, base.capacity + 1), 2)
    assert rates_by_part(fetching, [tables], (WHOLE_DAY,)).shape[:2] == (1, 1)


def test_the_page_to_explore_speaks_of_the_whole_day():
    """Averages over the parts at every speed, not those of the mean pace or of one part."""
    base = crawler(2)
    optimum, rates = day_optimum(optimize(base), PARTS)
    day = schedule_of(season(), optimum, rates, np.ones((1, 8)), None)
    found = explored_policies(optimum, None, day)
    own = found.policies[found.plan]
    for indexing, staleness, measures in [
        (1.0, 1.0, own.measures),
        *((w.indexing, w.staleness, w.measures[found.plan]) for w in found.worlds[:2]),
    ]:
        law = base.obsolescence
        changed = base.replace(
            service=base.service.scaled(indexing),
            obsolescence=None if law is None else law.scaled(staleness),
            policy=optimum.best.policy,
        )
        mean = day_solution([at_pace(changed, part.pace) for part in PARTS], PARTS).measures
        assert measures[KEYS.index("lost")] == pytest.approx(mean["loss_probability"], rel=1e-4)
        assert measures[KEYS.index("robots")] == pytest.approx(mean["mean_active_robots"], rel=1e-4)
        if indexing == staleness == 1:
            assert own.levels == pytest.approx(mean["level_distribution"], abs=1e-9)
    page = explore_page(found)
    assert "an average over its 2 parts" in page
    assert ("recommends a policy for each part" in page) is day.worth_it
    assert "an average over its" not in explore_page(explored_policies(optimize(base)))
