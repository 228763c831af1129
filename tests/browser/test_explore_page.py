"""The page to explore, in a browser: the winner at moved weights and limits is the one that the solver names."""

import dataclasses
import json

import numpy as np
import pytest

from analytic import optimize, solve
from crawltwin.model import CostWeights, LevelPolicy, ThresholdPolicy, examples
from crawltwin.model.policies.policy_file import PolicyFile
from crawltwin.model.rates import Rates
from crawltwin.pages.explore import explore_page
from crawltwin.plan.choosing import choose_within
from crawltwin.plan.limits import IndexWithin, Limits
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.what_if import explored
from crawltwin.plan.what_if.explored import explored_policies
from tests.browser.page_checks import check_accessible, check_fits, check_quiet

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def optimum():
    return optimize(examples.load("paper").replace(capacity=8, policy=None))


@pytest.fixture(scope="module")
def path(optimum, tmp_path_factory):
    page = tmp_path_factory.mktemp("explore") / "explore.html"
    page.write_text(explore_page(explored_policies(optimum)), encoding="utf-8")
    return page


def _winner(opened):
    return opened.page.get_attribute("#winner", "data-policy"), float(
        opened.page.get_attribute("#winner", "data-cost") or "nan"
    )


def _short(item):
    return item.policy.short


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
    measures = Rates.from_table(optimum.rates).measures()
    bound = float(np.quantile(measures["mean_active_robots"], 0.2))
    opened.page.fill("#l-robots", repr(bound))
    allowed = np.flatnonzero(measures["mean_active_robots"] <= bound)
    best = allowed[np.argmin(optimum.costs[allowed])]
    name, cost = _winner(opened)
    assert name == LevelPolicy(optimum.tables[best].tolist()).short
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


@pytest.mark.parametrize(("width", "height"), [(1300, 900), (390, 700), (390, 480)])
def test_what_has_the_focus_is_never_under_the_answer(browser, path, width, height):
    context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
    page = context.new_page()
    page.goto(path.resolve().as_uri())
    reached = set()
    for key in ("Tab", "Shift+Tab"):
        for _ in range(30):
            page.keyboard.press(key)
            name, places = page.evaluate(
                """() => { const own = document.activeElement, answer = document.getElementById('winner').parentElement;
                const free = getComputedStyle(answer).position === 'sticky' ? answer.getBoundingClientRect().bottom : 0;
                const box = own.getBoundingClientRect();
                return [own.id, own.matches('input, select, button') ? [free, box.top, box.bottom] : null]; }"""
            )
            assert places is None or places[0] <= places[1] + 1 < places[2] <= height + 1, (key, name, places)
            reached.add(name)
    assert {"w-loss", "s-loss", "l-lost", "v-indexing", "reset", "save-policy", "axis-y"} <= reached
    context.close()


def test_the_front_and_the_backlog_follow(open_page, path, optimum):
    opened = open_page(path)
    solved = solve(optimum.scenario.replace(policy=ThresholdPolicy(optimum.best.robots, optimum.best.thresholds)))
    masses = solved.measures["level_distribution"]
    words = opened.page.text_content("#levels desc")
    assert f"Most often {int(np.argmax(masses))} pages" in words
    assert opened.page.locator("#levels rect").count() >= len(masses)
    # Independent count of the front.
    measures = Rates.from_table(optimum.rates).measures()
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


def test_what_is_no_weight_is_refused(open_page, path, optimum):
    opened = open_page(path)
    opened.page.fill("#w-loss", "-5")
    assert opened.page.get_attribute("#w-loss", "aria-invalid") == "true"
    assert "must be a number from 0 up" in opened.page.inner_text("#refused")
    assert _winner(opened)[0] == _short(optimum.best)  # nothing was computed with it
    opened.page.fill("#w-loss", "5")
    assert opened.page.is_hidden("#refused")


