"""From counters to a model: what is recovered, what is told, what is refused."""

import json

import numpy as np
import pytest

from crawltwin.model import BMAP
from crawltwin.model.errors import InputError
from fitting import FitOptions, fit, read_counts
from fitting.choose.counted.goodness import count_correlations
from fitting.choose.counted.rivals import fit_rivals, local_dispersion
from fitting.trace.segments import CountedIntervals

QUICK = FitOptions(repetitions=20, refits=0)


def _mmpp(moves, rates):
    moves = np.array(moves, float)
    return BMAP([moves - np.diag(moves.sum(axis=1) + rates), np.diag(np.array(rates, float))])


def _totals(process, intervals, step, seed):
    """Totals at the ends of intervals of a drawn stream."""
    rng = np.random.default_rng(seed)
    times = process.sample(rng, int(1.5 * process.page_rate * intervals * step) + 500).times
    assert times[-1] > intervals * step
    return np.searchsorted(times, np.arange(intervals + 1) * step)


def _matrix(totals, step=60, name="pages_total", **labels):
    values = [[1_714_550_400 + step * k, str(total)] for k, total in enumerate(totals)]
    return {"metric": {"__name__": name, **labels}, "values": values}


def _export(*series):
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": list(series)}})


@pytest.fixture
def written(tmp_path):
    def write(text, name="counts.json"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


TRUTH = _mmpp([[0, 0.003], [0.002, 0]], [0.25, 0.05])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    path = tmp_path_factory.mktemp("counts") / "counts.json"
    path.write_text(_export(_matrix(_totals(TRUTH, 1200, 60, 3))))
    return fit(path, options=QUICK)


def test_regimes_are_recovered(fitted):
    assert fitted.chosen.method == "mmpp2"
    assert fitted.chosen.order == 2
    D0, D1 = np.asarray(fitted.process.D[0]), np.asarray(fitted.process.D[1])
    order = np.argsort(-np.diag(D1))
    assert np.diag(D1)[order] == pytest.approx([0.25, 0.05], rel=0.1)
    assert [D0[order[0], order[1]], D0[order[1], order[0]]] == pytest.approx([0.003, 0.002], rel=0.35)
    for horizon in (60.0, 600.0, 3600.0):
        assert fitted.process.dispersion(horizon) == pytest.approx(TRUTH.dispersion(horizon), rel=0.3)
    assert fitted.goodness.verdict != "poor"


def test_the_answer_has_the_keys_of_a_fit_and_says_what_counts_cannot_tell(fitted):
    answer = fitted.to_json()
    for key in ("trace", "candidates", "chosen", "sizes", "obsolescence", "goodness", "verdict", "warnings"):
        assert key in answer
    assert answer["trace"]["format"] == "prometheus"
    assert answer["trace"]["rows"] == 1200
    assert answer["trace"]["resolution"] == 60
    words = " ".join(answer["cannot_tell"])
    for what in ("batches within an interval", "gaps between pages", "indexing times", "sizes", "replayed"):
        assert what in words
    scenario = fitted.scenario(capacity=10, service_mean=2.0)
    assert scenario.arrivals.mode(1).page_rate == pytest.approx(fitted.process.page_rate)


def test_correlations_of_counts_are_those_of_drawn_ones():
    totals = _totals(TRUTH, 20_000, 60, 5)
    counts = np.diff(totals).astype(float)
    centred = counts - counts.mean()
    drawn = [centred[:-lag] @ centred[lag:] / (centred @ centred) for lag in (1, 2, 3)]
    assert count_correlations(TRUTH, 60.0, 3) == pytest.approx(drawn, abs=0.05)


def test_poisson_counts_and_regular_ones():
    rng = np.random.default_rng(8)
    data = CountedIntervals(np.ones(300), rng.poisson(8, 300), np.zeros(1, np.int64))
    found, failed = fit_rivals(data, QUICK)
    assert not failed
    best = min(found, key=lambda one: one.bic)
    assert best.name == "Poisson"
    assert 1 / best.model.mean_gap == pytest.approx(data.sizes.mean())
    # Erlang gaps of four stages: a quarter of the dispersion of a Poisson stream.
    gaps = rng.gamma(4.0, 0.25 / 6, 2200)
    regular = np.diff(np.searchsorted(np.cumsum(gaps), np.arange(301.0)))
    data = CountedIntervals(np.ones(300), regular, np.zeros(1, np.int64))
    assert local_dispersion(data) < 0.5
    found, _ = fit_rivals(data, QUICK)
    best = min(found, key=lambda one: one.bic)
    assert best.method == "renewal"
    assert 3 <= best.order <= 5


def test_pages_in_batches_are_told_from_single_ones():
    """Neighbouring counts differ three times as much as Poisson ones do: geometric batches of two pages."""
    rng = np.random.default_rng(8)
    sizes = 0.5 ** np.arange(1, 31)
    drawn = BMAP.poisson(10.0, sizes / sizes.sum()).sample(rng, 8_000)
    pages = np.bincount(drawn.times.astype(np.int64), drawn.sizes)[:600].astype(np.int64)
    data = CountedIntervals(np.ones(600), pages, np.zeros(1, np.int64))
    assert local_dispersion(data) == pytest.approx(3, rel=0.2)
    found, failed = fit_rivals(data, FitOptions(methods=("poisson",)))
    assert not failed
    plain, batched = found
    assert (plain.method, batched.method, batched.name) == ("poisson", "batched", "Poisson in batches")
    assert batched.bic < plain.bic - 100
    process = batched.model.bmap()
    assert process.mean_batch == pytest.approx(2, rel=0.15)
    assert process.page_rate == pytest.approx(pages.mean(), rel=1e-4)
    assert batched.model.mean_gap == pytest.approx(1 / pages.mean())
    ranks = np.sort(batched.model.residuals(data))
    assert np.abs(ranks - (np.arange(600) + 0.5) / 600).max() < 1.63 / 600**0.5  # Kolmogorov, 1%
    # Poisson counts leave no room for batches.
    single = CountedIntervals(np.ones(600), rng.poisson(20, 600), np.zeros(1, np.int64))
    assert [one.method for one in fit_rivals(single, FitOptions(methods=("poisson",)))[0]] == ["poisson"]


def test_large_counts_are_fitted_in_slices_and_it_is_said(written):
    rng = np.random.default_rng(2)
    level = np.where(rng.random(200).cumsum() % 20 < 10, 9000, 6000)
    totals = np.concatenate([[0], np.cumsum(rng.poisson(level))])
    found = fit(written(_export(_matrix(totals))), options=QUICK)
    assert found.chosen.method == "mmpp2"
    assert any("too large for the exact likelihood" in words for words in found.warnings)
    assert all("approximate" in one.notes[0] for one in found.candidates if one.method == "mmpp2")
    rates = np.sort(np.diag(np.asarray(found.process.D[1])))
    assert rates[[0, -1]] * 60 == pytest.approx([6000, 9000], rel=0.03)


def test_pauses_resets_and_missing_samples(written):
    rng = np.random.default_rng(6)
    counts = rng.poisson(20, 400)
    counts[150:180] = 0  # the crawler stood still for half an hour
    totals = np.concatenate([[0], np.cumsum(counts)])
    totals[301:] -= totals[301]  # restarted
    entry = _matrix(totals)
    for k in (50, 60):  # an interval of two minutes is as good as two of one
        entry["values"][k][1] = "NaN"
    del entry["values"][90:100]
    found = fit(written(_export(entry)), options=QUICK)
    assert found.cleaning.pauses == 1
    data = found.batches.segments
    assert data.first.size == 4  # the pause, the restart and the ten missing samples cut
    assert found.numbers["page_rate"].value == pytest.approx(20 / 60, rel=0.05)
    words = " ".join(found.warnings)
    assert "1 samples were left out: the counter fell" in words
    assert "2 samples were left out: the total is no number" in words
    assert "1 intervals longer than 2.5 ordinary ones" in words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_export(_matrix([5])), r"at least two samples of a total, at different times; got 1"),
        (_export(_matrix([5, 5, 5], step=0)), r"at least two samples of a total, at different times; got 3"),
        (_export(_matrix(range(20))), r"at least 30 intervals and as many pages .*; got 19 intervals with 19 pages"),
        (_export(_matrix([0, 5, -3])), r"not negative; got -3 at .*sample 3.* without rate\(\)"),
        (_export(_matrix(["0", "1.5"])), r"whole number of pages, not negative; got 1.5"),
        (_export(_matrix([3, 5, 2] * 20)), r"must not fall but after a restart; got 20 falls .*A gauge"),
        (_export(_matrix(range(0, 700, 10))), r"the counts must vary to be fitted; got 69 times 10"),
        (_export(_matrix([1, 2]), _matrix([1, 2], name="errors_total")), r"one counter; got errors_total, pages_total"),
        (_export(), r"at least one series; got none"),
        ('{"status":"success","data":{"resultType":"vector","result":[]}}', r"result type matrix; got 'vector'"),
        ('{"data":{"resultType":"matrix","result":[{"metric":{}}]}}', r"must have values; got one without"),
        ('{"data":{"resultType":"matrix","result":[', r"one JSON document with data.result; got JSONDecodeError"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_words(written, text, message):
    with pytest.raises(InputError, match=message):
        fit(written(text), options=QUICK)


def test_families_that_need_gaps_are_refused(written):
    path = written(_export(_matrix(np.cumsum(np.random.default_rng(1).poisson(5, 50)))))
    with pytest.raises(InputError, match="model must be one of poisson, renewal, mmpp2, map for counts; got 'erlang'"):
        fit(path, options=FitOptions(model="erlang"))


def test_series_of_one_counter_are_added_up(written):
    one, two = _matrix([0, 5, 6, 9], instance="a"), _matrix([7, 8, 8, 10], instance="b")
    counts = read_counts(written(_export(one, two)))
    assert counts.count.tolist() == [6, 1, 5]
    assert "2 series of pages_total were added up; they differ in instance" in counts.notes[0]
    two["values"][2][1] = "NaN"  # its interval is longer then, and so is that of the sum
    assert read_counts(written(_export(one, two))).count.tolist() == [6, 6]
    two["values"][2][1] = "3"  # one of them restarted: the interval tells nothing
    assert read_counts(written(_export(one, two))).count.tolist() == [6, 10]
