"""Pauses that are many, slow regimes, batches and heavy tails: which long gaps are cut, and what is told of them."""

import numpy as np
import pytest

from fitting import FitOptions, fit
from fitting.trace.batches import find_batches
from fitting.trace.cleaning import clean
from fitting.trace.pauses import auto_limit
from fitting.trace.segments import Segments
from fitting.trace.statistics import correlations, count_dispersion, interval_dispersion


def rng(seed=1):
    return np.random.default_rng(seed)


def times_of(gaps):
    return np.concatenate([[0.0], np.cumsum(gaps)])


def working(kind, seed, n=4000):
    """Gaps of a running crawler, 1 s to 2 s on average."""
    draw = rng(seed)
    return {
        "exponential": lambda: draw.exponential(1.0, n),
        "hyperexponential": lambda: draw.exponential(np.where(draw.random(n) < 0.1, 10.0, 1.0)),
        "lognormal": lambda: draw.lognormal(-0.5, 1.0, n),
        "fixed delay": lambda: draw.uniform(1.0, 1.1, n),
    }[kind]()


@pytest.mark.parametrize("share", [0.035, 0.045, 0.06])
@pytest.mark.parametrize("kind", ["exponential", "hyperexponential", "lognormal", "fixed delay"])
def test_pauses_that_are_many_are_cut_and_told(kind, share):
    """Pauses of 5 to 15 minutes, one gap in 17 to 29: they hold over 90% of the time and none of the crawl."""
    gaps = working(kind, 7)
    at = rng(8).choice(gaps.size, int(share * gaps.size), replace=False)
    gaps[at] = rng(9).uniform(300, 900, at.size)
    cleaning = clean(times_of(gaps))
    assert cleaning.pauses == at.size
    assert cleaning.paused_seconds == pytest.approx(gaps[at].sum())
    assert f"{at.size} of 4000 gaps" in cleaning.words[0]
    assert "cut as pauses" in cleaning.words[0]
    kept = clean(times_of(gaps), pause=float(cleaning.words[0].rsplit(maxsplit=1)[1]))
    assert kept.pauses == 0


def test_a_crawl_that_is_stopped_often_keeps_its_rate_and_is_not_called_good(tmp_path):
    """20 pages at one per second, then ten minutes of rest, again and again: no stretch has 30 pages."""
    gaps = rng(3).exponential(1.0, 3000)
    gaps[19::20] = rng(4).uniform(590, 610, 150)
    path = tmp_path / "stopped"
    path.write_text("\n".join(f"{1.46e9 + t:.3f}" for t in times_of(gaps)))
    found = fit(path, options=FitOptions(methods=("poisson", "renewal"), repetitions=20, refits=0))
    ran = np.delete(gaps, np.arange(19, 3000, 20))
    assert found.process.page_rate == pytest.approx(1 / ran.mean(), rel=0.02)
    assert found.paused_share == pytest.approx(gaps[19::20].sum() / gaps.sum(), rel=1e-4)
    # The distribution is met, and nothing that 20 gaps cannot show is held against the model.
    assert found.goodness.verdict == "fair"
    assert any("cut as pauses" in words for words in found.goodness.words)


@pytest.mark.parametrize(("fast", "slow", "ratio"), [(500, 20, 100), (200, 10, 300), (100, 5, 300), (1000, 100, 30)])
def test_a_slow_regime_is_not_cut(fast, slow, ratio):
    """Its long gaps come in runs of 5 to 100, over and over."""
    for seed in range(5):
        draw, gaps = rng(seed), []
        while sum(map(len, gaps)) < 8000:
            gaps.append(draw.exponential(1.0, draw.geometric(1 / fast)))
            gaps.append(draw.gamma(8, ratio / 8, draw.geometric(1 / slow)))
        assert clean(times_of(np.concatenate(gaps))).pauses == 0


@pytest.mark.parametrize("seed", range(5))
def test_heavy_tails_are_neither_cut_nor_told(seed):
    draw = rng(seed)
    few = draw.random(4000) < 0.03
    tails = (draw.pareto(1.5, 4000), draw.lognormal(0, 1.8, 4000), draw.weibull(0.4, 4000))
    for gaps in (*tails, draw.exponential(np.where(few, 30.0, 1.0))):
        found = clean(times_of(gaps))
        assert found.pauses == 0
        assert found.words == ()


def test_pauses_that_go_over_into_the_working_gaps_are_told():
    """Exponential pauses of 10 minutes behind hyperexponential gaps up to 80 s leave no valley deep enough."""
    for seed in range(5):
        gaps = working("hyperexponential", seed)
        at = rng(seed + 10).choice(4000, 180, replace=False)
        gaps[at] = rng(seed + 20).exponential(600, at.size)
        cleaning = clean(times_of(gaps))
        assert cleaning.pauses == 0
        assert "half of the time lies in" in cleaning.words[0]


