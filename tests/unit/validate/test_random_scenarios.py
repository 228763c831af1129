"""Random crawlers: every kind and rule, reproducible, of modest size, writable."""

from itertools import product

from crawltwin.model import ADMISSIONS, LevelPolicy, Scenario, ThresholdPolicy
from validate.random_scenarios import KINDS, MOST_STATES, random_scenario


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


def test_what_stands_out_can_be_written_and_read_back(tmp_path):
    for index in range(30):
        one = random_scenario(3, index)
        one.write(tmp_path / "one.toml")
        assert Scenario.read(tmp_path / "one.toml") == one
