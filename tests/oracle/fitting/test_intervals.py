"""Bootstrap, residuals and dispersion against what theory says."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import kstest

from crawltwin.model import BMAP
from fitting.choose.goodness import assess
from fitting.models.general_map import GeneralMap
from fitting.trace.bootstrap import block_length, intervals, resample
from fitting.trace.segments import Segments
from tests.oracle.fitting.made import TRUTH, trace


@pytest.mark.parametrize("phi", [0.3, 0.5, 0.8])
def test_block_length_of_an_autoregression(phi):
    """Its best mean length is known: G = 2 phi/(1-phi)^2 and g(0) = (1+phi)/(1-phi) in units of the variance."""
    n = 65_000
    data = Segments.of(lfilter([1], [1, -phi], np.random.default_rng(1).normal(size=n)) + 50)
    G, level = 2 * phi / (1 - phi) ** 2, (1 + phi) / (1 - phi)
    assert block_length(data) == pytest.approx((G * G / level**2) ** (1 / 3) * n ** (1 / 3), rel=0.15)


def test_resampled_blocks_stay_in_their_stretch():
    data = Segments(np.ones(1000), np.ones(1000), np.array([0, 300, 700]))
    index = resample(data, 40.0, np.random.default_rng(2))
    assert index.size == 1000
    assert 0 <= index.min() <= index.max() < 1000
    follows = np.flatnonzero(np.diff(index) == 1)
    assert not np.isin(index[follows + 1], [300, 700]).any() or follows.size > 900
    assert np.mean(np.diff(index) == 1) == pytest.approx(1 - 1 / 40, abs=0.05)


def test_intervals_cover_where_plain_ones_do_not():
    """Correlated gaps: the plain standard error covers the mean in few of the traces, the blocks in most."""
    truth = float(TRUTH.start @ (TRUTH.shape / TRUTH.rate))
    covered = plain = 0
    for seed in range(25):
        gaps, _ = trace(6000, seed)
        found = intervals(Segments.of(gaps), lambda g, _: {"mean": float(g.mean())}, repetitions=60, seed=seed)["mean"]
        covered += found.low <= truth <= found.high
        plain += abs(gaps.mean() - truth) < 1.96 * gaps.std() / np.sqrt(gaps.size)
    assert covered >= 20
    assert plain <= 15


def test_residuals_of_the_truth_are_uniform_and_those_of_a_poisson_are_not():
    gaps, _ = trace(8000, 5)
    data = Segments.of(gaps)
    right = TRUTH.residuals(data)
    assert kstest(right, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(right[:-1], right[1:])[0, 1]) < 0.04
    rate = 1 / gaps.mean()
    wrong = GeneralMap(np.array([[-rate]]), np.array([[rate]])).residuals(data)
    assert kstest(wrong, "uniform").pvalue < 1e-10
    assert np.corrcoef(wrong[:-1], wrong[1:])[0, 1] > 0.3


def test_a_general_model_has_the_same_residuals_as_its_twin():
    """Two exponential branches, once as Erlang branches and once as matrices."""
    from fitting.models.erlang_map import ErlangMap

    twin = ErlangMap(np.ones(2), np.array([1.0, 0.1]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    gaps, _ = trace(2000, 6, twin)
    process = twin.bmap()
    other = GeneralMap(np.asarray(process.D[0]), np.asarray(process.D[1]))
    assert other.residuals(Segments.of(gaps)) == pytest.approx(twin.residuals(Segments.of(gaps)), abs=2e-4)


def test_the_verdict_tells_right_from_wrong():
    gaps, _ = trace(20_000, 7)
    data = Segments.of(gaps)
    good = assess(TRUTH, TRUTH.bmap(), data)
    assert good.verdict == "good", good.words
    assert good.faults == ()
    assert good.model_correlations[:3] == pytest.approx([TRUTH.bmap().correlation(k) for k in (1, 2, 3)], abs=1e-10)
    rate = 1 / gaps.mean()
    poisson = GeneralMap(np.array([[-rate]]), np.array([[rate]]))
    poor = assess(poisson, BMAP.poisson(rate), data)
    assert poor.verdict == "poor"
    assert poor.faults
    assert not any(" met " in word for word in poor.faults)
    assert poor.model_idc == pytest.approx(1.0)
    assert poor.model_idi == pytest.approx(1.0)
    assert any("correlations" in words and "missed" in words for words in poor.words)
