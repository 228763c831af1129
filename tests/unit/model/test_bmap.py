"""Batch arrival processes against the paper's printed figures, closed forms and sampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from crawltwin.model import BMAP, ConvergenceError, InputError
from crawltwin.model.bmap import stationary
from crawltwin.model.examples import paper_arrivals
from tests.random_models import random_bmap

PRINTED = {  # robots: (page rate, correlation, batch rate, with the digits of the paper's section 7)
    1: ("1.28", "-0.218", "0.853"),
    2: ("2.41", "-0.111", "1.208"),
    3: ("3.125", "0.02", "2.5"),
    4: ("4.64", "0.035", "1.43"),
}


@pytest.mark.parametrize("robots", [1, 2, 3, 4])
def test_papers_rates_and_correlations(robots):
    mode = paper_arrivals().mode(robots)
    for value, printed in zip((mode.page_rate, mode.correlation(1), mode.batch_rate), PRINTED[robots], strict=True):
        unit = 10.0 ** -len(printed.partition(".")[2])
        assert abs(value - float(printed)) < unit


def test_poisson_is_what_it_should_be():
    stream = BMAP.poisson(2.0, [0.25, 0.75])
    assert stream.page_rate == pytest.approx(3.5)
    assert stream.batch_rate == pytest.approx(2.0)
    assert stream.interval_variance == pytest.approx(0.25)
    assert stream.correlation(3) == pytest.approx(0, abs=1e-14)
    # A compound Poisson process: variance over mean is E B^2 / E B.
    for t in (0.1, 5.0, np.inf):
        assert stream.dispersion(t) == pytest.approx((0.25 + 0.75 * 4) / 1.75, rel=1e-12)


def test_renewal_correlations_vanish():
    # Hyperexponential renewal process: D_1 = rates times the fixed initial vector.
    p, rates = np.array([0.3, 0.7]), np.array([0.5, 4.0])
    stream = BMAP([np.diag(-rates), np.outer(rates, p)])
    assert stream.interval_moment(1) == pytest.approx((p / rates).sum())
    assert stream.interval_moment(2) == pytest.approx(2 * (p / rates**2).sum())
    for lag in (1, 2, 9):
        assert stream.correlation(lag) == pytest.approx(0, abs=1e-13)


def test_map2_correlations_are_geometric():
    # rho_k = gamma^k (c2 - 1) / (2 c2) for the MAP(2) with D_1 = diag(rates) (gamma I + (1 - gamma) e (p, 1 - p)).
    gamma, p, rates = 0.6, 0.3, np.array([0.5, 4.0])
    D1 = np.diag(rates) @ (gamma * np.eye(2) + (1 - gamma) * np.outer(np.ones(2), [p, 1 - p]))
    stream = BMAP([np.diag(-rates), D1])
    c2 = stream.interval_variance / stream.interval_moment(1) ** 2
    for lag in range(1, 6):
        assert stream.correlation(lag) == pytest.approx(gamma**lag * (c2 - 1) / (2 * c2), rel=1e-12)
    assert stream.correlation(0) == 1


def test_dispersion_against_differential_equations():
    # Second moment of the count by an independent road: expm of the block matrix of the first two factorial moments.
    stream = random_bmap(np.random.default_rng(3), 3, 2)
    D, M1, M2 = stream.generator, stream.D[1] + 2 * stream.D[2], stream.D[1] + 4 * stream.D[2]
    n, t = 3, 1.7
    big = np.block([[D, M1, M2 / 2], [np.zeros((n, n)), D, M1], [np.zeros((n, n)), np.zeros((n, n)), D]])
    power = expm(big * t)
    first = stream.phase_distribution @ power[:n, n : 2 * n] @ np.ones(n)
    second = 2 * stream.phase_distribution @ power[:n, 2 * n :] @ np.ones(n)
    assert first == pytest.approx(stream.page_rate * t, rel=1e-12)
    assert stream.dispersion(t) == pytest.approx((second - first**2) / first, rel=1e-10)
    assert stream.dispersion(1e7) == pytest.approx(stream.dispersion(), rel=1e-6)


def test_batch_sizes_and_phases():
    stream = BMAP.from_map([[-0.5, 0.1], [0.2, -2.0]], [[0.35, 0.05], [0.1, 1.7]], [0.6, 0.3, 0.1])
    np.testing.assert_allclose(stream.batch_sizes, [0.6, 0.3, 0.1], rtol=1e-13)
    assert stream.mean_batch == pytest.approx(1.5)
    assert stream.batch_phase_distribution.sum() == pytest.approx(1)
    assert stream.page_rate == pytest.approx(1.5 * stream.batch_rate)


def test_superposition_thinning_scaling():
    a, b = random_bmap(np.random.default_rng(1), 2, 2), random_bmap(np.random.default_rng(2), 3, 1)
    both = a.superposed(b)
    assert both.page_rate == pytest.approx(a.page_rate + b.page_rate, rel=1e-12)
    assert both.phases == 6
    # Counts of independent processes: variances add.
    expected = a.dispersion(2.0) * a.page_rate + b.dispersion(2.0) * b.page_rate
    assert both.dispersion(2.0) * both.page_rate == pytest.approx(expected, rel=1e-10)
    assert a.thinned(0.4).batch_rate == pytest.approx(0.4 * a.batch_rate, rel=1e-12)
    np.testing.assert_allclose(a.thinned(0.4).phase_distribution, a.phase_distribution, rtol=1e-12)
    assert a.scaled(3.0).page_rate == pytest.approx(3 * a.page_rate)
    assert a.scaled(3.0).correlation(2) == pytest.approx(a.correlation(2))


def test_sampling_matches_rates_and_correlation():
    stream = paper_arrivals().mode(1)
    drawn = stream.sample(np.random.default_rng(5), 60_000)
    gaps = np.diff(drawn.times, prepend=0.0)
    assert gaps.mean() == pytest.approx(1 / stream.batch_rate, rel=0.02)
    assert drawn.sizes.mean() == pytest.approx(stream.mean_batch, rel=0.01)
    assert np.corrcoef(gaps[:-1], gaps[1:])[0, 1] == pytest.approx(stream.correlation(1), abs=0.02)
    np.testing.assert_allclose(np.bincount(drawn.phases) / 60_000, stream.batch_phase_distribution, atol=0.01)


def test_stationary_is_entrywise_accurate_when_nearly_decomposable():
    # Two states linked by rates 1e-9 and 1e-13: theta = (1e-13, 1e-9) / (1e-9 + 1e-13) exactly.
    theta = stationary(np.array([[-1e-9, 1e-9], [1e-13, -1e-13]]))
    np.testing.assert_allclose(theta, [1e-4 / (1 + 1e-4), 1 / (1 + 1e-4)], rtol=1e-15)


def test_trailing_empty_batches_are_dropped():
    assert BMAP([[[-1.0]], [[1.0]], [[0.0]], [[0.0]]]) == BMAP.poisson(1.0)


@pytest.mark.parametrize(
    ("D", "words"),
    [
        ([[[-1.0]]], "at least two matrices"),
        ("abc", "at least two matrices"),
        ([[[-1.0]], [[0.5]]], "must sum to 0"),
        ([[[1.0]], [[-1.0]]], "diagonal of D_0 must be negative"),
        ([[[-1.0, 1.0], [1.0, -1.0]], [[0.0, 0.0], [0.0, 0.0]]], "at least one page"),
        ([[[-1.0, 0.0], [0.0, -1.0]], [[1.0, 0.0], [0.0, 1.0]]], "reducible"),
        ([[[-1.0, 2.0], [0.0, -1.0]], [[-1.0, 0.0], [1.0, 0.0]]], "not negative"),
        ([[[-1.0]], [[0.5, 0.5]]], "square"),
        ([[[-1.0]], [[0.5, 0.0], [0.0, 0.5]]], "1 x 1 like its neighbours"),
    ],
)
def test_wrong_processes_are_refused(D, words):
    with pytest.raises(InputError, match=words):
        BMAP(D)


def test_wrong_arguments_are_refused():
    stream = BMAP.poisson(1.0)
    for call in (
        lambda: stream.thinned(0.0),
        lambda: stream.scaled(-1.0),
        lambda: stream.correlation(-1),
        lambda: stream.dispersion(0.0),
        lambda: BMAP.poisson(0.0),
        lambda: BMAP.poisson(1.0, [0.5, 0.4]),
        lambda: BMAP.from_map([[-1.0]], [[1.0]], [0.5]),
    ):
        with pytest.raises(InputError):
            call()
    assert "batches up to 1" in repr(stream)


def test_phases_that_hardly_lead_to_one_another_have_no_dispersion_in_floating_point():
    rare = 1e-18
    process = BMAP([[[-1.0 - rare, rare], [rare, -2.0 - rare]], [[1.0, 0.0], [0.0, 2.0]]])
    with pytest.raises(ConvergenceError, match="the phases hardly ever lead to one another"):
        process.dispersion()


@pytest.mark.parametrize("change", [1e-9, 1e-12, 1e-15])
@pytest.mark.parametrize("t", [0.1, 10.0, 1000.0])
def test_dispersion_of_phases_that_hardly_lead_to_one_another(change, t):
    process = BMAP([[[-1 - change, change], [change, -5 - change]], [[1, 0], [0, 5]]])
    # A Poisson stream of rate 1 or 5, each as likely: the variance of the rate over its mean is 4/3.
    assert process.dispersion(t) == pytest.approx(1 + t * 4 / 3, rel=1e-5)
