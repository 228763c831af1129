"""The verdict on a plan, today beside it, and where the cost comes from."""

import math
from types import SimpleNamespace

import pytest

from analytic import solve
from crawltwin.model import CostWeights, examples
from crawltwin.model.rates import Rates
from crawltwin.pages.plan import _choice
from crawltwin.plan.choosing import Limited
from crawltwin.plan.evidence.resampling import Spread
from crawltwin.plan.evidence.today import compared, cost_terms, decides_alone, fewer_pages
from crawltwin.plan.evidence.verdict import PlanVerdict
from crawltwin.plan.limits import IndexWithin, Limits
from crawltwin.plan.result import Plan
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.what_if.assumed import AssumedPoint, Assumption
from crawltwin.plan.wording import in_percent

LOG = {"counted": False, "season": None, "modes": None, "batches": SimpleNamespace(segments=None)}
POOR = SimpleNamespace(verdict="poor", words=("no dependence is left", "tails differ"), faults=("tails differ",))


MEASURES = solve(examples.load("paper")).measures


def _replayed(open_by=0.001, **words):
    """A replay with these verdicts on its numbers; a longer log would give what is solved, plus or minus `open_by`."""
    found = [
        SimpleNamespace(
            measure=name,
            verdict=SimpleNamespace(
                word=word,
                low=MEASURES[name] - open_by,
                high=MEASURES[name] + open_by,
                comparison=SimpleNamespace(solved=MEASURES[name]),
            ),
        )
        for name, word in words.items()
    ]
    return SimpleNamespace(predictions=found)


def _limited(**limits):
    return SimpleNamespace(kept=True, limits=Limits(**limits))


def _doubt(**changes):
    parts = {"limits": None, "share": 1.0, "regret_high": 0.0, "cost": Spread(60.0)}
    return SimpleNamespace(**(parts | changes))


def _plan(**changes) -> Plan:
    """A plan of which only the parts that the verdict looks at are there."""
    good = SimpleNamespace(verdict="good", words=("as it should be",))
    parts = {
        "fit": SimpleNamespace(goodness=good, **LOG),
        "scenario": SimpleNamespace(
            capacity=20, arrivals=SimpleNamespace(kind="thinned"), cost=examples.load("paper").cost
        ),
        "solution": SimpleNamespace(measures=MEASURES),
        "settings": PlanSettings(robots=4, lose_at_most=0.01),
        "limited": _limited(lose_at_most=MEASURES["loss_probability"] + 0.01),
        "check": SimpleNamespace(verdict="equivalent"),
        "replay": _replayed(arrival_rate="equivalent", loss_probability="inconclusive"),
        "doubt": _doubt(),
        "assumed": (),
    }
    found = object.__new__(Plan)
    for name, value in (parts | changes).items():
        object.__setattr__(found, name, value)
    return found


def test_nothing_missing_and_nothing_against_it():
    verdict = _plan().verdict
    assert (verdict.word, verdict.exit_code) == ("TRUSTED", 0)
    assert "solved and simulated agree" in verdict.in_words()
    # What is inconclusive is not called a check.
    assert "agrees with the model in deliveries, and the choice does not hang on losses" in verdict.in_words()


def test_one_number_that_agrees_is_not_enough():
    wide = _replayed(open_by=0.05, arrival_rate="equivalent", loss_probability="inconclusive")
    verdict = _plan(replay=wide).verdict
    assert verdict.word == "PROVISIONAL"
    assert "the log is too short to check losses by replaying it" in verdict.in_words()


@pytest.mark.parametrize(
    ("limits", "measure", "word"),
    [
        # What has no part in the choice may stay open.
        ({"lose_at_most": 0.9}, "starvation_probability", "TRUSTED"),
        ({"lose_at_most": 0.9}, "mean_sojourn_served", "TRUSTED"),
        ({"lose_at_most": 0.9}, "loss_probability", "TRUSTED"),
        # What is made small, or stands behind another limit, may not.
        ({"lose_at_most": 0.9, "minimise": "starvation"}, "starvation_probability", "PROVISIONAL"),
        ({"index_within": IndexWithin(60.0, 0.9)}, "mean_sojourn_served", "PROVISIONAL"),
        ({"index_at_least": 0.9}, "loss_probability", "PROVISIONAL"),
        ({"lose_at_most": 0.9}, "arrival_rate", "PROVISIONAL"),
    ],
)
def test_a_plan_is_trusted_where_the_numbers_that_decide_are_settled(limits, measure, word):
    numbers = {"arrival_rate": "equivalent"} | {measure: "inconclusive"}
    assert _plan(replay=_replayed(**numbers), limited=_limited(**limits)).verdict.word == word


