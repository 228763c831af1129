"""Queues of hosts under politeness: closed forms, and what a log tells of them."""

from itertools import permutations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import polygamma
from scipy.stats import gamma

from crawltwin.plan.evidence.host_queues import HostQueues, avoidable_pairs, drained, politeness
from crawltwin.plan.evidence.host_sizes import LAWS, SizeLaw, law_fits, pages_left


def _drained(left, gap, capacity):
    return float(drained(np.array([left], float), np.array([gap], float), np.array([capacity]))[0])


def test_one_host_takes_its_delay_for_each_page():
    assert _drained([120], [3.0], 1e9) == pytest.approx(360.0)


def test_one_worker_takes_the_sum_over_all_hosts():
    """A capacity of one page in 2 s, and hosts that would be faster by themselves."""
    assert _drained([10, 20, 30], [0.1, 0.1, 0.1], 0.5) == pytest.approx(120.0, rel=0.01)


def test_the_slowest_host_is_the_tail():
    assert _drained([10, 20, 100], [1.0, 1.0, 5.0], 1e9) == pytest.approx(500.0)


def test_capacity_is_shared_fairly():
    """Three hosts of pace 1 share a capacity of 2: at 15 s two are done with 10, then the third runs alone."""
    assert _drained([10, 10, 40], [1.0, 1.0, 1.0], 2.0) == pytest.approx(15 + 30, rel=0.01)
    # A host that needs less than its share leaves the rest: paces 0.1, 0.95 and 0.95.
    assert _drained([1, 19, 19], [10.0, 1.0, 1.0], 2.0) == pytest.approx(1 / 0.1 + 0.95 * 10 + 0.0, rel=0.06)


def test_one_host_alone_is_nothing_but_its_queue():
    times = np.arange(1.0, 101.0) * 4
    queues = HostQueues.of(np.ones(100, dtype=np.uint64), times)
    assert queues.gap == pytest.approx([4.0])
    found = queues.times(np.array([0]), np.full((400, 1), 50.0), np.full(400, 200.0), np.random.default_rng(1))
    assert np.median(found) == pytest.approx(200.0, rel=0.1)


def _in_turn(gaps):
    """Queues of hosts, each with one row of gaps."""
    times = np.cumsum(gaps, axis=1)
    host = np.repeat(np.arange(1, len(gaps) + 1), len(gaps[0])).astype(np.uint64)
    order = np.argsort(times.ravel(), kind="stable")
    return HostQueues.of(host[order], times.ravel()[order])


def test_changes_of_pace_are_those_beyond_gaps_at_random():
    """Exponential gaps: 0 in the mean; paces that change by a factor of 3: its squared logarithm."""
    gaps = np.random.default_rng(1).exponential(1.0, (1000, 21))
    found = _in_turn(gaps).changes
    assert found.size == 1000
    # A difference of logarithms of gamma laws of shape 10 has the variance 2 * 0.105: its square varies by 0.3.
    assert found.mean() == pytest.approx(0.0, abs=4 * 0.3 / np.sqrt(1000))
    found = _in_turn(gaps * np.repeat([1.0, 3.0], [11, 10])).changes
    assert found.mean() == pytest.approx(np.log(3) ** 2, abs=0.12)
    assert _in_turn(gaps[:, :10]).changes.size == 0


def test_hosts_whose_pace_changes_leave_doubt_on_both_sides():
    """Ten hosts with gaps of 1 s and then of 3 s or of 1/3 s: the last pace may be a third or three times as much."""
    step = np.where(np.arange(10) % 2, 3.0, 1 / 3)[:, None]
    still, moved = (_in_turn(np.ones((10, 41)) * np.where(np.arange(41) > 20, to, 1.0)) for to in (1.0, step))
    assert np.all(still._changed(np.random.default_rng(1), 100) == 1.0)
    found = np.log(np.quantile(moved._changed(np.random.default_rng(1), 20000), (0.05, 0.5, 0.95)))
    # Student's law of 11 degrees of freedom: 1.796 times the root of the sum of ten squared changes over eleven.
    far = 1.796 * np.sqrt(10 / 11 * (np.log(3) ** 2 - 2 * polygamma(1, 20)))
    assert found == pytest.approx([-far, 0.0, far], abs=0.05)


