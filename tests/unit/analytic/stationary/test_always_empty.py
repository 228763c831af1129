"""Crawlers whose batches never fit an empty system: all pages are lost, and every method says so."""

import pytest

from analytic import optimize, solve
from crawltwin.model import BMAP, CostWeights, ModeMatrices, Scenario, ThresholdPolicy, erlang, exponential

CLOCKS = {"never": None, "exponential": exponential(1.0), "erlang": erlang(2, 1.3)}
FOURS = BMAP([[[-2.0]], [[0.0]], [[0.0]], [[0.0]], [[2.0]]])


def crawler(obsolescence, policy, arrivals=None):
    arrivals = arrivals or ModeMatrices({1: BMAP.poisson(1.0), 2: FOURS})
    return Scenario(
        3,
        arrivals,
        erlang(2, 1.0),
        obsolescence,
        policy=policy,
        cost=CostWeights(loss=1.0, response=2.0, robots=0.1),
        admission="all-or-nothing",
    )


@pytest.mark.parametrize("method", ["auto", "direct", "block", "matrix-free", "window"])
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("policy", ["2", "2,1@0", "2,1@0:2.0"])
def test_every_method_finds_an_empty_system(method, clock, policy):
    found = solve(crawler(CLOCKS[clock], ThresholdPolicy.from_text(policy)), method=method).measures
    assert found["arrival_rate"] == pytest.approx(8.0, rel=1e-12)
    assert found["loss_probability"] == pytest.approx(1.0, rel=1e-12)
    assert found["level_distribution"] == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-12)
    assert found["mean_pages"] == pytest.approx(0.0, abs=1e-12)
    assert found["mean_sojourn_served"] is None
    assert found["cost"] is None


def test_one_policy_that_loses_every_page_does_not_end_the_search():
    # With two robots on an empty system nothing ever fits, so the best policy runs one robot there.
    best = optimize(crawler(exponential(1.0), ThresholdPolicy([2, 1], [0], check_every=2.0))).best
    assert best.robots[0] == 1
    assert best.cost == pytest.approx(
        solve(crawler(exponential(1.0), best.policy)).measures["cost"],
        rel=1e-9,
    )


def test_a_cost_without_response_exists_where_no_page_is_served():
    weights = CostWeights(loss=1.0, robots=0.5, starvation=3.0)
    scenario = crawler(erlang(2, 1.3), ThresholdPolicy([2])).replace(cost=weights)
    # Eight pages lost per unit of time, two robots, an indexer that is always idle.
    assert solve(scenario).measures["cost"] == pytest.approx(8.0 + 1.0 + 3.0, rel=1e-12)
