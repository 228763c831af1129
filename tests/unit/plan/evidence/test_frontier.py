"""A frontier that grows: branching in closed form, and what logs tell of it."""

import numpy as np
import pytest
from scipy.optimize import brentq

from crawltwin.plan.evidence.frontier import Growth, fetched_in_all, growth_of
from fitting import CountLog, RawLog


def test_a_subcritical_branching_process_has_the_mean_of_the_books():
    """Of 100 URLs that bring m = 0.5 each, 100 / (1 - m) are fetched; m of one or more never ends."""
    assert fetched_in_all(100.0, np.array([0.0, 0.5, 0.9]), np.zeros(3)) == pytest.approx([100.0, 200.0, 1000.0])
    assert np.isinf(fetched_in_all(100.0, np.array([1.0, 3.0]), np.zeros(2))).all()


@pytest.mark.parametrize(("rate", "fall"), [(0.5, 1e-3), (2.0, 1e-3), (5.0, 0.02)])
def test_a_frontier_of_a_finite_site_is_empty_where_the_balance_is(rate, fall):
    found = fetched_in_all(100.0, np.array([rate]), np.array([fall]))[0]
    root = brentq(lambda y: 100 + rate * (1 - np.exp(-fall * y)) / fall - y, 99.0, 1e6)
    assert found == pytest.approx(root)


def _log(parent):
    """A log of pages whose parents are these, by number; -1 for a seed."""
    times = np.arange(parent.size) * 10**9
    log = RawLog.of_times(times)
    object.__setattr__(log, "page", np.arange(1, parent.size + 1).astype(np.uint64))
    object.__setattr__(log, "parent", (parent + 1).astype(np.uint64))
    return log


def test_new_urls_per_page_are_those_of_a_first_come_first_served_crawl():
    """Each page brings two: page i comes from page (i - 1) // 2, and after n pages n + 1 URLs are in the frontier."""
    pages = 1023
    growth = growth_of(_log((np.arange(pages) - 1) // 2), pages + 1)
    assert growth.found / growth.fetched == pytest.approx(np.full(growth.found.size, 2.0), rel=0.1)
    assert growth.now == pytest.approx(2.0, rel=0.02)
    totals = growth.totals(pages + 1, np.random.default_rng(1), 400)
    assert np.median(totals) > 2 * pages


def test_a_frontier_that_is_nearly_empty_ends():
    """A thousand seeds that bring one URL in ten pages: those in the frontier bring but a tenth more."""
    rng = np.random.default_rng(1)
    parent = np.append(np.full(1000, -1), np.sort(rng.choice(1000, 100, replace=False)))
    assert growth_of(_log(parent), 10) is None, "most pages have no parent in the log"
    growth = Growth(1000, np.array([750.0, 250.0]), np.array([500.0, 500.0]), np.array([50.0, 50.0]), 1.0)
    low, median, high = np.quantile(growth.totals(1000, rng, 2000), [0.05, 0.5, 0.95])
    assert low >= 1000
    assert median == pytest.approx(1000 / 0.9, rel=0.05)
    assert high < 1600


def test_counters_tell_what_was_discovered():
    minute = 60 * 10**9
    start = np.arange(60) * minute
    count, discovered = np.full(60, 100), np.full(60, 50)
    log = CountLog("heritrix-progress", (), start, start + minute, count, None, True, discovered=discovered)
    growth = growth_of(log, 600)
    assert growth.now == pytest.approx(0.5)
    assert growth.fetched.sum() == 6000
    bare = CountLog("heritrix-progress", (), start, start + minute, count, None, True)
    assert growth_of(bare, 600) is None
    assert growth_of(RawLog.of_times(start), 600) is None