def test_two_slow_fetches_do_not_bound_the_pace_of_a_host():
    """A host with two fetches of 10 s, and a gap of 10 s: the rest may be faster; of 200 such fetches it is not."""
    host = np.array([1, 2, 1, 2], dtype=np.uint64)
    queues = HostQueues.of(host, np.array([10.0, 10.5, 20.0, 20.5]), np.full(4, 10.0))
    found = queues.times(np.array([0]), np.full((4000, 1), 45.0), np.full(4000, 1e-6), np.random.default_rng(1))
    # The mean of two is known as that of three exponential times; of the fetch alone, or of both independently.
    fetch, both = 450 * 3 / gamma(3).isf([0.05, np.sqrt(0.05)])
    assert 0.97 * fetch < np.quantile(found, 0.05) < 1.03 * both < 350
    many = HostQueues.of(np.tile(host, 100), np.arange(1.0, 401.0) * 5.0, np.full(400, 10.0))
    assert many.fetch[0] == pytest.approx([10.0, 10.0])
    assert many.fetch[1] == pytest.approx([200 * 201 / 2] * 2)


def test_hosts_in_random_order_do_not_rule_and_polite_ones_do():
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.exponential(1.0, 2000))
    assert HostQueues.of(rng.integers(1, 40, 2000).astype(np.uint64), times).rule < 0.1
    # Forty hosts in turn, of which every second one runs dry half way.
    turns = np.concatenate([np.tile(np.arange(1, 41), 25), np.tile(np.arange(1, 41, 2), 50)]).astype(np.uint64)
    assert HostQueues.of(turns, times).rule > 0.95


def test_a_crawl_host_by_host_or_with_many_hosts_in_turn_is_told_from_its_neighbours():
    times = np.arange(1.0, 2001.0)
    by_host = np.repeat(np.arange(1, 41), 50).astype(np.uint64)
    assert HostQueues.of(by_host, times).rule < 0.01
    # More hosts in turn than any short piece of the log holds: no two neighbours are the same.
    assert HostQueues.of(np.tile(np.arange(1, 201), 10).astype(np.uint64), times).rule > 0.95
    # One host alone has no order that could be another.
    assert avoidable_pairs(np.zeros(100, dtype=np.intp)) == (0.0, 0.0)


def test_pairs_by_chance_are_those_of_all_orders():
    """Every order of six pages of three hosts, counted one by one; the one with fewest pairs has none to avoid."""
    orders = [np.array(order, dtype=np.intp) for order in set(permutations([0, 0, 0, 0, 1, 2]))]
    found = np.array([avoidable_pairs(order) for order in orders])
    pairs = np.array([np.count_nonzero(np.diff(order) == 0) for order in orders])
    assert found[:, 1] + pairs.min() == pytest.approx(np.full(len(orders), pairs.mean()))
    assert found[:, 0] == pytest.approx(pairs - pairs.min())


def test_evidence_of_politeness_is_that_of_poisson_numbers():
    """No pair where chance has m: 2 (m - 1 + exp(-m)) / m^2 against half exp(-m) and half the mean of exp(-m / u)."""
    chance = 5.0
    by_host = quad(lambda u: np.exp(-chance / u), 0, 1)[0]
    expected = np.log(2 * (chance - 1 + np.exp(-chance)) / chance**2) - np.log((np.exp(-chance) + by_host) / 2)
    assert politeness(0, chance) == pytest.approx(expected, rel=1e-3)
    assert politeness(100, 50.0) < -10 < 10 < politeness(10, 50.0)


