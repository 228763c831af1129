"""Output analysis against textbook formulas, independent programs and known distributions."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.tsa.stattools import acf

from crawltwin.model import (
    BMAP,
    CostWeights,
    InputError,
    Interval,
    ModeMatrices,
    Scenario,
    ThresholdPolicy,
    exponential,
)
from simulate import simulate
from simulate.engine.columns import LEVELS, SUM
from simulate.engine.statistics import cell_edges
from simulate.sample.collection import lag_one
from simulate.sample.estimates import Sample, histogram_quantile
from simulate.sample.intervals import Intervals, quantile_intervals, student, wilson
from simulate.sample.units import Reading, Units
from simulate.sample.warm_up import mser5


def estimate(sums: np.ndarray, confidence: float) -> Intervals:
    return Sample(Units.of_sums(sums), READING).intervals(confidence)


def some_sums(count: int, rng: np.random.Generator, loss: float = 0.2) -> np.ndarray:
    """Units of pages that are independent, so every probability is known."""
    sums = np.zeros((count, LEVELS + 2))
    sums[:, SUM.time] = 100.0
    sums[:, SUM.delivered] = rng.poisson(500, count) + 1
    sums[:, SUM.batches] = sums[:, SUM.delivered]
    sums[:, SUM.lost] = rng.binomial(sums[:, SUM.delivered].astype(int), loss)
    sums[:, SUM.served] = sums[:, SUM.delivered] - sums[:, SUM.lost]
    sums[:, SUM.sojourn_served] = rng.gamma(sums[:, SUM.served])
    sums[:, SUM.sojourn_served_squares] = 2 * sums[:, SUM.served]
    sums[:, LEVELS] = rng.uniform(30, 50, count)
    sums[:, LEVELS + 1] = 100 - sums[:, LEVELS]
    return sums


READING = Reading(np.array([2, 1]), CostWeights(loss=1.0, response=2.0), ages=False)


def test_student_interval_of_a_mean_is_the_textbook_one():
    values = np.array([3.1, 2.7, 3.3, 2.9, 3.6])
    found = student(values.mean(), values.std(ddof=1) / math.sqrt(5), 5, 0.95)
    low, high = stats.t.interval(0.95, 4, loc=values.mean(), scale=stats.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)


def test_jackknife_of_a_time_average_over_equal_units_is_the_plain_mean():
    sums = some_sums(15, np.random.default_rng(1))
    found = estimate(sums, 0.9).measures["starvation_probability"]
    plain = sums[:, LEVELS] / 100
    low, high = stats.t.interval(0.9, 14, loc=plain.mean(), scale=stats.sem(plain))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-10)


def test_jackknife_and_delta_agree_to_first_order_and_with_the_classical_ratio_formula():
    sums = some_sums(400, np.random.default_rng(2))
    by_jackknife = Sample(Units.of_sums(sums), READING).pseudo("jackknife")["loss_probability"]
    by_delta = Sample(Units.of_sums(sums), READING).pseudo("delta")["loss_probability"]
    ratio = sums[:, SUM.lost].sum() / sums[:, SUM.delivered].sum()
    residuals = sums[:, SUM.lost] - ratio * sums[:, SUM.delivered]
    classical = residuals.std(ddof=1) / sums[:, SUM.delivered].mean()
    assert by_delta.std(ddof=1) == pytest.approx(classical, rel=1e-3)
    assert by_jackknife.std(ddof=1) == pytest.approx(classical, rel=1e-2)


def test_ratio_intervals_cover_the_known_probability():
    rng = np.random.default_rng(3)
    hits = [estimate(some_sums(20, rng), 0.95).measures["loss_probability"].covers(0.2) for _ in range(400)]
    low, high = stats.binom.ppf([0.0005, 0.9995], 400, 0.95)
    assert low <= sum(hits) <= high


def test_rare_probabilities_get_wilson_intervals_that_cover():
    """About four losses in 10,000 pages: Student's interval would often miss or reach below 0."""
    rng = np.random.default_rng(4)
    loss = 4e-4
    found = [estimate(some_sums(20, rng, loss), 0.95).measures["loss_probability"] for _ in range(400)]
    assert all(interval.low >= 0 and interval.high > 0 for interval in found)
    covered = sum(interval.covers(loss) for interval in found)
    assert covered >= stats.binom.ppf(0.0005, 400, 0.95)


