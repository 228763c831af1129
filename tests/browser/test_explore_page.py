"""The page to explore, in a browser: the winner at moved weights and limits is the one that the solver names."""

import dataclasses

import numpy as np
import pytest

from analytic import optimize, solve
from analytic.rewards import measures_of_rates
from crawltwin.model import CostWeights, ThresholdPolicy, examples
from crawltwin.plan.explore import explore_page
from crawltwin.plan.sweep import short_policy
from crawltwin.plan.uncertainty import short_table
from tests.browser.page_checks import check_accessible, check_fits, check_quiet

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def optimum():
    return optimize(examples.load("paper").replace(capacity=8, policy=None))


@pytest.fixture(scope="module")
def path(optimum, tmp_path_factory):
    page = tmp_path_factory.mktemp("explore") / "explore.html"
    page.write_text(explore_page(optimum), encoding="utf-8")
    return page


def _winner(opened):
    return opened.page.get_attribute("#winner", "data-policy"), float(
        opened.page.get_attribute("#winner", "data-cost") or "nan"
    )


def _short(item):
    return short_policy({"robots": item.robots, "thresholds": item.thresholds})


def test_quiet_accessible_and_fitting(open_page, path):
    for settings in ({}, {"width": 390}, {"dark": True}):
        opened = open_page(path, **settings)
        check_quiet(opened)
        check_accessible(opened)
        check_fits(opened)


def test_it_begins_with_the_plan(open_page, path, optimum):
    name, cost = _winner(open_page(path))
    assert name == _short(optimum.best)
    assert cost == pytest.approx(optimum.best.cost, rel=1e-12)


@pytest.mark.parametrize(
    "weights",
    [
        {"starvation": 1000},
        {"starvation": 0, "robots": 100},
        {"loss": 500, "response": 50},
        {"obsolescence": 300, "loss": 0},
        {"loss": 1, "obsolescence": 2, "response": 0.5, "robots": 3, "starvation": 90},
    ],
)
def test_moved_weights_give_the_winner_of_optimize(open_page, path, optimum, weights):
    opened = open_page(path)
    for key, weight in weights.items():
        opened.page.fill(f"#w-{key}", str(weight))
    name, cost = _winner(opened)
    held = dataclasses.asdict(optimum.scenario.cost) | weights
    again = optimize(optimum.scenario.replace(cost=CostWeights(**held))).best
    assert name == _short(again)
    assert cost == pytest.approx(again.cost, rel=1e-12)
    assert name in opened.page.inner_text("#winner")
    check_quiet(opened)


def test_the_weights_above_have_different_winners(optimum):
    # Otherwise moving a weight would prove nothing.
    winners = set()
    for weights in ({}, {"starvation": 1000}, {"starvation": 0, "robots": 100}, {"loss": 500, "response": 50}):
        held = dataclasses.asdict(optimum.scenario.cost) | weights
        winners.add(_short(optimize(optimum.scenario.replace(cost=CostWeights(**held))).best))
    assert len(winners) >= 3


def test_limits_leave_the_best_policy_that_keeps_them(open_page, path, optimum):
    opened = open_page(path)
    measures = measures_of_rates(optimum.rates)
    bound = float(np.quantile(measures["mean_active_robots"], 0.2))
    opened.page.fill("#l-robots", repr(bound))
    allowed = np.flatnonzero(measures["mean_active_robots"] <= bound)
    best = allowed[np.argmin(optimum.costs[allowed])]
    name, cost = _winner(opened)
    assert name == short_table(optimum.tables[best].tolist())
    assert cost == pytest.approx(float(optimum.costs[best]), rel=1e-12)
    opened.page.fill("#l-robots", "0.01")
    assert "No policy keeps these limits" in opened.page.inner_text("#winner")
    check_accessible(opened)
    opened.page.click("#reset")
    opened.page.wait_for_function("document.getElementById('winner').dataset.policy !== ''")
    assert _winner(opened)[0] == _short(optimum.best)


def test_the_slider_works_with_the_keyboard(open_page, path, optimum):
    opened = open_page(path)
    opened.page.focus("#s-starvation")
    for _ in range(25):
        opened.page.keyboard.press("ArrowRight")
    # A quarter of the slider is a factor of ten.
    assert float(opened.page.input_value("#w-starvation")) == pytest.approx(3000)
    held = dataclasses.asdict(optimum.scenario.cost) | {"starvation": 3000}
    again = optimize(optimum.scenario.replace(cost=CostWeights(**held))).best
    assert _winner(opened)[0] == _short(again)


def test_the_front_and_the_backlog_follow(open_page, path, optimum):
    opened = open_page(path)
    solved = solve(optimum.scenario.replace(policy=ThresholdPolicy(optimum.best.robots, optimum.best.thresholds)))
    masses = solved.measures["level_distribution"]
    words = opened.page.text_content("#levels desc")
    assert f"Most often {int(np.argmax(masses))} pages" in words
    assert opened.page.locator("#levels rect").count() >= len(masses)
    # Independent count of the front.
    measures = measures_of_rates(optimum.rates)
    names = ("loss_probability", "obsolescence_probability", "mean_sojourn_served", "mean_active_robots",
             "starvation_probability")  # fmt: skip
    points = np.column_stack([measures[name] for name in names])
    beaten = [((points <= row).all(axis=1) & (points < row).any(axis=1)).any() for row in points]
    count = len(points) - sum(beaten)
    assert f": {count} policies" in opened.page.inner_text("#front-caption")
    assert opened.page.locator("#front circle.front").count() == count
    before = opened.page.text_content("#front desc")
    opened.page.select_option("#axis-x", "idle")
    assert opened.page.text_content("#front desc") != before
