"""Fetch times, numbers in flight and spells, against made crawls whose truth is known."""

import json
from dataclasses import replace

import numpy as np
import pytest

from analytic import solve
from analytic.policy.memory.evaluator import rates_of_levels
from crawltwin.cli.main import main
from crawltwin.model import InputError, Scenario, ThresholdPolicy, exponential, hyper_erlang
from crawltwin.model.arrivals.spells import Spells
from crawltwin.plan.day.logged_crawl import as_logged
from crawltwin.plan.prepare import robot_model, scenario_of, with_robots_of_log
from crawltwin.plan.settings import PlanSettings
from fitting import FitOptions, fit
from fitting.robots.fetch_law import fit_fetch_law, structures_for
from fitting.robots.fetches import Fetches, InFlight
from fitting.robots.spells import fit_spells
from tests.unit.fitting.robots.made import crawl, fetches, heritrix

SPELLS = Spells([[-0.02, 0.02], [0.04, -0.04]], [1.0, 0.4])
FAST_SPELLS = Spells([[-0.05, 0.05], [0.1, -0.1]], [1.0, 0.5])
QUICK = FitOptions(methods=("poisson", "mmpp2"), repetitions=20, refits=0)


def test_numbers_in_flight_are_counted():
    """By hand: one fetch from 0 to 2, one from 1 to 4, one from 4 to 5; the last two follow one another."""
    begin, end = np.array([0.0, 1.0, 4.0]), np.array([2.0, 4.0, 5.0])
    made = Fetches(begin, end, None, np.zeros(3, dtype=np.int64), np.array([[0.0, 5.0]]))
    found = InFlight.of(made, parts=5)
    assert found.most == 2
    assert found.mean == pytest.approx(6 / 5)
    assert found.number == pytest.approx([1, 2, 1, 1, 1])


@pytest.mark.parametrize(
    ("law", "stages"),
    [
        (exponential(0.8), (1,)),
        (hyper_erlang([1.0], [3], [3 / 0.8]), (3,)),
        (hyper_erlang([0.7, 0.3], [1, 1], [4, 0.4]), (1, 1)),
    ],
)
def test_the_fetch_law_is_recovered(law, stages):
    made = fetches(*crawl(law, 4, 1000.0, seed=3), seconds=1000.0)
    found = fit_fetch_law(made, 4)
    assert found.fit.stages == stages
    assert found.mean.low < law.mean < found.mean.high
    assert found.law.scv == pytest.approx(law.scv, rel=0.15)
    assert found.censored == 4
    assert found.held_out >= found.exponential_held_out - 1e-3
    assert InFlight.of(made).most == 4
    assert InFlight.of(made).mean == pytest.approx(4, abs=0.02)


def test_fetches_under_way_at_the_end_are_censored():
    """Sixty robots for five mean fetches: the long fetches are not delivered, but are known to be long."""
    means = []
    for seed in range(5):
        made = fetches(*crawl(exponential(2.0), 60, 10.0, seed), seconds=10.0)
        found = fit_fetch_law(made, 60, repetitions=10)
        means.append((made.durations.mean(), found.law.mean))
        assert 50 < found.censored <= 60
    plain, known = np.mean(means, axis=0)
    assert plain < 0.85 * 2
    assert known == pytest.approx(2, rel=0.06)


def test_robots_that_ran_out_of_work_are_not_fetching():
    """Four robots with 800 pages each: who is done first is silent until the last one is done."""
    law = hyper_erlang([1.0], [2], [2 / 4])
    begin, end, worker = crawl(law, 4, 4000.0, seed=3)
    kept = np.zeros(end.size, dtype=bool)
    for robot in range(4):
        kept[np.flatnonzero(worker == robot)[:800]] = True
    made = fetches(begin[kept], end[kept], worker[kept], seconds=end[kept].max())
    silent = [made.end[-1] - made.end[made.worker == robot].max() for robot in range(4)]
    assert max(silent) > 2 * made.durations.max()
    found = fit_fetch_law(made, 4, repetitions=20)
    assert found.fit.stages == (2,)
    # The likelihood of an Erlang law is largest at the mean of the sample.
    assert found.law.mean == pytest.approx(made.durations.mean(), rel=1e-6)


