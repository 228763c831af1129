"""A model from a record: the laws that made it come back, and its predictions for other policies hold."""

import pytest

from crawltwin.live.demo.fitted import fit_record
from crawltwin.live.demo.predictions import chosen_policies, judge_all, predict, recommend, solved
from crawltwin.live.demo.settings import WEIGHTS
from crawltwin.live.measured import measure
from crawltwin.model import Scenario, ThresholdPolicy, exponential, hyperexponential
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.arrivals.spells import Spells
from crawltwin.model.errors import InputError
from tests.live.made_record import made_record
from tests.live.small_chain import solve_small_chain

ALWAYS = ThresholdPolicy([4])


def test_the_laws_that_made_the_record_come_back():
    found = fit_record(made_record(ALWAYS, 800.0, 1), 4.0)
    assert found.spells is None
    assert found.fetch.mean == pytest.approx(0.48, rel=0.06)
    assert found.service.mean == pytest.approx(0.1, rel=0.05)
    assert found.lifetime.mean == pytest.approx(1.2, rel=0.15)
    assert found.robots == 4 and found.capacity == 10
    assert found.load == pytest.approx(4 / 0.48 * 0.1, rel=0.05)


def test_slow_spells_are_found_where_there_are_some():
    record = made_record(ALWAYS, 600.0, 2, spells=(8.0, 3.0, 2.5))
    found = fit_record(record, 4.0)
    assert found.spells is not None
    assert found.spells.pace[1] == pytest.approx(1 / 2.5, rel=0.25)
    assert found.spells.shares[1] == pytest.approx(3 / 11, abs=0.1)
    assert found.arrivals.page_rate(4) == pytest.approx(record.delivered.size / 600, rel=0.03)


def test_a_record_that_is_too_short_is_refused():
    with pytest.raises(InputError, match="at least 100 pages"):
        fit_record(made_record(ALWAYS, 5.0, 1))


@pytest.mark.parametrize("policy", [ThresholdPolicy([4, 1], [2]), ThresholdPolicy([4, 2], [4], resume=[1])])
def test_the_laws_come_back_from_a_crawl_under_control_too(policy):
    found = fit_record(made_record(policy, 1200.0, 1), 4.0)
    assert found.robots == 4
    assert found.fetch.mean == pytest.approx(0.48, rel=0.06)
    assert found.service.mean == pytest.approx(0.1, rel=0.05)
    assert found.pause == pytest.approx(0.0, abs=0.01)


def test_predictions_from_one_crawl_hold_for_five_policies():
    """The bar's measures within 10% or their intervals of 95%: more than two misses of fifteen would be a fault."""
    fitted = fit_record(made_record(ALWAYS, 800.0, 11), 4.0)
    recommended = recommend(fitted, WEIGHTS, _solver)
    policies = chosen_policies(recommended, 4, 10, 1.0)
    assert len(set(policies)) == 5 and recommended in policies
    predictions = predict(fitted, policies, WEIGHTS, _solver)
    seen = [measure(made_record(policy, 400.0, 50 + k), 4.0, weights=WEIGHTS) for k, policy in enumerate(policies)]
    judged = judge_all(predictions, seen, 0.1, 0.95)
    misses = [
        (found.prediction.policy.short, name)
        for found in judged
        for name in ("mean_pages", "obsolescence_probability", "mean_active_robots")
        if not found.within(name, 0.1, 0.95)
    ]
    assert len(misses) <= 2, misses
    assert all(one.word != "different" for found in judged for one in found.verdicts)


@pytest.mark.parametrize("short", ["4", "4,1@2", "4,2,1@2,5/0,3", "4,1@3:0.7", "4,1@5/1:0.7"])
@pytest.mark.parametrize("spells", [None, Spells([[-0.2, 0.2], [0.5, -0.5]], [1.0, 0.4])], ids=["steady", "spells"])
def test_the_chain_says_what_the_small_chain_says(short, spells):
    scenario = Scenario(
        capacity=8,
        arrivals=FetchingRobots(4, hyperexponential([0.7, 0.3], [3.0, 1.0]), spells=spells),
        service=hyperexponential([0.4, 0.6], [20.0, 6.0]),
        obsolescence=exponential(1.2),
        policy=ThresholdPolicy.from_text(short),
        cost=WEIGHTS,
    )
    found, small = solved(scenario), solve_small_chain(scenario)
    for name in ("mean_pages", "mean_active_robots", "mean_fetches", "switch_rate", "obsolescence_probability"):
        assert found[name] == pytest.approx(float(small[name]), rel=1e-9, abs=1e-12), name


def test_a_wrong_prediction_is_told():
    """Robots that stop at once, as the paper has them, are another model: the verdict says so."""
    record = made_record(ThresholdPolicy([4, 1], [2]), 1000.0, 5, latencies=((1.0, 0.48),))
    fitted = fit_record(made_record(ALWAYS, 1000.0, 12, latencies=((1.0, 0.48),)), 4.0)
    wrong = predict(fitted, [ThresholdPolicy([4, 1], [4])], WEIGHTS, _solver)
    words = {one.word for one in judge_all(wrong, [measure(record, 4.0, weights=WEIGHTS)], 0.05, 0.95)[0].verdicts}
    assert "different" in words


def _solver(scenario):
    measures = dict(solve_small_chain(scenario))
    return measures | {"cost": _cost(measures, scenario.cost)}


def _cost(measures, weights):
    """The cost without its response time, which the small chain does not give."""
    pages = measures["arrival_rate"]
    return (
        weights.loss * pages * measures["loss_probability"]
        + weights.obsolescence * pages * measures["obsolescence_probability"]
        + weights.robots * measures["mean_active_robots"]
        + weights.starvation * measures["starvation_probability"]
    )
