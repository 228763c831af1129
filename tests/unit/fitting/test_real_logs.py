"""The real logs: each reads without an option, with the counts of their own list, and fits or says why not."""

import numpy as np
import pytest

from crawltwin.model import InputError
from fitting import FitOptions, fit, read_log

# Rows as the list of the logs gives them; the gap file says one million and holds one less.
COUNTS = {
    "ukwa_example.crawl.log": ("heritrix", 9935),
    "nas_idna-crawl.log": ("heritrix", 1547),
    "nas_11_1140688359422_crawl.log": ("heritrix", 1988),
    "nas_fyensdk.cdx": ("cdx", 189),
    "IAH-20080430204825-00000-blackbook.warc.gz": ("warc", 299),
    "derived_IAH-20080430204825-00000-blackbook.warc.cdxj": ("cdxj", 299),
    "advertools_crawlytics.jl": ("json-lines", 28),
    "BCAUG89.zip": ("plain", 999_999),
}


@pytest.mark.parametrize("name", COUNTS)
def test_reads_without_an_option(shared_logs, name):
    log = read_log(shared_logs / name)
    assert (log.format, log.rows) == COUNTS[name]
    assert log.broken == 0
    if not log.from_gaps:
        assert log.rows == len(log) + sum(log.dropped.values())


def test_an_index_agrees_with_its_archive(shared_logs):
    archive = read_log(shared_logs / "IAH-20080430204825-00000-blackbook.warc.gz")
    index = read_log(shared_logs / "derived_IAH-20080430204825-00000-blackbook.warc.cdxj")
    assert archive.time.tolist() == index.time.tolist()
    assert archive.dropped == index.dropped


def test_the_clock_that_was_an_hour_off_is_noted(shared_logs):
    log = read_log(shared_logs / "nas_11_1140688359422_crawl.log")
    assert any("3600 s off" in note for note in log.notes)


def test_the_gap_file_has_its_known_numbers(shared_logs):
    """Mean 0.00314 s, squared coefficient of variation 3.22, lag-1 correlation 0.200."""
    log = read_log(shared_logs / "BCAUG89.zip")
    gaps = (log.time[1:] - log.time[:-1]) / 1e9
    assert gaps.mean() == pytest.approx(0.00314, abs=5e-6)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(3.22, abs=5e-3)
    centred = gaps - gaps.mean()
    assert centred[:-1] @ centred[1:] / (centred @ centred) == pytest.approx(0.200, abs=5e-4)


@pytest.mark.parametrize("name", [name for name in COUNTS if not name.startswith(("BCAUG", "advertools"))])
def test_fits_better_than_a_poisson_process_and_says_where_not(shared_logs, name):
    """The BIC of the Poisson process in closed form is not smaller, and the verdict counts what is off."""
    result = fit(shared_logs / name, options=FitOptions(repetitions=20, refits=0, max_branches=3))
    data = result.batches.segments
    poisson = np.log(len(data)) + 2 * len(data) * (1 + np.log(data.gaps.mean()))
    good = result.goodness
    assert result.chosen.bic <= poisson + 1e-9 * abs(poisson)
    off = [words for words in good.words if "met" not in words and "no dependence" not in words]
    assert (good.verdict == "good") == (not off)
    assert result.chosen.mean_ratio == pytest.approx(1, abs=0.1)
    assert result.scenario().arrivals.mode(1).page_rate == pytest.approx(result.process.page_rate)


def test_says_why_not(shared_logs):
    with pytest.raises(InputError, match="more than 30 delivered pages to be fitted; got 20 in 28 rows"):
        fit(shared_logs / "advertools_crawlytics.jl")


def test_pauses_dominate_until_they_are_cut(shared_logs):
    """What is known of this crawl: a coefficient above 400 before, between 1.3 and 1.5 after."""
    result = fit(shared_logs / "ukwa_example.crawl.log", options=FitOptions(methods=("poisson",), refits=0))
    assert result.cleaning.scv_before > 400
    assert 1.2 < result.cleaning.scv_after < 1.6
