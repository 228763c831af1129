"""Fetching robots, several indexers, hysteresis and polling against a chain that is explored state by state."""

from __future__ import annotations

import numpy as np
import pytest

from analytic import solve
from tests.oracle.whole_crawler import Explored
from tests.random_crawlers import random_crawler


def agree(scenario, methods, rel=1e-9):
    truth = Explored.of(scenario).measures()
    for method in methods:
        found = solve(scenario, method).measures
        for name, value in truth.items():
            np.testing.assert_allclose(found[name], value, rtol=rel, atol=1e-11, err_msg=f"{method}: {name}")


@pytest.mark.parametrize("seed", range(40))
def test_phase_type_clocks(seed):
    agree(random_crawler(seed, capacity=4), ("auto", "direct", "block", "matrix-free"))


@pytest.mark.parametrize("seed", range(40, 80))
def test_exponential_clocks(seed):
    agree(random_crawler(seed, capacity=6, clock=1), ("banded", "direct", "block"))
