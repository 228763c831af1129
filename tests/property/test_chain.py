"""Statements that hold for every model, on random ones: all kinds of arrivals, all admission rules."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytic import solve
from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from crawltwin.model import BMAP, ModeMatrices, PhaseType, Scenario
from crawltwin.model.scenario_file import dumps, loads
from tests.random_models import random_scenario

seeds = st.integers(0, 10**6)
PROBABILITIES = ("loss_probability", "obsolescence_probability", "success_probability")


def same(left, right, rel=1e-9, times=1.0):
    """Measures of two scenarios that must agree; times in the second are `times` as long."""
    power = {"arrival_rate": -1, "switch_rate": -1}
    power |= {"mean_sojourn": 1, "mean_sojourn_served": 1, "mean_sojourn_obsolete": 1}
    for name, value in left.measures.items():
        if name == "cost":
            continue
        other = right.measures[name]
        if value is None:
            assert other is None
        else:
            np.testing.assert_allclose(
                np.array(other) / times ** power.get(name, 0), value, rtol=rel, atol=1e-14, err_msg=name
            )


@given(seeds)
@settings(max_examples=40)
def test_three_methods_agree(seed):
    scenario = random_scenario(seed)
    direct, block, auto = (solve(scenario, method=method) for method in ("direct", "block", "auto"))
    same(direct, block, rel=1e-10)
    same(direct, auto, rel=1e-10)
    if scenario.arrivals.max_batch == 1:
        same(direct, solve(scenario, method="qbd"), rel=1e-10)


@given(seeds)
@settings(max_examples=40)
def test_identities(seed):
    solution = solve(random_scenario(seed))
    measures = solution.measures
    assert sum(measures[name] for name in PROBABILITIES) == pytest.approx(1, abs=1e-12)
    assert measures["mean_pages"] == pytest.approx(
        measures["arrival_rate"] * solution.sojourn.moment(1, "all"), rel=1e-10
    )
    assert sum(measures["level_distribution"]) == pytest.approx(1, abs=1e-12)
    assert sum(solution.mode_probabilities.values()) == pytest.approx(1, abs=1e-12)
    # The indexer works as long as it serves: rate of served pages times mean service time is the busy share.
    busy = measures["arrival_rate"] * measures["success_probability"] * solution.scenario.service.mean
    assert busy == pytest.approx(1 - measures["starvation_probability"], rel=1e-10)
    assert solution.solver.residual < 1e-13
    assert solution.solver.error_estimate < 1e-9


@given(seeds)
@settings(max_examples=25)
def test_rows_sum_to_zero_and_rates_are_not_negative(seed):
    generator = Generator.of(Chain.of(random_scenario(seed)))
    Q = generator.matrix.toarray()
    np.testing.assert_allclose(Q.sum(axis=1), 0, atol=1e-12)
    assert (Q - np.diag(np.diag(Q)) >= 0).all()
    assert (np.diag(Q) < 0).all()


@given(seeds, st.floats(0.01, 100))
@settings(max_examples=20)
def test_change_of_the_time_unit(seed, factor):
    scenario = random_scenario(seed, kinds=("modes",))
    slower = scenario.replace(
        arrivals=ModeMatrices({r: mode.scaled(1 / factor) for r, mode in scenario.arrivals.modes.items()}),
        service=scenario.service.scaled(1 / factor),
        obsolescence=None if scenario.obsolescence is None else scenario.obsolescence.scaled(1 / factor),
    )
    same(solve(scenario), solve(slower), times=factor)


@given(seeds)
@settings(max_examples=20)
def test_relabelled_phases(seed):
    scenario = random_scenario(seed, kinds=("modes",))
    rng = np.random.default_rng(seed)

    def shuffled(law: PhaseType | None) -> PhaseType | None:
        if law is None:
            return None
        order = rng.permutation(law.order)
        return PhaseType(law.initial[order], law.subgenerator[np.ix_(order, order)])

    order = rng.permutation(scenario.arrivals.phases)
    arrivals = ModeMatrices(
        {r: BMAP([Dk[np.ix_(order, order)] for Dk in mode.D]) for r, mode in scenario.arrivals.modes.items()}
    )
    relabelled = scenario.replace(
        arrivals=arrivals, service=shuffled(scenario.service), obsolescence=shuffled(scenario.obsolescence)
    )
    same(solve(scenario), solve(relabelled))


@given(seeds)
@settings(max_examples=20)
def test_derived_modes_are_the_model(seed):
    """Every kind of arrivals, rewritten as interpretation 4 with its derived matrices, is the same crawler."""
    scenario = random_scenario(seed)
    rewritten = scenario.replace(arrivals=ModeMatrices(dict(scenario.arrivals.modes)))
    same(solve(scenario), solve(rewritten), rel=1e-12)


@given(seeds)
@settings(max_examples=20)
def test_splitting_a_phase_changes_nothing(seed):
    """A service phase split into two copies: lumped away again, and right even when it is not."""
    scenario = random_scenario(seed)
    S, beta = scenario.service.subgenerator, scenario.service.initial
    n = len(beta)
    split = np.zeros((n + 1, n + 1))
    split[:n, :n] = S
    split[n, :n] = S[0]
    split[n, 0], split[n, n] = 0.0, S[0, 0]
    split[1:n, n], split[1:n, 0] = 0.4 * S[1:, 0], 0.6 * S[1:, 0]
    double = PhaseType([0.7 * beta[0], *beta[1:], 0.3 * beta[0]], split)
    assert double.lumped().order == scenario.service.lumped().order
    same(solve(scenario), solve(scenario.replace(service=double)))


@given(seeds)
@settings(max_examples=30)
def test_files_read_back_to_the_same_bits(seed):
    scenario = random_scenario(seed)
    for as_json in (False, True):
        again = loads(dumps(scenario, json_text=as_json), json_text=as_json)
        assert again == scenario
        assert isinstance(again, Scenario)


@given(seeds)
@settings(max_examples=15)
def test_more_room_loses_less(seed):
    """With one mode, adding a place never raises the loss probability under partial admission."""
    scenario = random_scenario(seed, kinds=("modes",))
    one = ModeMatrices({1: next(iter(scenario.arrivals.modes.values()))})
    base = scenario.replace(arrivals=one, policy=None, admission="partial")
    losses = [solve(base.replace(capacity=K)).measures["loss_probability"] for K in (1, 2, 3, 4)]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in itertools.pairwise(losses))