@pytest.mark.parametrize(("loss", "word"), [(0.0, "TRUSTED"), (5.0, "TRUSTED"), (500.0, "PROVISIONAL")])
def test_with_weights_an_open_number_may_move_the_cost_by_a_tenth(loss, word):
    """The loss is open by 0.05: the cost moves by its weight times the arrival rate times 0.05."""
    cost = CostWeights(loss=loss, obsolescence=10, response=2, robots=20, starvation=300)
    moved = loss * MEASURES["arrival_rate"] * 0.05 / Rates.from_measures(MEASURES).cost(cost)
    assert (moved > 0.1) == (word == "PROVISIONAL")
    found = _plan(
        limited=None,
        settings=PlanSettings(robots=4, cost=cost),
        scenario=SimpleNamespace(capacity=20, arrivals=SimpleNamespace(kind="thinned"), cost=cost),
        replay=_replayed(open_by=0.05, arrival_rate="equivalent", loss_probability="inconclusive"),
    )
    assert found.verdict.word == word


def test_a_contradiction_in_a_number_that_does_not_decide_is_not_passed_over():
    verdict = _plan(replay=_replayed(arrival_rate="equivalent", mean_pages="different")).verdict
    assert verdict.word == "PROVISIONAL"
    assert "contradicts the model in the backlog" in verdict.in_words()


def test_a_contradiction_in_what_has_a_weight_speaks_against_the_plan():
    numbers = _replayed(arrival_rate="equivalent", starvation_probability="different")
    assert _plan(replay=numbers, limited=_limited(lose_at_most=0.9, minimise="cost")).verdict.word == "NOT TRUSTED"


@pytest.mark.parametrize(
    ("doubt", "reason"),
    [
        ({"limits": Limits(lose_at_most=0.1), "share": 0.5}, "the limits are kept on only 50% of the resampled traces"),
        ({"regret_high": 12.0}, "in one of twenty resampled traces this one costs more than 20% above the best"),
    ],
)
def test_resampled_traces_that_leave_the_decision_open(doubt, reason):
    verdict = _plan(doubt=_doubt(**doubt)).verdict
    assert verdict.word == "PROVISIONAL"
    assert reason in verdict.in_words()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"fit": SimpleNamespace(goodness=POOR, **LOG)},
            "the model fits the log poorly (tails differ)",
        ),
        ({"check": SimpleNamespace(verdict="different")}, "the simulation gives other numbers"),
        (
            {"replay": _replayed(loss_probability="different")},
            "the replayed log lies outside what the model predicts (losses)",
        ),
        (
            {
                "replay": _replayed(loss_probability="different"),
                "fit": SimpleNamespace(
                    goodness=SimpleNamespace(verdict="good"), **{**LOG, "season": SimpleNamespace(possible="a pace")}
                ),
            },
            "predicts (losses): it swings, perhaps with the time of day, and the model has the mean rate only",
        ),
    ],
)
def test_what_speaks_against_a_plan(changes, reason):
    verdict = _plan(**changes, assumed=(SimpleNamespace(matters=True, in_words=lambda: "a number is missing"),)).verdict
    assert (verdict.word, verdict.exit_code) == ("NOT TRUSTED", 1)
    assert reason in verdict.in_words()
    assert "a number is missing" not in verdict.in_words()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"assumed": (SimpleNamespace(matters=True, in_words=lambda: "the indexing time is assumed"),)},
            "indexing time",
        ),
        ({"settings": PlanSettings(lose_at_most=0.01)}, "number of robots was not given"),
        ({"settings": PlanSettings(robots=4), "limited": None}, "neither limits"),
        ({"check": SimpleNamespace(verdict="inconclusive")}, "too short to check the solved numbers"),
        ({"replay": _replayed(arrival_rate="inconclusive")}, "too short to check deliveries by replaying it"),
        ({"limiting": ("the rate swings by 60% over the day",)}, "the rate swings by 60% over the day"),
        ({"replay": None}, "not replayed"),
        ({"doubt": None}, "uncertainty"),
        ({"settings": PlanSettings(robots=4, lose_at_most=0.01, quick=True)}, "a first look"),
    ],
)
def test_what_makes_a_plan_provisional(changes, reason):
    verdict = _plan(**changes).verdict
    assert (verdict.word, verdict.exit_code) == ("PROVISIONAL", 0)
    assert reason in verdict.in_words()