@pytest.mark.parametrize("size", [5, 20, 50, 150])
def test_batches_of_many_pages_are_no_runs_between_pauses(size):
    """Pages 5 ms apart, a batch every minute: the gaps between them are the crawl's own."""
    begins = np.cumsum(rng(5).exponential(60.0, 400) + 5.0)
    times = (begins[:, None] + 0.005 * np.arange(size)).ravel()
    cleaning = clean(times)
    assert (cleaning.pauses, cleaning.words) == (0, ())
    found = find_batches(times, cleaning, 0.001)
    assert found.rule == "valley"
    assert set(found.sizes) == {size}
    assert found.words == ()


def test_pages_a_second_apart_are_joined_with_a_word_of_doubt():
    """One gap in ten lasts minutes: batches of ten pages, or a crawl that was stopped; the reader must say."""
    gaps = rng(6).exponential(1.0, 4000)
    at = rng(7).choice(4000, 400, replace=False)
    gaps[at] = rng(8).uniform(300, 900, 400)
    times = times_of(gaps)
    found = find_batches(times, clean(times), 0.001)
    assert found.rule == "valley"
    assert "if the crawler stood still then, say --pause" in found.words[0]


def test_a_coarse_clock_hides_no_pauses():
    """On a clock of one second a third of the gaps of 1 s are zero; the pauses are one gap in 22 all the same."""
    gaps = rng(6).exponential(1.0, 4000)
    at = rng(7).choice(4000, 180, replace=False)
    gaps[at] = rng(8).uniform(300, 900, 180)
    found = clean(np.floor(times_of(gaps)))
    assert found.pauses == 180
    assert "cut as pauses" in found.words[0]


def test_timeouts_are_told_and_not_cut():
    """One page in 25 takes half a minute: such gaps hold 56% of the time, and are the crawl's own."""
    gaps = rng(6).exponential(1.0, 4000)
    at = rng(7).choice(4000, 160, replace=False)
    gaps[at] = rng(8).uniform(28, 32, 160)
    found = clean(times_of(gaps))
    assert found.pauses == 0
    assert "not cut" in found.words[0]


def test_gaps_that_no_model_reaches_are_no_traceback(tmp_path):
    """Pareto gaps of exponent 0.7 have no mean: the longest is most of the log, and some models underflow there."""
    path = tmp_path / "heavy"
    path.write_text("\n".join(f"{1.46e9 + t:.3f}" for t in np.cumsum(rng(8).pareto(0.7, 3000))))
    options = FitOptions(methods=("poisson", "renewal", "mmpp2", "map"), repetitions=20, refits=0)
    assert fit(path, options=options).to_json()["chosen"]["rate_ratio"] == pytest.approx(1, abs=0.1)


def test_the_order_tells_a_regime_from_pauses():
    gaps = rng(2).exponential(1.0, 4000)
    long = rng(3).uniform(300, 900, 160)
    alone, together = gaps.copy(), gaps.copy()
    alone[12::25] = long
    together[(np.arange(0, 4000, 250)[:, None] + np.arange(10)).ravel()] = long
    assert auto_limit(alone) < 300
    assert auto_limit(together) > 900


def test_what_short_stretches_cannot_show_is_not_told():
    """Stretches of 20 gaps of a Poisson stream: only slow ones last 30 s, and lag 15 has a quarter of its pairs."""
    data = Segments(rng(4).exponential(1.0, 4000), np.ones(4000, np.int64), np.arange(0, 4000, 20))
    rho = correlations(data, 15)
    assert np.isfinite(rho[:9]).all()
    assert np.isnan(rho[10:]).all()
    assert np.abs(rho[:9]).max() < 0.06
    counted = count_dispersion(data, np.array([2.0, 15.0, 30.0]))
    assert counted[0] == pytest.approx(1.0, abs=0.15)
    assert np.isnan(counted[1:]).all()
    assert np.isnan(interval_dispersion(data, np.array([1, 5, 10]))).tolist() == [False, False, True]


@pytest.mark.parametrize(("step", "rate"), [(60.0, 0.1), (60.0, 0.05), (10.0, 0.3), (1.0, 5.0)])
def test_rare_pauses_are_found_on_every_clock(step, rate):
    """Pauses of a hundred gaps; nearly all other gaps are one tick or none, which have no tail to judge by."""
    draw = np.random.default_rng([7, int(step)])
    gaps = draw.exponential(1 / rate, 2000)
    exact = np.floor(times_of(gaps) / step) * step
    assert clean(exact - exact[0], resolution=step).pauses == 0
    gaps[[300, 900, 1500]] += 100 / rate
    times = np.floor(times_of(gaps) / step) * step
    found = clean(times - times[0], resolution=step)
    assert found.pauses == 3
    assert found.words == ()
    assert found.paused_seconds == pytest.approx(300 / rate, rel=0.1)


def test_batches_that_lie_across_two_ticks_are_not_told_as_pages_a_second_apart():
    draw = np.random.default_rng(8)
    starts = np.cumsum(draw.exponential(300.0, 300))
    times = np.floor(np.sort(np.repeat(starts, 60) + draw.uniform(0, 0.3, 18_000)))
    found = find_batches(times - times[0], clean(times - times[0], resolution=1.0), 1.0)
    assert found.rule == "valley"
    assert found.words == ()
