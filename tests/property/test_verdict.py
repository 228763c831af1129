"""Statements true of every verdict and of every random crawler."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytic import solve
from validate.identities import solved_identities
from validate.random_crawlers.scenarios import random_scenario
from validate.verdict import Comparison

numbers = st.floats(-50, 50).filter(lambda value: value == 0 or abs(value) > 1e-6)
comparisons = st.builds(
    Comparison,
    st.just("mean_pages"),
    st.just(""),
    numbers,
    numbers,
    st.floats(1e-6, 20),
    st.integers(5, 500),
    st.floats(1e-6, 20),
)


@given(comparisons, st.floats(1, 10))
def test_a_wider_margin_never_makes_equivalence_harder_and_leaves_difference_alone(found, factor):
    wider = dataclasses.replace(found, margin=found.margin * factor)
    assert wider.p_equivalence <= found.p_equivalence
    assert wider.p_difference == found.p_difference


@given(comparisons, st.sampled_from([0.25, 0.5, 2.0, 1024.0]))
def test_the_unit_of_a_measure_does_not_matter(found, unit):
    other = dataclasses.replace(
        found,
        **{name: getattr(found, name) * unit for name in ("solved", "simulated", "error", "margin")},
    )
    assert other.p_equivalence == pytest.approx(found.p_equivalence)
    assert other.p_difference == pytest.approx(found.p_difference)


@given(comparisons)
def test_too_high_and_too_low_are_the_same(found):
    mirrored = dataclasses.replace(found, solved=found.simulated, simulated=found.solved)
    assert mirrored.p_equivalence == pytest.approx(found.p_equivalence)
    assert mirrored.p_difference == pytest.approx(found.p_difference)
    assert mirrored.score == pytest.approx(-found.score)


@given(comparisons)
def test_both_claims_at_once_need_a_difference_smaller_than_the_margin(found):
    if found.p_equivalence <= 0.05:
        assert abs(found.difference) < found.margin


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_solved_side_of_every_random_crawler_meets_its_identities(seed, index):
    solution = solve(random_scenario(seed, index))
    assert [one.name for one in solved_identities(solution) if not one.holds] == []
