"""Random crawlers: every kind and rule, reproducible, of modest size, writable."""

import hashlib
from itertools import product

from crawltwin.model import ADMISSIONS, LevelPolicy, Scenario, ThresholdPolicy
from crawltwin.model.scenario import FEATURES
from validate.random_crawlers.features import FEATURE_KINDS, chain_size
from validate.random_crawlers.parts import KINDS, MOST_STATES
from validate.random_crawlers.scenarios import FAMILIES, random_scenario


def test_any_fifteen_neighbours_hold_every_kind_with_every_rule():
    found = {(one.arrivals.kind, one.admission) for one in (random_scenario(5, index) for index in range(15))}
    assert found == set(product(KINDS, ADMISSIONS))


def test_a_scenario_depends_on_seed_and_index_alone():
    assert random_scenario(1, 7) == random_scenario(1, 7)
    assert random_scenario(1, 7) != random_scenario(2, 7)
    assert random_scenario(1, 7) != random_scenario(1, 8)


def test_two_hundred_are_valid_small_and_varied(tmp_path):
    scenarios = [random_scenario(1, index) for index in range(200)]
    for one in scenarios:
        phases = 1 if one.obsolescence is None else one.obsolescence.order
        waiting = sum(phases**number for number in range(one.top_level))
        states = one.arrivals.phases * (1 + one.service.order * waiting)
        assert states <= MOST_STATES or one.capacity == 1
    assert {type(one.policy) for one in scenarios} == {ThresholdPolicy, LevelPolicy}
    assert any(one.obsolescence is None for one in scenarios)
    assert min(one.capacity for one in scenarios) == 1
    assert len({one.content_hash for one in scenarios}) == 200


def test_the_series_of_the_paper_stays_what_it_was():
    # Frozen when the second family came: a seed that was written down means the same crawlers for ever.
    series = "".join(random_scenario(seed, index).content_hash for seed in (1, 3) for index in range(200))
    assert hashlib.sha256(series.encode()).hexdigest().startswith("67a89f62306c8915")


def test_any_twenty_four_neighbours_beyond_the_paper_hold_every_kind_with_every_rule():
    scenarios = [random_scenario(5, index, "features") for index in range(24)]
    assert {(one.arrivals.kind, one.admission) for one in scenarios} == set(product(FEATURE_KINDS, ADMISSIONS))


def test_two_hundred_beyond_the_paper_are_small_and_have_every_feature_and_every_pair_of_them():
    scenarios = [random_scenario(1, index, "features") for index in range(200)]
    assert all(chain_size(one) <= MOST_STATES or one.capacity == one.indexers for one in scenarios)
    pairs = {(one, other) for found in scenarios for one in found.features for other in found.features}
    assert pairs == set(product(FEATURES, FEATURES))
    fetching = [one.arrivals for one in scenarios if one.arrivals.kind == "fetching"]
    assert {(one.start_up is None, one.spells is None) for one in fetching} == set(product((True, False), repeat=2))


def test_what_stands_out_can_be_written_and_read_back(tmp_path):
    for index, family in product(range(30), FAMILIES):
        one = random_scenario(3, index, family)
        one.write(tmp_path / "one.toml")
        assert Scenario.read(tmp_path / "one.toml") == one
