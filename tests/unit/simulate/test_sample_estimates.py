"""Jackknife, distribution functions and quantiles, against theory."""

import numpy as np
import pytest
from scipy import stats

from crawltwin.model import examples
from simulate import Sample
from simulate.engine.columns import LEVELS
from simulate.engine.statistics import cell_edges
from simulate.sample.estimates import pseudo_values, standard_errors
from simulate.sample.units import Reading, Units


def jackknife(pairs):
    """Value and standard error of the ratio of two sums."""
    pseudo = pseudo_values(pairs, lambda sums: sums[..., :1] / sums[..., 1:])
    return pseudo.mean(axis=0), standard_errors(pseudo)


def test_of_a_mean_it_is_the_mean_and_its_standard_error():
    data = np.random.default_rng(1).normal(5, 2, (30, 1))
    value, error = jackknife(np.hstack([data, np.ones_like(data)]))
    assert value[0] == pytest.approx(data.mean())
    assert error[0] == pytest.approx(data.std(ddof=1) / np.sqrt(30))


def test_ratios_lose_their_first_order_bias_and_scores_are_students():
    # X/Y with E X / E Y = 2 and strongly varying denominators: the plain ratio of 10 pairs is biased.
    rng = np.random.default_rng(2)
    scores, plain, corrected = [], [], []
    for _ in range(4000):
        y = rng.gamma(2.0, 1.0, 10)
        x = 2 * y + rng.normal(0, 1, 10) - 0.8 * (y - 2.0)
        pairs = np.stack([x, y], axis=1)
        value, error = jackknife(pairs)
        plain.append(x.sum() / y.sum())
        corrected.append(value[0])
        scores.append((value[0] - 2) / error[0])
    assert abs(np.mean(corrected) - 2) < 0.35 * abs(np.mean(plain) - 2)
    covered = np.mean(np.abs(scores) < stats.t.ppf(0.975, 9))
    assert covered == pytest.approx(0.95, abs=0.025)


@pytest.fixture
def exponential_sample() -> Sample:
    """Fifty replications of 4000 exponential sojourn times of mean 3, all served."""
    rng = np.random.default_rng(3)
    first, count = -10 * 64, 20 * 64
    edges = cell_edges(first, count)
    cells = np.zeros((50, 2, count), np.int64)
    sums = np.zeros((50, LEVELS + 6))
    for index in range(50):
        cells[index, 0] = np.histogram(rng.exponential(3.0, 4000), edges)[0]
        sums[index, :6] = 1.0, 4000, 4000, 0, 0, 4000
    return Sample(Units(sums, cells, first), Reading.of(examples.load("mm1k"), 6))


def test_distribution_functions_at_the_limits_of_cells(exponential_sample):
    position = exponential_sample.edge_near(2.0)
    limit = float(exponential_sample.edges[position])
    found = exponential_sample.below("served", position)
    truth = 1 - np.exp(-limit / 3)
    assert abs(found.value - truth) < 4 * found.error
    assert found.error == pytest.approx(np.sqrt(truth * (1 - truth) / 200_000), rel=0.3)


@pytest.mark.parametrize("order", [0.1, 0.5, 0.9, 0.99])
def test_quantiles_and_their_standard_errors(exponential_sample, order):
    found = exponential_sample.quantile("served", order)
    truth = -3 * np.log(1 - order)
    density = np.exp(-truth / 3) / 3
    assert abs(found.value - truth) < 4 * found.error
    assert found.error == pytest.approx(np.sqrt(order * (1 - order) / 200_000) / density, rel=0.35)


def test_a_quantile_nobody_reached_is_none(exponential_sample):
    assert exponential_sample.quantile("obsolete", 0.5) is None
