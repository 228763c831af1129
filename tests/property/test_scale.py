"""What must hold for the matrix-free solution whatever the crawler: balance, fates, relabelling, time units."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytic.chain.primitives import Chain
from analytic.chain.summary import basic_measures
from analytic.sojourn.levels import LevelSojournTimes
from analytic.stationary.matrix_free import LevelSolution, solve_matrix_free
from crawltwin.model import BMAP, ModeMatrices, PhaseType, Scenario

rates = st.floats(0.05, 5.0)


@st.composite
def clocks(draw: st.DrawFn) -> PhaseType:
    order = draw(st.integers(2, 3))
    off = np.array([[draw(st.sampled_from([0.0, 0.3, 1.7])) for _ in range(order)] for _ in range(order)])
    np.fill_diagonal(off, 0.0)
    leave = np.array([draw(rates) for _ in range(order)])
    start = np.array([draw(st.floats(0.1, 1.0)) for _ in range(order)])
    return PhaseType(start / start.sum(), off - np.diag(off.sum(axis=1) + leave))


@st.composite
def crawlers(draw: st.DrawFn) -> Scenario:
    D1, D2 = (np.array([[draw(rates), 0.0], [0.2, draw(rates)]]) for _ in range(2))
    switch = np.array([[0.0, draw(rates)], [draw(rates), 0.0]])
    D0 = switch - np.diag((switch + D1 + D2).sum(axis=1))
    service = PhaseType([0.4, 0.6], [[-draw(rates) - 1.0, 1.0], [0.0, -draw(rates)]])
    return Scenario(
        capacity=draw(st.integers(1, 5)),
        arrivals=ModeMatrices({1: BMAP([D0, D1, D2])}),
        service=service,
        obsolescence=draw(clocks()),
        admission=draw(st.sampled_from(["partial", "all-or-nothing", "overflow"])),
    )


def solved(scenario: Scenario) -> tuple[Chain, LevelSolution, dict[str, float]]:
    chain = Chain.of(scenario)
    found = solve_matrix_free(chain, tolerance=1e-12)
    return chain, found, basic_measures(chain, found.summary)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(crawlers())
def test_every_page_has_one_fate_and_waits_by_littles_law(scenario: Scenario) -> None:
    chain, found, measures = solved(scenario)
    fates = ("loss_probability", "obsolescence_probability", "success_probability")
    assert sum(measures[fate] for fate in fates) == pytest.approx(1.0, abs=1e-10)
    law = LevelSojournTimes(chain, found)
    assert law.probability("served") == pytest.approx(measures["success_probability"], rel=1e-9)
    assert law.probability("obsolete") == pytest.approx(measures["obsolescence_probability"], rel=1e-9, abs=1e-14)
    assert law.moment(1, "all") == pytest.approx(measures["mean_pages"] / measures["arrival_rate"], rel=1e-9)


@settings(derandomize=True, max_examples=15, deadline=None)
@given(crawlers(), st.integers(0, 5))
def test_the_phases_of_the_clock_may_be_relabelled(scenario: Scenario, turn: int) -> None:
    assert scenario.obsolescence is not None
    order = np.roll(np.arange(scenario.obsolescence.order), turn)
    clock = scenario.obsolescence
    turned = PhaseType(clock.initial[order], clock.subgenerator[np.ix_(order, order)])
    here, there = solved(scenario)[1], solved(scenario.replace(obsolescence=turned))[1]
    np.testing.assert_allclose(here.summary.busy, there.summary.busy, rtol=1e-9, atol=1e-15)


@settings(derandomize=True, max_examples=10, deadline=None)
@given(crawlers(), st.floats(0.01, 100.0))
def test_the_unit_of_time_does_not_matter(scenario: Scenario, factor: float) -> None:
    assert scenario.obsolescence is not None
    mode = scenario.arrivals.mode(1)
    faster = scenario.replace(
        arrivals=ModeMatrices({1: BMAP([factor * D for D in mode.D])}),
        service=scenario.service.scaled(factor),
        obsolescence=scenario.obsolescence.scaled(factor),
    )
    _, here, slow = solved(scenario)
    _, there, fast = solved(faster)
    np.testing.assert_allclose(here.summary.level_distribution, there.summary.level_distribution, rtol=1e-9)
    assert fast["arrival_rate"] == pytest.approx(factor * slow["arrival_rate"], rel=1e-9)


@settings(derandomize=True, max_examples=10, deadline=None)
@given(crawlers(), st.integers(0, 2))
def test_a_window_loses_order_but_no_page(scenario: Scenario, window: int) -> None:
    chain = Chain.of(scenario)
    found = solve_matrix_free(chain, window=window, tolerance=1e-12)
    measures = basic_measures(chain, found.summary)
    fates = ("loss_probability", "obsolescence_probability", "success_probability")
    assert sum(measures[fate] for fate in fates) == pytest.approx(1.0, abs=1e-10)