@pytest.mark.parametrize(("losses", "word"), [("inconclusive", "PROVISIONAL"), ("equivalent", "TRUSTED")])
def test_fetching_robots_in_place_of_a_poor_stream_are_trusted_only_where_the_replay_confirms_losses(losses, word):
    found = _plan(
        fit=SimpleNamespace(goodness=POOR, **LOG),
        scenario=SimpleNamespace(
            arrivals=SimpleNamespace(kind="fetching"), capacity=20, cost=examples.load("paper").cost
        ),
        replay=_replayed(arrival_rate="equivalent", loss_probability=losses),
    )
    assert found.verdict.word == word
    assert ("a stream that fits the log poorly (tails differ)" in found.verdict.in_words()) == (word == "PROVISIONAL")


def test_only_numbers_that_contradict_the_model_are_named():
    numbers = _replayed(arrival_rate="equivalent", loss_probability="different", mean_pages="different")
    assert _plan(replay=numbers).verdict.in_words().endswith("predicts (losses).")


@pytest.mark.parametrize(
    ("policies", "losses", "word", "said"),
    [
        (("4,1@3", "4,1@3"), (0.02, 0.025), "TRUSTED", ""),
        (
            ("4,1@3", "4,1@3"),
            (0.0, 0.4),
            "PROVISIONAL",
            "from 1 s to 9 s, but between 0% and 40% of the pages",
        ),
        (
            ("4,1@3", "4,1@0"),
            (0.02, 0.02),
            "PROVISIONAL",
            "and the policy changes from 1 s to 9 s: give --service-mean",
        ),
    ],
)
def test_a_number_on_which_neither_policy_nor_losses_hang_is_not_missing(policies, losses, word, said):
    points = zip(("1 s", "9 s"), policies, losses, strict=True)
    assumed = Assumption(
        "the indexing time",
        "--service-mean",
        "3 s",
        "",
        tuple(AssumedPoint(value, policy, {"loss_probability": lost}) for value, policy, lost in points),
    )
    verdict = _plan(assumed=(assumed,)).verdict
    assert verdict.word == word
    assert said in verdict.in_words()


def test_a_verdict_against_a_plan_leaves_what_is_missing_to_the_warnings_and_says_nothing_twice():
    poor = SimpleNamespace(verdict="poor", faults=("tails differ", "the clock is coarse; the rate steps"))
    found = _plan(
        fit=SimpleNamespace(goodness=poor, **LOG),
        limiting=("the rate steps", "the clock is coarse"),
        settings=PlanSettings(lose_at_most=0.01),
        today=SimpleNamespace(measures=MEASURES),
        remarks=(),
        doubt=None,
    )
    assert found.verdict.in_words() == "NOT TRUSTED: the model fits the log poorly (tails differ)."
    assert found.warnings[:2] == ("The rate steps.", "The clock is coarse.")
    assert "number of robots was not given" in found.warnings[2]


