"""When a list is done: the pace of the crawl, its pauses, queues of hosts, and what is found on the way."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from crawltwin.plan.evidence import finish
from crawltwin.plan.evidence.finish import Finish, FinishTimes, finish_of
from crawltwin.plan.evidence.frontier import Growth
from crawltwin.plan.evidence.pace import ONE_HOST, SEVERAL_HOSTS, Habits, page_noise, shared_times, unforeseen
from crawltwin.plan.url_list import UrlList
from crawltwin.plan.wording import in_time
from fitting.trace.cleaning import Stretch

ONE = np.ones(1)


def shared(times, urls, draws=4000, habits=SEVERAL_HOSTS):
    """Of a log with one page at each time."""
    return shared_times(
        np.arange(1, times.size + 1), times, np.full(draws, float(urls)), habits, np.random.default_rng(2)
    )


@pytest.fixture
def foreseen(monkeypatch):
    """Nothing happens that the log has not shown."""
    monkeypatch.setattr(finish, "unforeseen", lambda habits, rng, draws: np.ones(draws))


@pytest.fixture
def steady(monkeypatch, foreseen):
    """The pace is that so far, without noise: the other parts of the answer are looked at alone."""
    monkeypatch.setattr(finish, "shared_times", lambda came, running, urls, habits, rng: urls * running[-1] / came[-1])
    monkeypatch.setattr(finish, "_with_pages", lambda running, fit: 0.0)
    monkeypatch.setattr(finish, "DRAWS", 4000)


def _fit(*stretches, host=None):
    """A log with two pages in each stretch."""
    found = tuple(Stretch(2 * k, 2 * k + 2, a, b, True) for k, (a, b) in enumerate(stretches))
    log = SimpleNamespace(seconds=np.array(stretches).ravel(), host=host, took=None)
    return SimpleNamespace(log=log, cleaning=SimpleNamespace(stretches=found))


def _done(mean):
    return SimpleNamespace(mean=mean)


def test_the_doubt_of_the_rate_of_a_policy_widens_the_answer(steady):
    found = finish_of(100, _done(100.0), np.array([0.5, 1.0, 2.0]), _fit((0.0, 50.0)), seed=1)
    assert (found.low, found.median, found.high) == (50.0, 100.0, 200.0)
    assert found.tail == 0.0


def test_pauses_are_counted_in(steady):
    # 400 pauses of 10 s in 4,000 s of running: a pause of 10 s every 10 s, so that all takes twice as long.
    stretches = [(20.0 * k, 20.0 * k + 10.0) for k in range(401)]
    found = finish_of(500, _done(1000.0), ONE, _fit(*stretches), seed=1)
    assert found.median == pytest.approx(2000.0, rel=0.02)
    # Poisson counts of mean 100, and the doubt of 400 pauses: a standard deviation of about 10 * sqrt(100 + 25).
    assert found.high - found.low == pytest.approx(2 * 1.645 * 10 * np.sqrt(125), rel=0.1)
    words = FinishTimes(500, found, found, 400).in_words()
    assert "500 URLs are fetched in 33" in words
    assert "pauses like the 400 of the log are counted in" in words
    assert "The pace of the whole crawl decides" in words
    assert "the log does not tell them" in words


def _paused_at(pages):
    """A hundred pages in each of 10 s and then one in each of 90: pauses before these pages."""
    gaps = np.append(np.full(1000, 0.01), np.full(90, 1.0))
    gaps[pages] += 500.0
    seconds = np.cumsum(gaps)
    edges = [0, *pages, seconds.size]
    stretches = tuple(Stretch(a, b, seconds[a], seconds[b - 1], True) for a, b in pairwise(edges))
    log = SimpleNamespace(seconds=seconds, host=None, took=None)
    return SimpleNamespace(log=log, cleaning=SimpleNamespace(stretches=stretches))


def test_pauses_come_with_time_or_with_pages_as_in_the_log():
    """Ten times as many pages by hosts that are slow together: pauses of 500 s come ten times as often, or more."""

    def with_pages(pages):
        fit = _paused_at(pages)
        return finish._with_pages(finish._history(fit)[1], fit)

    assert with_pages([100, 300, 500, 700, 900]) > 0.99
    assert with_pages([550, 1020, 1040, 1060, 1080]) < 0.01
    fit = _paused_at([100, 300, 500, 700, 900])
    slow, ten = np.full(4000, 1e5), np.full(4000, 10.0)
    paused = finish._paused(slow, ten, finish._history(fit)[1], fit, np.random.default_rng(1))
    assert paused.mean() == pytest.approx(10 * 5.5 * 500.0, rel=0.05)


def test_pauses_in_one_bout_are_as_good_as_one():
    """Nine pauses in nine hundredths of the log and none elsewhere: as much again has no pause in a third of the cases.

    A gamma law of shape 1.5 of Poisson numbers: none with the probability 2^-1.5; of nine pauses apart 2^-9.5.
    """
    gaps = np.ones(900)
    none = []
    for pages in (np.arange(500, 509), np.arange(50, 900, 100)):
        long = gaps.copy()
        long[pages] += 200.0
        seconds = np.cumsum(long)
        edges = [0, *pages.tolist(), 900]
        found = tuple(Stretch(a, b, seconds[a], seconds[b - 1] + 1e-9, True) for a, b in pairwise(edges))
        fit = SimpleNamespace(
            log=SimpleNamespace(seconds=seconds, host=None), cleaning=SimpleNamespace(stretches=found)
        )
        observed = sum(stretch.end - stretch.begin for stretch in found)
        paused = finish._paused(
            np.full(4000, observed), np.ones(4000), finish._history(fit)[1], fit, np.random.default_rng(1)
        )
        none.append(np.mean(paused == 0))
        assert paused.mean() == pytest.approx(9 * 200.0, rel=0.6)
    assert none == pytest.approx([2**-1.5, 2**-9.5], abs=0.03)


def test_many_pauses_cost_no_memory(steady):
    """A hundred times the log of the test above: 40,000 pauses in each of 4,000 draws."""
    stretches = [(20.0 * k, 20.0 * k + 10.0) for k in range(401)]
    found = finish_of(500, _done(400_000.0), ONE, _fit(*stretches), seed=1)
    assert found.median == pytest.approx(800_000.0, rel=0.01)


def test_a_list_by_host_ends_with_the_slowest_host(foreseen):
    """Two hosts in turn, a page of each every 2 s: of one 10 are left, of the other 1,000, which take 2,000 s."""
    host = np.tile(np.array([7, 9], dtype=np.uint64), 200)
    seconds = np.arange(400.0)
    log = SimpleNamespace(seconds=seconds, host=host, took=np.full(400, 1.9))
    fit = SimpleNamespace(log=log, cleaning=SimpleNamespace(stretches=(Stretch(0, 400, 0.0, 399.0, True),)))
    wanted = UrlList("list", ("a.org", "b.org"), (9, 7), (1000, 10))
    found = finish_of(wanted, _done(1010.0), ONE, fit, seed=1)
    # The gap has the doubt of twenty gaps seen, and is not below the fetch.
    assert found.low > 1.9 * 1000 * 0.99
    assert found.median == pytest.approx(2000.0, rel=0.1)
    assert found.tail > 0.95
    even = finish_of(UrlList("list", ("a.org", "b.org"), (9, 7), (505, 505)), _done(1010.0), ONE, fit, seed=1)
    assert even.median < 0.7 * found.median
    words = FinishTimes(1010, found, found, 0, hosts_known=True).in_words()
    assert "Few slow hosts are the last in" in words
    assert "--urls FILE" not in words
    assert "--urls FILE" in FinishTimes(1010, found, found, 0).in_words()


def test_a_frontier_without_an_end_is_told(steady):
    growth = Growth(400, np.array([300.0, 100.0]), np.array([200.0, 200.0]), np.array([400.0, 400.0]), 1.0)
    found = Finish(10.0, 5.0, 20.0, 10.0)
    endless = Finish(np.inf, np.inf, np.inf, 10.0)
    words = FinishTimes(100, found, found, 0, growth=growth, today_grown=endless, plan_grown=endless).in_words()
    assert "no end in sight: a page brings 2 new URLs" in words
    open_ended = Finish(30.0, 9.0, np.inf, 9.0)
    grown = FinishTimes(100, found, found, 0, growth=growth, today_grown=open_ended, plan_grown=found)
    assert "10 s (in nine of ten cases 5 s to 20 s) under the policy, 30 s" in grown.in_words()
    assert "9 s to without an end" in grown.rows()[1][1]
    assert grown.to_json()["with_links"]["today"]["high"] is None


def test_the_plain_formula_stands_beside_the_answer():
    found = FinishTimes(100, Finish(10.0, 5.0, 20.0, 10.0), Finish(10.0, 5.0, 20.0, 10.0), 0, linear=7200.0)
    assert f"pauses included, it would be {in_time(7200.0)} today" in found.in_words()
    assert found.to_json()["linear"] == 7200.0


def test_what_no_log_shows_makes_some_cases_longer():
    """A logarithm of mean 1/2 in half of the cases: the factor f is exceeded with probability f^-2 / 2."""
    half = Habits(steady=0.5, slows=0.9, unforeseen=0.5, lengthened=0.5)
    factors = unforeseen(half, np.random.default_rng(1), 400_000)
    assert factors.min() == 1.0
    for factor in (1.0, 1.5, 3.0, 10.0):
        assert np.mean(factors > factor) == pytest.approx(factor**-2 / 2, abs=0.003)


def test_a_crawl_is_not_taken_to_go_on_speeding_up():
    """Gaps that rise or fall as n^0.3 and n^-0.3, with the noise of 60 pages: only the slower crawl goes on so."""
    rng = np.random.default_rng(4)

    def against_linear(power):
        crawls = [np.cumsum(rng.exponential(np.arange(1, 61) ** power)) for _ in range(30)]
        return np.median([np.median(shared(times, 60)) / times[-1] for times in crawls])

    slower, faster = against_linear(0.3), against_linear(-0.3)
    # A power law that was known exactly would give 2^1.3 - 1 = 1.46 and 2^0.7 - 1 = 0.62.
    assert 1.12 < slower < 1.46
    assert faster > 0.85


def test_one_page_of_a_poisson_stream_has_an_exponential_law():
    """Its quantiles are -log(1 - q): 0.05, 0.69 and 3.0, where a normal law has one below zero."""
    times = np.cumsum(np.random.default_rng(1).exponential(1.0, 20_000))
    low, median, high = np.quantile(shared(times, 1, draws=20_000), [0.05, 0.5, 0.95])
    # The noise of a page is told by few batches, so that the law is somewhat wider than that of a known rate.
    assert 0.005 < low < 0.06
    assert [median, high] == pytest.approx(-np.log([0.5, 0.05]), rel=0.5)
    words = FinishTimes(1, Finish(1.0, 0.5, 2.0, 1.0), Finish(1.0, 0.5, 2.0, 1.0), 0)
    assert words.in_words().startswith("1 URL is fetched in 1 s")
    assert words.rows()[0][0] == "the URL that is known"


def test_a_steady_crawl_goes_on_at_its_pace():
    """A Poisson stream: 20,000 further pages have a standard deviation of 20,000^(1/2), as the mean so far has."""
    times = np.cumsum(np.random.default_rng(1).exponential(1.0, 20_000))
    low, median, high = np.quantile(shared(times, 20_000), [0.05, 0.5, 0.95])
    assert median == pytest.approx(times[-1], rel=0.01)
    assert page_noise(np.arange(1, 20_001), times) == pytest.approx(1.0, rel=0.6)
    exact = 2 * 1.645 * np.sqrt(2 / 20_000)
    assert exact * 0.8 < (high - low) / median < exact * 3


@pytest.mark.parametrize("habits", [ONE_HOST, SEVERAL_HOSTS])
def test_a_short_crawl_keeps_its_pace_where_the_log_shows_nothing_else(habits):
    """Sixty pages of a Poisson stream: the linear formula is the best guess, and the median stays near it."""
    rng = np.random.default_rng(4)
    crawls = [np.cumsum(rng.exponential(1.0, 60)) for _ in range(30)]
    found = np.median([np.median(shared(times, 180, 1000, habits)) / (3 * times[-1]) for times in crawls])
    assert 0.9 < found < 1.1


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (None, SEVERAL_HOSTS),
        (np.ones(20, dtype=np.uint64), ONE_HOST),
        (np.array([7] * 19 + [8], dtype=np.uint64), ONE_HOST),
        (np.array([7] * 16 + [8] * 4, dtype=np.uint64), SEVERAL_HOSTS),
        (np.array([7] * 16 + [0] * 4, dtype=np.uint64), SEVERAL_HOSTS),
    ],
)
def test_habits_follow_the_hosts_of_the_log(host, expected, monkeypatch):
    """0 is a page whose host is not known."""
    used = []
    monkeypatch.setattr(finish, "unforeseen", lambda habits, rng, draws: used.append(habits) or np.ones(draws))
    finish_of(10, _done(10.0), ONE, _fit(*[(10.0 * k, 10.0 * k + 5) for k in range(10)], host=host), seed=1)
    assert used == [expected]


def test_a_crawl_that_slows_down_as_a_power_goes_on_like_that():
    """T(n) = n^1.5 exactly: twice as many pages take 2^1.5 times as long."""
    times = np.arange(1, 5001) ** 1.5
    found = shared(times, 5000)
    assert np.median(found) / times[-1] == pytest.approx(2**1.5 - 1, rel=0.05)
    assert shared(3600 * times, 5000) == pytest.approx(3600 * found), "the unit of time is immaterial"
    # Counts of every fifty pages tell nearly the same.
    counted = shared_times(
        np.arange(50, 5001, 50), times[49::50], np.full(4000, 5000.0), SEVERAL_HOSTS, np.random.default_rng(2)
    )
    assert np.median(counted) / times[-1] == pytest.approx(2**1.5 - 1, rel=0.05)


def test_intervals_hold_where_the_pace_is_a_brownian_motion_on_logarithmic_scales():
    """Paths of the law itself, drift and variance from their priors, seen for a quarter of their pages."""
    rng = np.random.default_rng(3)
    held = []
    steps = np.diff(np.log(np.arange(1, 2001)), prepend=0.0)
    for _ in range(200):
        slope = 1.0 if rng.random() < 0.8 else rng.normal(1.0, 0.4)
        variance = 0.0 if rng.random() < 0.8 else 0.0005 * 2.0 ** rng.integers(0, 12)
        path = np.exp(np.cumsum(slope * steps + np.sqrt(variance * steps) * rng.standard_normal(2000)))
        times = np.maximum.accumulate(path)
        low, high = np.quantile(shared(times[:500], 1500, 1000), [0.05, 0.95])
        held.append(low <= times[-1] - times[499] <= high)
    # 200 intervals of 90%: fewer than 166 would be three standard deviations too few.
    assert sum(held) >= 166


def test_a_short_log_has_the_doubt_of_a_poisson_stream():
    """Ten pages that happen to come evenly: 90% of the sums of 10 more, over those of 10, lie within a factor of 3."""
    low, high = np.quantile(shared(np.arange(1.0, 11.0), 10), [0.05, 0.95])
    assert high / low > 2