def test_a_loss_that_was_never_seen_has_an_upper_limit():
    sums = some_sums(20, np.random.default_rng(5), loss=0.0)
    found = estimate(sums, 0.95).measures["loss_probability"]
    pages = sums[:, SUM.delivered].sum()
    z = stats.norm.ppf(0.975)
    assert found.value == found.low == 0
    assert found.high == pytest.approx(z**2 / (pages + z**2), rel=1e-9)


def test_wilson_is_the_formula():
    n, p, z = 50.0, 0.1, stats.norm.ppf(0.975)
    centre, reach = (
        (p + z * z / (2 * n)) / (1 + z * z / n),
        z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n),
    )
    found = wilson(p, n, 0.95)
    assert (found.low, found.high) == pytest.approx((centre - reach, centre + reach), rel=1e-12)


def test_measures_that_cannot_exist_are_none():
    found = estimate(some_sums(10, np.random.default_rng(6)), 0.95)
    assert found.measures["mean_sojourn_obsolete"] is None
    assert found.measures["obsolescence_probability"] == Interval(0.0, 0.0, 0.0, 0.95)
    assert Reading(np.array([2, 1]), None, ages=True).measures(np.ones(LEVELS + 2)).keys() == (
        READING.measures(np.ones(LEVELS + 2)).keys() - {"cost"}
    )


def test_fates_add_up_to_one():
    sums = some_sums(10, np.random.default_rng(7))
    sums[:, SUM.obsolete] = 7
    found = READING.measures(sums.sum(axis=0))
    total = found["loss_probability"] + found["obsolescence_probability"] + found["success_probability"]
    assert total == pytest.approx(1, abs=1e-15)


def test_lag_one_is_that_of_statsmodels():
    values = np.random.default_rng(8).normal(size=50).cumsum()
    assert lag_one(values) == pytest.approx(acf(values, nlags=1, fft=False)[1], rel=1e-12)
    assert lag_one(np.ones(5)) == 0.0


def test_effective_size_of_independent_pages_is_their_number():
    sums = some_sums(2000, np.random.default_rng(9))
    size = estimate(sums, 0.95).effective["loss_probability"]
    assert size == pytest.approx(sums[:, SUM.delivered].sum(), rel=0.15)


def exponential_histograms(rng: np.random.Generator, units: int, pages: int) -> Sample:
    first, cells = -64 * 20, 64 * 30
    edges = cell_edges(first, cells)
    rows = [np.histogram(rng.exponential(size=pages), bins=edges)[0] for _ in range(units)]
    return Sample(Units(np.zeros((units, LEVELS + 1)), np.array([[row, row] for row in rows]), first), READING)


@pytest.mark.parametrize("p", [0.5, 0.95, 0.99])
def test_quantiles_of_exponential_times_cover(p: float):
    rng = np.random.default_rng(10)
    truth = -math.log(1 - p)
    hits = sum(
        quantile_intervals(exponential_histograms(rng, 20, 2000), (p,), 0.95)["served"][p].covers(truth)
        for _ in range(200)
    )
    low, high = stats.binom.ppf([0.0005, 0.9995], 200, 0.95)
    assert low <= hits <= high


def test_a_quantile_beyond_the_data_is_left_out():
    found = exponential_histograms(np.random.default_rng(11), 20, 50)
    assert list(quantile_intervals(found, (0.5, 0.99), 0.95)["served"]) == [0.5]


def test_histogram_quantile_is_within_a_cell():
    rng = np.random.default_rng(12)
    values = rng.lognormal(size=20_000)
    edges = cell_edges(-64 * 20, 64 * 40)
    cells = np.histogram(values, bins=edges)[0]
    for p in (0.01, 0.5, 0.9, 0.999):
        assert histogram_quantile(cells, edges, p) == pytest.approx(np.quantile(values, p), rel=0.02)