def test_hosts_that_are_replaced_leave_no_tail():
    """Each host has ten pages in a row, and then the next one comes: such a crawl goes on."""
    host = np.repeat(np.arange(1, 201), 10).astype(np.uint64)
    queues = HostQueues.of(host, np.arange(1.0, 2001.0))
    assert queues.new == pytest.approx(0.1)
    assert queues.replaced == pytest.approx(0.9)
    assert HostQueues.of(np.tile(np.arange(1, 41), 50).astype(np.uint64), np.arange(1.0, 2001.0)).replaced == 0.0


def test_fetches_that_begin_when_politeness_allows_are_known():
    """A delay of twice the fetch after each page; then one that waits for a worker as long as it happens."""
    rng = np.random.default_rng(1)
    took = rng.gamma(2.0, 0.5, 200)
    prompt = np.cumsum(took) + np.cumsum(np.append(0.0, 2 * took[:-1]))
    host = np.ones(200, dtype=np.uint64)
    assert HostQueues.of(host, prompt, took).prompt > 0.8
    waiting = np.cumsum(took + rng.exponential(5.0, 200))
    assert HostQueues.of(host, waiting, took).prompt < 0.3
    assert HostQueues.of(host, prompt).prompt == 0.5


def test_laws_of_sizes_are_laws():
    """Survival falls from 1, and what remains has the survival that it was drawn with."""
    pages = np.array([0.0, 1.0, 7.0, 40.0])
    for law in (SizeLaw(3.0, power=0.9), SizeLaw(30.0, shape=1.0), SizeLaw(30.0, shape=4.0)):
        assert law.survival(np.zeros(1)) == pytest.approx([1.0])
        uniform = np.full(4, 1e-3)
        more = law.remaining(pages, uniform)
        assert np.all(law.survival(pages + more) <= law.survival(pages) * uniform * (1 + 1e-9))
        assert np.all(law.survival(pages + more - 1) >= law.survival(pages) * uniform * (1 - 1e-9))


def test_the_sizes_of_dry_hosts_tell_their_law():
    """Two hundred hosts of ten pages each that all ran dry: a Weibull law of a high shape."""
    pages, silence = np.full(200, 10.0), np.full(200, 1e-9)
    best = LAWS[int(np.argmax(law_fits(pages, silence)))]
    assert best.shape == 4.0
    sizes = np.ceil(np.random.default_rng(1).pareto(0.9, 400))
    heavy = LAWS[int(np.argmax(law_fits(np.maximum(sizes, 1.0), np.full(400, 1e-9))))]
    assert heavy.power > 0


def test_what_is_left_sums_up_and_lies_with_living_hosts():
    """A hundred hosts in turn five times, then ten of them alone: the others were silent for almost twenty turns."""
    queues = HostQueues.of(
        np.append(np.tile(np.arange(100), 5), np.tile(np.arange(10), 945)).astype(np.uint64), np.arange(9_950.0)
    )
    silence = queues.silence
    assert np.all(silence[:10] > 0.5)
    assert np.all(silence[10:] < 1e-10)
    hosts, left = pages_left(np.full(100, 50.0), silence, 0.0, 3000, np.random.default_rng(1), 200)
    assert left.sum(axis=1) == pytest.approx(np.full(200, 3000.0))
    assert set(hosts[left.sum(axis=0) > 0].tolist()) <= set(range(10))
    hosts, left = pages_left(np.full(100, 50.0), silence, 0.01, 3000, np.random.default_rng(1), 200)
    assert left[:, hosts < 0].sum() > 0.2 * left.sum(), "thirty new hosts have their part"


def test_the_gaps_of_the_log_tell_what_a_silence_means():
    """Forty hosts in turn, or in random order: of a living one a silence of three turns is unheard of, or exp(-3)."""
    turns = np.tile(np.arange(40, dtype=np.uint64), 60)
    random = np.random.default_rng(1).permutation(turns)
    found = []
    for host in (turns, random):
        # Host 0 ran dry three turns ago, as the others have it.
        host = np.append(host, np.tile(np.arange(1, 40, dtype=np.uint64), 3))
        found.append(HostQueues.of(host, np.arange(host.size, dtype=float)).silence[0])
    assert found[0] < 1e-3
    assert found[1] == pytest.approx(np.exp(-3), rel=0.5)