def test_spells_are_recovered_with_intervals():
    made = fetches(*crawl(hyper_erlang([1.0], [2], [2 / 0.8]), 4, 2000.0, seed=0, spells=SPELLS), seconds=2000.0)
    found = fit_spells(made, fit_fetch_law(made, 4, repetitions=10))
    assert found.spells is not None
    assert found.bic_gain > 100
    assert found.held_out_gain > 0.02
    assert found.pace.value == pytest.approx(0.4, rel=0.1)
    assert found.fast_length.low < 50 < found.fast_length.high
    assert found.slow_length.low < 25 < found.slow_length.high
    assert found.law.mean == pytest.approx(0.8, rel=0.1)


@pytest.mark.slow
def test_the_intervals_of_spells_cover():
    """Thirteen crawls: more than two misses of an interval of 95% would be a fault (p = 0.03)."""
    missed = np.zeros(3)
    for seed in range(13):
        made = fetches(*crawl(exponential(0.5), 4, 2000.0, seed, FAST_SPELLS), seconds=2000.0)
        found = fit_spells(made, fit_fetch_law(made, 4, repetitions=10))
        numbers = ((found.pace, 0.5), (found.fast_length, 20.0), (found.slow_length, 10.0))
        missed += [not one.low <= truth <= one.high for one, truth in numbers]
    assert (missed <= 2).all(), missed


