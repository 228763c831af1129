"""A log with a column `robots`: today is the mixture of the numbers that ran, each replayed against its own process."""

import numpy as np
import pytest

from analytic import solve
from crawltwin.cli.tables.plan import show_plan
from crawltwin.model import BMAP, ModeMatrices, Scenario, ThresholdPolicy, exponential
from crawltwin.plan.day.logged_crawl import RobotsLogged, _gathered, as_logged
from crawltwin.plan.decide import plan
from crawltwin.plan.evidence.verdict import stands_in
from crawltwin.plan.prepare import scenario_of, with_robots_of_log
from crawltwin.plan.settings import PlanSettings
from fitting import FitOptions, fit, read_log
from fitting.robots.several import shares_by_column
from validate.logs.agreement import compare_fitted_log

RATES = {1: 1.0, 2: 1.8, 4: 3.2}
"""Pages per second of each number of robots."""
PAGES = 500
"""Pages that each number brings before the next one runs."""
SERVICE = 0.4
QUICK = FitOptions(methods=("poisson",), repetitions=20, refits=0)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Poisson pages of 1, 2 and 4 robots in turn, eight times."""
    rng = np.random.default_rng(5)
    robots = np.tile(np.repeat([*RATES], PAGES), 8)
    times = 1.7e9 + np.cumsum(rng.standard_exponential(robots.size) / np.array([RATES[r] for r in robots.tolist()]))
    path = tmp_path_factory.mktemp("robots") / "pages.csv"
    rows = [f"{time:.6f},{number}" for time, number in zip(times.tolist(), robots.tolist(), strict=True)]
    path.write_text("\n".join(["time,robots", *rows]) + "\n")
    return read_log(path)


@pytest.fixture(scope="module")
def fitted(log):
    """The log, fitted."""
    return fit(log, options=QUICK)


@pytest.fixture(scope="module")
def settings(fitted):
    """With the robots of the log."""
    return with_robots_of_log(fitted, PlanSettings(capacity=10, service_mean=SERVICE))


def mixture(scenarios, shares):
    """Deliveries, share lost and mean robots of solved scenarios that hold for these shares of the time."""
    found = [solve(one).measures for one in scenarios]
    pages = [share * one["arrival_rate"] for share, one in zip(shares, found, strict=True)]
    lost = sum(rate * one["loss_probability"] for rate, one in zip(pages, found, strict=True)) / sum(pages)
    robots = sum(share * one["mean_active_robots"] for share, one in zip(shares, found, strict=True))
    return sum(pages), lost, robots


def test_today_is_the_mixture_of_the_numbers_that_ran(fitted, settings):
    """Beside the truth: each number brought as many pages, so it ran for a share as 1 over its rate."""
    today = as_logged(fitted, scenario_of(fitted, settings), settings)
    own = today.solution().measures
    told = [own[name] for name in ("arrival_rate", "loss_probability", "mean_active_robots")]
    shares = [part.share for part in today.parts]
    assert told == pytest.approx(mixture(today.scenarios, shares), rel=1e-9)
    row = today.rates()[0]
    assert row[0] == pytest.approx(told[0], rel=1e-9)
    every = [
        Scenario(
            capacity=10,
            arrivals=ModeMatrices({number: BMAP([[[-rate]], [[rate]]])}),
            service=exponential(SERVICE),
            policy=ThresholdPolicy([number]),
        )
        for number, rate in RATES.items()
    ]
    slowness = np.array([1 / rate for rate in RATES.values()])
    deliveries, lost, robots = mixture(every, (slowness / slowness.sum()).tolist())
    # 12,000 pages: their rate is known to 1%, what is lost to some percent.
    assert told[0] == pytest.approx(deliveries, rel=0.03)
    assert told[1] == pytest.approx(lost, rel=0.12)
    assert told[2] == pytest.approx(robots, rel=0.03)


def test_each_number_is_replayed_against_its_own_process(log, fitted, settings):
    """Its own stretches, all of them as they were written, agree with it in their deliveries."""
    today = as_logged(fitted, scenario_of(fitted, settings), settings)
    pieces = today.by_number(log)
    assert [*pieces] == [*RATES]
    assert sum(keep(log.seconds).astype(int) for _, keep in pieces.values()).tolist() == [1] * len(log)
    for number, (scenario, keep) in pieces.items():
        found = compare_fitted_log(fitted, scenario, recorded_robots=number, keep=keep)
        assert found.pages == pytest.approx(8 * PAGES, rel=0.01)
        assert found.trusted, number


def test_changes_that_the_robots_explain_are_no_changes(fitted):
    """Neither a period nor another rate in the end: the number of robots tells both."""
    assert (fitted.stationarity.changed, fitted.stationarity.latest, fitted.stationarity.words) == (False, 1.0, ())


def test_the_assumed_indexer_is_busy_when_all_robots_run(fitted):
    """Not at the mean rate of a log in which fewer robots ran most of the time."""
    scenario = fitted.scenario()
    assert scenario.arrivals.mode(4).page_rate * scenario.service.mean == pytest.approx(0.8)


def test_time_by_number_of_robots_in_words(fitted, settings):
    """Shares of the time, and a clause where the numbers change faster than the buffer settles."""
    shares = shares_by_column(fitted.log, fitted.cleaning)
    assert shares == pytest.approx({1: 0.535, 2: 0.297, 4: 0.167}, abs=0.02)
    logged = RobotsLogged.of(fitted, settings)
    assert logged.in_words().startswith("as in the log: 1 robot 5")
    scenario = scenario_of(fitted, settings)
    assert stands_in(fitted, scenario) == "streams for each number of robots"
    assert logged.too_fast(scenario) == ""
    assert "changes every" in logged.too_fast(scenario.replace(service=exponential(100.0)))


def test_rare_numbers_of_robots_count_as_their_neighbours():
    """Of very many numbers, and nothing of the time is lost."""
    found = _gathered({number: 0.001 if number % 2 else 0.019 for number in range(1, 101)})
    assert len(found) == 30
    assert sum(found.values()) == pytest.approx(1.0)
    assert _gathered({1: 0.5, 4: 0.5}) == {1: 0.5, 4: 0.5}


def test_a_given_law_of_robots_begins_at_what_all_of_them_bring(fitted):
    """With --control, four robots bring what four brought, not the mean of the log."""
    own = with_robots_of_log(fitted, PlanSettings(capacity=10, service_mean=SERVICE, control="thinned"))
    assert scenario_of(fitted, own).arrivals.mode(4).page_rate == pytest.approx(RATES[4], rel=0.05)


def test_a_plan_tells_today_as_the_log_shows_it(log, capsys):
    """In the table and its intervals; the replay does not speak against the plan."""
    found = plan(
        log, PlanSettings(capacity=5, service_mean=SERVICE, redraws=10, budget=20_000, what_if=False), options=QUICK
    )
    lines = {line.question.measure: line.today for line in found.compared}
    assert lines["mean_active_robots"].value == pytest.approx(1.80, abs=0.06)
    rate = lines["arrival_rate"]
    assert rate.value == pytest.approx(12_000 / log.seconds[-1], rel=0.01)
    assert 0.9 * rate.value < rate.low < rate.high < 1.1 * rate.value
    assert "lies outside" not in found.verdict.in_words()
    assert any("each number of robots was replayed by itself" in words for words in found.replay.notes)
    show_plan(found)
    assert "as in the log: 1" in capsys.readouterr().out
