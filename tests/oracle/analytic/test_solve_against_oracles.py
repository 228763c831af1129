"""`solve` against closed forms, the product form, LINE and Storm."""

from __future__ import annotations

import numpy as np
import pytest

from analytic import solve
from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from crawltwin.model import (
    BMAP,
    LevelPolicy,
    ModeMatrices,
    PhaseType,
    Scenario,
    examples,
    exponential,
    hyperexponential,
)
from tests.oracle.closed_forms import hyperexponential_queue, mm1k, mm1k_reneging
from tests.oracle.line import line_map_ph_1_k
from tests.oracle.storm import storm_stationary
from tests.random_models import random_scenario


def compare(measures, expected, rel):
    shared = [name for name in expected if name in measures]
    assert len(shared) >= 5, expected.keys()
    for name in shared:
        if expected[name] is None:
            assert measures[name] is None
        else:
            np.testing.assert_allclose(
                np.array(measures[name], float), np.array(expected[name], float), rtol=rel, atol=1e-15, err_msg=name
            )


@pytest.mark.parametrize("capacity", [1, 2, 7, 40])
@pytest.mark.parametrize("rate", [0.3, 1.0, 2.5])
def test_mm1k(rate, capacity):
    scenario = examples.load("mm1k").replace(
        capacity=capacity, arrivals=ModeMatrices({1: BMAP.poisson(rate)}), obsolescence=None
    )
    compare(solve(scenario).measures, mm1k(rate, 1.0, capacity), 1e-11)


@pytest.mark.parametrize("method", ["auto", "direct", "block", "qbd"])
@pytest.mark.parametrize("capacity", [1, 2, 7, 40])
def test_mm1k_with_exponential_obsolescence(method, capacity):
    scenario = examples.load("mm1k").replace(capacity=capacity)
    compare(solve(scenario, method=method).measures, mm1k_reneging(0.8, 1.0, 0.25, capacity), 1e-10)


@pytest.mark.parametrize("capacity", [2, 4, 6])
def test_product_form_with_hyperexponential_obsolescence(capacity):
    # Single Poisson arrivals whose rate depends on the level through the policy.
    rates = {1: 0.4, 2: 1.5, 3: 3.0}
    table = [3, 3, 2, 2, 1, 1, 1][: capacity + 1]
    scenario = Scenario(
        capacity=capacity,
        arrivals=ModeMatrices({r: BMAP.poisson(rate) for r, rate in rates.items()}),
        service=exponential(1 / 1.3),
        obsolescence=hyperexponential([0.9, 0.1], [1.0, 0.05]),
        policy=LevelPolicy(table),
    )
    expected = hyperexponential_queue([rates[r] for r in table], 1.3, [0.9, 0.1], [1.0, 0.05])
    for method in ("direct", "block", "qbd"):
        compare(solve(scenario, method=method).measures, expected, 1e-11)


@pytest.mark.parametrize("capacity", [1, 3, 10])
@pytest.mark.parametrize("poisson", [True, False])
def test_map_ph_1_k_of_line(capacity, poisson):
    D0, D1 = np.array([[-2.0, 0.5], [0.2, -0.7]]), np.array([[1.3, 0.2], [0.1, 0.4]])
    if poisson:
        D0, D1 = np.array([[-1.2]]), np.array([[1.2]])
    service = PhaseType([0.4, 0.6], [[-3, 1], [2, -3]])
    expected = line_map_ph_1_k(D0, D1, service.initial, service.subgenerator, capacity)
    scenario = Scenario(capacity=capacity, arrivals=ModeMatrices({1: BMAP([D0, D1])}), service=service)
    measures = solve(scenario).measures
    compare_line(measures, expected)


def compare_line(measures, expected):
    assert measures["loss_probability"] == pytest.approx(expected["loss_probability"], rel=1e-7)
    np.testing.assert_allclose(measures["level_distribution"], expected["level_distribution"], atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_storm_on_random_models(seed):
    scenario = random_scenario(seed)
    generator = Generator.of(Chain.of(scenario))
    p = storm_stationary(generator.matrix)
    levels = [float(part.sum()) for part in generator.split(p)]
    np.testing.assert_allclose(solve(scenario).measures["level_distribution"], levels, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("admission", ["partial", "all-or-nothing", "overflow"])
def test_storm_on_the_papers_example(admission):
    scenario = examples.load("hyperexponential").replace(capacity=4, admission=admission)
    generator = Generator.of(Chain.of(scenario))
    p = storm_stationary(generator.matrix)
    levels = [float(part.sum()) for part in generator.split(p)]
    np.testing.assert_allclose(solve(scenario).measures["level_distribution"], levels, rtol=1e-9, atol=1e-12)