def test_limits_that_nobody_keeps_say_what_the_nearest_policy_does():
    limits = Limits(lose_at_most=0.0, index_within=IndexWithin(60.0, 0.9), index_at_least=0.9)
    limited = Limited(limits, kept=False, compared=10, keeping=0, in_time=0.75)
    today = dict(MEASURES) | {"arrival_rate": 2 * MEASURES["arrival_rate"]}
    verdict = _plan(limited=limited, today=SimpleNamespace(measures=today)).verdict
    lost = in_percent(MEASURES["loss_probability"])
    assert verdict.word == "NOT TRUSTED"
    assert (
        f"the nearest one loses {lost} of the pages, indexes 75% of the indexed pages within 60 s and indexes 50% of "
        "the pages that are indexed today"
    ) in verdict.in_words()


def test_the_terms_of_the_cost_add_up():
    scenario = examples.load("paper")
    measures = solve(scenario).measures
    terms = cost_terms(measures, scenario.cost)
    assert sum(term.cost for term in terms) == pytest.approx(measures["cost"], rel=1e-12)
    assert sum(term.share for term in terms) == pytest.approx(1)
    assert terms[0].cost == max(term.cost for term in terms)


def test_a_term_that_decides_alone_is_named():
    measures = solve(examples.load("paper")).measures
    assert decides_alone(cost_terms(measures, CostWeights(loss=5, obsolescence=10, robots=20, starvation=300))) == ""
    words = decides_alone(cost_terms(measures, CostWeights(loss=0.001, starvation=3000)))
    assert words.startswith("One term decides alone: 100% of the cost comes from an idle indexer")


def test_today_beside_the_plan():
    plan = solve(examples.load("paper")).measures
    today = dict(plan) | {"loss_probability": 0.5, "success_probability": 0.25, "arrival_rate": 8.0}
    lines = {
        line.question.words: line for line in compared(today, plan, {"loss_probability": Spread(0.5, 0.4, 0.6)}, {})
    }
    assert lines["pages lost"].shown(lines["pages lost"].today) == "50% (40 to 60)"
    assert not lines["pages lost"].recommended.known
    assert lines["indexer busy"].recommended.value == pytest.approx(1 - plan["starvation_probability"])
    assert lines["pages indexed"].today.value == 2.0
    assert math.isnan(lines["pages indexed"].today.low)


def test_both_sides_of_a_line_have_one_unit():
    plan = solve(examples.load("paper")).measures
    lines = compared(dict(plan) | {"arrival_rate": 1.0}, dict(plan) | {"arrival_rate": 0.8}, {}, {})
    line = next(one for one in lines if one.question.words == "pages delivered")
    assert line.shown(line.today) == "3,600 pages per hour"
    assert line.shown(line.recommended) == "2,880 pages per hour"


def test_all_rates_of_the_comparison_have_one_unit():
    plan = dict(solve(examples.load("paper")).measures) | {"arrival_rate": 1.5, "success_probability": 0.5}
    lines = {one.question.words: one for one in compared(plan, plan, {}, {})}
    shown = [line.shown(line.today) for words, line in lines.items() if words in ("pages delivered", "pages indexed")]
    assert shown == ["5,400 pages per hour", "2,700 pages per hour"]


def test_a_policy_that_indexes_far_fewer_pages_says_so():
    plan = solve(examples.load("paper")).measures
    lines = compared(dict(plan) | {"arrival_rate": 10 * plan["arrival_rate"]}, plan, {}, {})
    assert "the policy indexes 90% fewer than today" in fewer_pages(lines)
    assert fewer_pages(compared(plan, plan, {}, {})) == ""


def test_the_verdict_as_json():
    verdict = PlanVerdict.of((), ("a", "b"), ())
    assert verdict.to_json() == {"word": "PROVISIONAL", "reasons": ["a", "b"], "exit_code": 0}


def test_the_cost_of_policies_by_part_is_not_that_of_the_single_one():
    best = SimpleNamespace(cost=20.783, robots=(2, 1), policy=SimpleNamespace(short="2,1@0"))
    found = _plan(
        limited=None,
        certificate=None,
        optimum=SimpleNamespace(best=best, profit=0.4),
        day=SimpleNamespace(worth_it=True),
        solution=SimpleNamespace(measures={"cost": 19.66}),
    )
    words = "Over the day the policies by part cost 19.66. The best single policy `2,1@0` costs 20.78, 0.4% below"
    assert _choice(found).startswith(words)