def test_where_no_policy_keeps_the_limits_the_nearest_is_shown(open_page, path, optimum):
    opened = open_page(path)
    measures = Rates.from_table(optimum.rates).measures()
    lost, robots = measures["loss_probability"], measures["mean_active_robots"]
    bound = float(lost.min()) / 2
    opened.page.fill("#l-lost", repr(100 * bound))
    opened.page.fill("#l-robots", "1.2")
    # Nearest: the largest relative excess is the smallest, as a plan with limits counts it.
    excess = np.maximum(np.maximum(lost / bound - 1, robots / 1.2 - 1), 0)
    at = np.lexsort((optimum.costs, excess.round(12)))[0]
    name = LevelPolicy(optimum.tables[at].tolist()).short
    words = opened.page.inner_text("#winner")
    assert f"Nearest is {name}: Run" in words
    least = f"of all policies the least is {100 * lost.min():.4g}%."
    assert f"Pages lost: {100 * lost[at]:.4g}%, at most {100 * bound:.4g}% is asked for; {least}" in words
    assert opened.page.get_attribute("#winner", "data-policy") == ""  # nothing is recommended
    assert opened.page.is_disabled("#save-policy")
    assert opened.page.inner_text("#best-head") == "nearest now"
    for picture, shapes in (("levels", "rect"), ("front", "circle.all")):
        assert opened.page.locator(f"#{picture} {shapes}").count() > 5
        assert "none keeps the limits" in (told := opened.page.inner_text("#levels-caption")), told
    opened.page.click("#reset")
    opened.page.wait_for_function("!document.getElementById('save-policy').disabled")


def test_an_address_that_holds_no_numbers_shows_the_plan_and_says_so(open_page, path, optimum):
    opened = open_page(path)
    again = opened.context.new_page()
    again.goto(f"{path.resolve().as_uri()}#w-loss=-5&l-lost=NaN&w-robots=1e999&w-response=%3Cscript%3E&axis-x=no&a=1")
    assert again.get_attribute("#winner", "data-policy") == _short(optimum.best)
    assert again.input_value("#w-robots") == "20"
    words = again.inner_text("#refused")
    for label in ("Weight of a lost page", "At most: pages lost, %", "Weight of an active robot", "Across"):
        assert label in words
    again.evaluate("location.hash = '#l-lost=30'")
    again.evaluate("location.hash = '#w-robots=100'")
    again.wait_for_function("document.getElementById('w-robots').value === '100'")
    assert again.input_value("#l-lost") == ""  # only what the address holds
    again.go_back()
    again.wait_for_function("document.getElementById('l-lost').value === '30'")
    assert again.input_value("#w-robots") == "20"


def test_letters_of_the_pictures_are_as_large_on_a_phone(open_page, path):
    for width in (390, 1300):
        opened = open_page(path, width=width)
        sizes = opened.page.eval_on_selector_all(
            "#front text, #levels text", "all => all.map(t => t.getBoundingClientRect().height)"
        )
        assert min(sizes) > 11


def test_a_plan_of_limits_begins_with_its_limits(open_page, optimum, tmp_path):
    rates = optimum.rates[np.flatnonzero((optimum.tables == 4).all(axis=1))]
    limits = Limits(lose_at_most=0.3)
    chosen, _ = choose_within(optimum, limits, rates)
    page = tmp_path / "explore.html"
    page.write_text(explore_page(explored_policies(chosen, PlanSettings(robots=4, lose_at_most=0.3))), encoding="utf-8")
    opened = open_page(page)
    assert opened.page.input_value("#l-lost") == "30"
    assert _winner(opened)[0] == _short(chosen.best)
    assert "This is the plan's policy" in opened.page.inner_text("#winner")


def test_a_plan_that_keeps_the_pace_begins_with_it(open_page, optimum, tmp_path, monkeypatch):
    # Only the cheapest policies are on the page, and the plan's, which keeps the limits, is not among them.
    monkeypatch.setattr(explored, "MOST", 40)
    today = optimum.rates[np.flatnonzero((optimum.tables == 4).all(axis=1))]
    within = IndexWithin(30.0, 0.5)
    limits = Limits(index_at_least=0.5, index_within=within)
    chosen, _ = choose_within(optimum, limits, today)
    settings = PlanSettings(robots=4, index_at_least=0.5, index_within=within)
    indexed = float(Rates.from_table(today).served[0])
    page = tmp_path / "explore.html"
    page.write_text(explore_page(explored_policies(chosen, settings, indexed_today=indexed)), encoding="utf-8")
    opened = open_page(page)
    assert opened.page.input_value("#l-indexed") == "50"
    assert _winner(opened)[0] == _short(chosen.best)
    assert "had to index 50% of the indexed pages within 30 s, which is not checked here" in opened.page.inner_text(
        "header"
    )
    served = Rates.from_table(chosen.rates[(chosen.tables == chosen.best.policy.robots_by_level(8)).all(axis=1)]).served
    assert f"{100 * served[0] / indexed:.4g}% of today's" in opened.page.inner_text("#measures")
    opened.page.fill("#l-indexed", "500")
    assert "at least 500% of today's is asked for; of all policies the most is" in opened.page.inner_text("#winner")
    check_accessible(opened)


