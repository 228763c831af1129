"""What goes beyond the paper's model is refused where it would be ignored."""

from __future__ import annotations

import pytest

from crawltwin.model import CostWeights, FetchingRobots, InputError, ThresholdPolicy, examples, exponential
from crawltwin.model.scenario import FEATURES

BEYOND = {
    "indexers": {"indexers": 2},
    "fetching": {"arrivals": FetchingRobots(3, exponential(2.0))},
    "resume": {"policy": ThresholdPolicy([3, 1], [2], resume=[1])},
    "check_every": {"policy": ThresholdPolicy([3, 1], [2], check_every=4)},
    "switching": {"cost": CostWeights(loss=5, switching=0.5)},
}


def test_the_paper_has_nothing_beyond_itself():
    scenario = examples.load("paper")
    assert scenario.features == frozenset()
    scenario.check_features((), "the chain")


@pytest.mark.parametrize("name", BEYOND)
def test_a_feature_is_refused_by_name_unless_it_is_supported(name):
    scenario = examples.load("paper").replace(**BEYOND[name])
    assert scenario.features == {name}
    scenario.check_features({name}, "the chain")
    with pytest.raises(
        InputError, match=rf"^the scenario must have only what the chain knows; got {FEATURES[name]} at"
    ):
        scenario.check_features((), "the chain")


def test_a_price_of_switching_is_written_only_where_there_is_one():
    assert "switching" not in CostWeights(loss=5).to_mapping()
    assert CostWeights(loss=5, switching=0).content_hash == CostWeights(loss=5).content_hash
    assert CostWeights(loss=5, switching=1) != CostWeights(loss=5)
    scenario = examples.load("paper").replace(cost=CostWeights(switching=0.1))
    assert type(scenario).from_mapping(scenario.to_mapping()) == scenario