def brute_force_mser5(series: np.ndarray) -> int:
    means = series.reshape(-1, 5).mean(axis=1)
    scores = [means[d:].var() / (means.size - d) for d in range(means.size // 2 + 1)]
    return 5 * int(np.argmin(scores))


def test_mser5_is_the_minimum_of_its_definition():
    rng = np.random.default_rng(13)
    for _ in range(50):
        series = rng.normal(size=200) + 5 * np.exp(-np.arange(200) / rng.uniform(1, 30))
        assert mser5(series)[0] == brute_force_mser5(series)


def test_mser5_cuts_a_start_and_says_when_it_finds_no_end():
    rng = np.random.default_rng(14)
    start = np.where(np.arange(300) < 60, 8.0, 0.0) + rng.normal(size=300)
    assert mser5(start) == (60, True)
    assert mser5(np.arange(300.0))[1] is False


@pytest.mark.parametrize("series", [[1.0] * 5, [1.0] * 9 + [math.nan] * 6])
def test_mser5_refuses_what_it_cannot_use(series: list[float]):
    with pytest.raises(InputError, match="series must be"):
        mser5(series)


def test_a_planted_interval_that_is_too_narrow_is_noticed():
    """The check of coverage itself must be able to fail: halved intervals cover about 67%."""
    rng = np.random.default_rng(15)
    hits = 0
    for _ in range(400):
        found = estimate(some_sums(20, rng), 0.95).measures["loss_probability"]
        hits += abs(found.value - 0.2) <= found.half_width / 2
    low, _ = stats.binom.ppf([0.0005, 0.9995], 400, 0.95)
    assert hits < low


@pytest.mark.parametrize("visits", [0.1, 0.4, 1.5])
def test_levels_that_are_seldom_seen_have_intervals_that_cover(visits: float):
    """Poisson visits of exponential length in each of 20 units: Student's and Wilson's intervals held 85 to 93%."""
    rng, hits, experiments = np.random.default_rng(16), 0, 600
    for _ in range(experiments):
        sums = some_sums(20, rng)
        sums[:, LEVELS + 1] = rng.gamma(rng.poisson(visits, 20)) / 10
        sums[:, LEVELS] = 100.0 - sums[:, LEVELS + 1]
        hits += estimate(sums, 0.95).levels[1].covers(visits / 1000)
    assert hits >= stats.binom.ppf(0.0005, experiments, 0.95)


def test_an_indexer_that_was_never_seen_idle_has_an_upper_limit():
    # M/M/1 with five pages at most and ten times the load: idle for p_0 = 9 / (10^6 - 1) of the time.
    busy = Scenario(5, ModeMatrices({1: BMAP.poisson(10.0)}), exponential(1.0))
    found = simulate(busy, pages=500, replications=5, warmup=5.0, workers=1)
    idle, empty = found["starvation_probability"], found["level_distribution"][0]
    assert idle.value == 0.0
    assert 9 / (10**6 - 1) < idle.high < 0.01
    assert (idle.low, idle.high) == (empty.low, empty.high)


def test_a_number_of_robots_that_was_never_seen_keeps_the_mean_open():
    # Hardly any page: the threshold is crossed for about 1e-12 of the time, which no short run sees.
    arrivals = ModeMatrices({1: BMAP.poisson(1e-6), 3: BMAP.poisson(1e-6)})
    calm = Scenario(5, arrivals, exponential(1.0), policy=ThresholdPolicy([3, 1], [1]))
    found = simulate(calm, pages=500, replications=5, workers=1)
    robots = found["mean_active_robots"]
    assert found["switch_rate"].value == 0.0
    assert robots.value == robots.high == pytest.approx(3.0, rel=1e-12)
    assert 2.9 < robots.low < 3 - 2e-12
    always = simulate(calm.replace(policy=ThresholdPolicy([3])), pages=500, replications=5, workers=1)
    assert always["mean_active_robots"].low == 3.0