def test_sliders_speak_their_values(open_page, path):
    opened = open_page(path)
    assert opened.page.get_attribute("#s-starvation", "aria-valuetext") == "weight 300, 1 times the plan's"
    opened.page.focus("#s-starvation")
    for _ in range(25):
        opened.page.keyboard.press("ArrowRight")
    assert opened.page.get_attribute("#s-starvation", "aria-valuetext") == "weight 3000, 10 times the plan's"


def test_the_address_keeps_what_was_set(open_page, path):
    opened = open_page(path)
    opened.page.fill("#w-robots", "100")
    opened.page.fill("#l-lost", "40")
    opened.page.select_option("#v-indexing", "2")
    name, address = _winner(opened), opened.page.url
    assert address.endswith("#w-robots=100&l-lost=40&v-indexing=2")
    again = opened.context.new_page()
    again.goto(address)
    assert again.input_value("#l-lost") == "40"
    assert (again.get_attribute("#winner", "data-policy"), float(again.get_attribute("#winner", "data-cost"))) == name
    opened.page.click("#reset")
    opened.page.wait_for_function("location.hash === ''")


def test_the_link_to_the_answer_keeps_what_was_set(open_page, path):
    opened = open_page(path)
    opened.page.fill("#w-robots", "100")
    before, address = _winner(opened), opened.page.url
    opened.page.focus("a.skip")
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_function("document.activeElement.id === 'winner-head' && location.hash !== '#winner-head'")
    assert (opened.page.input_value("#w-robots"), _winner(opened), opened.page.url) == ("100", before, address)


@pytest.mark.parametrize(("indexing", "staleness"), [(2.0, 1.0), (1.0, 0.5), (0.7, 2.0)])
def test_other_speeds_give_the_winner_of_optimize(open_page, path, optimum, indexing, staleness):
    opened = open_page(path)
    assert opened.page.locator("#v-indexing option").all_inner_texts()[-1] == "2 times as fast"
    opened.page.select_option("#v-indexing", f"{indexing:g}")
    opened.page.select_option("#v-staleness", f"{staleness:g}")
    own = optimum.scenario
    changed = own.replace(service=own.service.scaled(indexing), obsolescence=own.obsolescence.scaled(staleness))
    best = optimize(changed).best
    name, cost = _winner(opened)
    assert name == _short(best)
    assert cost == pytest.approx(best.cost, rel=1e-4)  # five digits are embedded
    opened.page.click("#reset")
    opened.page.wait_for_function("document.getElementById('v-indexing').value === '1'")


def test_the_policy_and_the_table_can_be_saved(open_page, path, optimum, tmp_path):
    opened = open_page(path)
    found = {}
    for button in ("save-policy", "save-table", "save-json"):
        with opened.page.expect_download() as download:
            opened.page.click(f"#{button}")
        download.value.save_as(tmp_path / button)
        found[button] = (tmp_path / button).read_text()
    policy = json.loads(found["save-policy"])
    assert tuple(policy["table"]) == optimum.best.policy.robots_by_level(8)
    assert PolicyFile.of(policy).policy.short == _short(optimum.best)  # a crawler can obey what was saved
    rows = json.loads(found["save-json"])
    assert found["save-table"].count("\n") == len(rows) + 1
    assert rows[0]["policy"] == _short(optimum.best)
    # Every number has its unit in the name of its column: shares are shares, times are seconds.
    solved = solve(optimum.scenario.replace(policy=optimum.best.policy))
    assert rows[0]["lost_share"] == pytest.approx(solved["loss_probability"], rel=1e-4)
    assert rows[0]["seconds_in_system"] == pytest.approx(solved["mean_sojourn_served"], rel=1e-4)
    assert rows[0]["delivered_pages_per_second"] == pytest.approx(solved["arrival_rate"], rel=1e-4)
    assert found["save-table"].splitlines()[0].split(",") == list(rows[0])
    assert opened.page.get_attribute("header a", "href") == "report.html"


def test_boxes_show_few_digits_and_the_plan_counts_to_its_last_bit(open_page, optimum, tmp_path):
    third = dataclasses.replace(optimum.scenario.cost, loss=100 / 3)
    own = optimize(optimum.scenario.replace(cost=third))
    page = tmp_path / "explore.html"
    page.write_text(explore_page(explored_policies(own)), encoding="utf-8")
    opened = open_page(page)
    assert opened.page.input_value("#w-loss") == "33.3333"
    assert _winner(opened)[1] == pytest.approx(own.best.cost, rel=1e-12)
    opened.page.fill("#w-loss", "33.4")
    assert _winner(opened)[1] != pytest.approx(own.best.cost, rel=1e-9)