def test_spells_of_a_long_log_are_found_from_blocks_over_all_of_it(monkeypatch):
    made = fetches(*crawl(hyper_erlang([1.0], [2], [2 / 0.8]), 4, 2000.0, seed=0, spells=SPELLS), seconds=2000.0)
    monkeypatch.setattr("fitting.robots.spells.USED", len(made) // 3)
    found = fit_spells(made, fit_fetch_law(made, 4, repetitions=10))
    assert found.held_out_gain > 0.02
    assert found.pace.value == pytest.approx(0.4, rel=0.15)
    assert found.slow_length.low < 25 < found.slow_length.high


def test_fetches_under_way_are_those_since_the_last_end_of_each_robot():
    begin, end, worker = (
        np.array(column) for column in ([0, 0, 4, 5, 12, 10.0], [4, 5, 7, 8, 14, 15.0], [1, 7, 1, 7, 1, 7])
    )
    made = Fetches(begin, end, worker, np.array([0, 0, 0, 0, 1, 1]), np.array([[4.0, 8.0], [14.0, 15.0]]))
    assert made.under_way.tolist() == [1.0, 1.0]
    huge = replace(made, worker=made.worker * 10**15)
    assert huge.under_way.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_steady_web_has_no_spells(seed):
    made = fetches(*crawl(hyper_erlang([0.7, 0.3], [1, 1], [4, 0.4]), 3, 600.0, seed), seconds=600.0)
    assert fit_spells(made, fit_fetch_law(made, 3, repetitions=10)).spells is None


def test_many_robots_get_few_phases():
    assert (10,) in structures_for(3)
    assert max(map(sum, structures_for(40))) == 2
    assert structures_for(2000) == [(1,)]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Four robots, Erlang-2 fetches of mean 0.8 s in the fast spells."""
    made = crawl(hyper_erlang([1.0], [2], [2 / 0.8]), 4, 1000.0, seed=1, spells=SPELLS)
    return heritrix(tmp_path_factory.mktemp("logs") / "crawl.log", *made)


def test_a_log_with_durations_tells_of_its_robots(log):
    result = fit(log, options=QUICK)
    learned = result.robots
    assert (learned.robots, learned.workers) == (4, 4)
    assert learned.busy == pytest.approx(1, abs=0.01)
    assert learned.preferred
    assert learned.held_out > learned.stream_held_out
    arrivals = learned.arrivals()
    assert arrivals.page_rate(4) == pytest.approx(result.numbers["page_rate"].value, rel=0.03)
    assert learned.rate_ratio == pytest.approx(arrivals.page_rate(4) / result.numbers["page_rate"].value, rel=0.01)
    assert not replace(learned, durations=0.9 * learned.durations).preferred, "a model with 10% too few deliveries"
    assert learned.arrivals(robots=6).count == 6
    assert learned.arrivals(robots_in_log=8).page_rate(8) == pytest.approx(arrivals.page_rate(4))
    with pytest.raises(InputError, match="robots must be at least the fetches under way"):
        learned.arrivals(robots_in_log=3)
    answer = json.loads(json.dumps(result.to_json(), allow_nan=False))["robots"]
    assert answer["in_flight"]["most"] == 4
    assert answer["spells"]["found"]
    assert answer["evidence"]["preferred"]


def test_the_command_writes_robots_that_fetch(log, tmp_path, capsys):
    out = tmp_path / "s.toml"
    words = ["fit", str(log), "--model", "poisson", "--no-replay", "--json", "--out", str(out)]
    assert main([*words, "--arrivals", "auto", "--max-robots", "5"]) == 0
    scenario = Scenario.read(out)
    assert scenario.arrivals.kind == "fetching"
    assert scenario.arrivals.count == 5
    assert scenario.policy.robots == (4,)
    assert json.loads(capsys.readouterr().out)["scenario"] == scenario.to_mapping()


def test_a_plan_uses_robots_that_fetch(log):
    """Where they win: the scenario, what fewer robots bring, today, and redraws of the log have them."""
    found = fit(log, options=QUICK)
    settings = with_robots_of_log(found, PlanSettings(capacity=3, service_mean=0.2))
    assert (settings.robots, settings.from_log) == (4, {"robots", "robots_in_log"})
    scenario = scenario_of(found, settings)
    assert scenario.arrivals.kind == "fetching"
    today = as_logged(found, scenario, settings).rates()[0, 0]
    assert today == pytest.approx(found.numbers["page_rate"].value, rel=0.03)
    # By an independent road: each table of robots by level is a policy that `solve` knows.
    tables = np.array([[4, 4, 4, 4], [4, 4, 1, 1]])
    for row, policy in zip(rates_of_levels(scenario, tables), ("4", "4,1@1"), strict=True):
        solved = solve(scenario.replace(policy=ThresholdPolicy.from_text(policy)))
        assert row[0] == pytest.approx(solved.measures["arrival_rate"], rel=1e-9)
    drawn = [robot_model(found, settings).redrawn(4, np.random.default_rng(k)).page_rate(4) for k in range(20)]
    assert np.mean(drawn) == pytest.approx(found.numbers["page_rate"].value, rel=0.1)
    assert 0.005 < np.std(drawn) / np.mean(drawn) < 0.15
    others = [
        replace(settings, fetches_per_robot=2),
        replace(settings, robots_in_log=8),
        replace(settings, control="thinned"),
    ]
    assert [scenario_of(found, one).arrivals.kind for one in others] == ["thinned"] * 3


def test_a_log_without_durations_refuses_robots(tmp_path, capsys):
    path = tmp_path / "times"
    path.write_text("\n".join(f"{t:.6f}" for t in 1.5e9 + np.cumsum(np.random.default_rng(1).exponential(size=200))))
    assert main(["fit", str(path), "--arrivals", "fetching", "--model", "poisson", "--no-replay"]) == 2
    assert "robots that fetch need the durations of the fetches" in capsys.readouterr().err
    assert main(["fit", str(path), "--arrivals", "auto", "--model", "poisson", "--no-replay"]) == 0
