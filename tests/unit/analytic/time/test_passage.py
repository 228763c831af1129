"""First passage and finite lists, against closed forms, against each other and against a plain event loop."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import erlang, expon

from analytic import completion, passage, transient
from analytic import completion as finish
from crawltwin.model import (
    BMAP,
    InputError,
    LevelPolicy,
    ModeMatrices,
    Scenario,
    ThresholdPolicy,
    TooLargeError,
    examples,
    exponential,
)
from crawltwin.model.laws import families

RATE, SERVE, STALE = 0.8, 1.0, 0.25


@pytest.fixture(scope="module")
def queue() -> Scenario:
    return examples.load("mm1k")  # Poisson 0.8, exponential service 1, exponential obsolescence of mean 4, K = 5


def _poisson(rate: float, batch: int, capacity: int, service: float = 1.0) -> Scenario:
    sizes = [0.0] * (batch - 1) + [1.0]
    arrivals = ModeMatrices({1: BMAP.poisson(rate, sizes)})
    return Scenario(capacity=capacity, arrivals=arrivals, service=exponential(service), policy=ThresholdPolicy([1]))


def test_first_arrival_at_rates_whose_quotients_are_rounded():
    # At some rates the one state is not left for certain at the first step, but for a rounding error.
    for rate in (0.00665970135505905, *np.random.default_rng(1).uniform(1e-3, 1, 20)):
        first = passage(_poisson(rate, 1, 3), 0)
        for at in (0.1, 1.0, 10.0, 1000.0):
            assert first.cdf(at / rate) == pytest.approx(expon(scale=1 / rate).cdf(at / rate), rel=1e-12)


def test_first_arrival_is_exponential(queue):
    time = passage(queue, 0)
    for t in (0.1, 1.0, 7.5):
        assert time.cdf(t) == pytest.approx(1 - math.exp(-RATE * t), rel=1e-12)
    assert time.quantile(0.9) == pytest.approx(math.log(10) / RATE, rel=1e-10)


def test_mean_passage_of_a_birth_and_death_chain(queue):
    # From level i the next one up is reached after h_i = 1/birth + (death_i / birth) h_(i-1).
    step, total = 0.0, 0.0
    for level in range(5):
        death = SERVE + STALE * (level - 1) if level else 0.0
        step = 1 / RATE + death / RATE * step
        total += step
        assert passage(queue, level).mean == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize(("rate", "limit"), [(0.5, 60), (0.1, 10), (0.1, 60), (0.02, 60)])
def test_passages_that_come_once_in_ages(rate, limit):
    # The recursion of the means adds only, so it is right to the last digits however long the time is.
    step, mean = 0.0, 0.0
    for level in range(limit + 1):
        step = 1 / rate + (1.0 / rate if level else 0.0) * step
        mean += step
    time = passage(_poisson(rate, 1, limit + 1), limit)
    assert time.mean == pytest.approx(mean, rel=1e-12)
    # So rare a passage comes as a Poisson process of nearly that mean.
    assert time.quantile(0.5) == pytest.approx(mean * math.log(2), rel=1e-9)
    assert time.moment(2) == pytest.approx(2 * mean**2, rel=1e-9)
    # Within an hour its probability is t / mean less what it takes to climb: positive, and not above.
    assert 0.9 * 3600 / mean < time.cdf(3600.0) <= 3600 / mean
    assert time.survival(3600.0) <= 1.0


def test_a_climb_is_a_sum_of_gaps():
    # Nothing is indexed: P(more than 3 pages by t) is that of four arrivals, down to 1e-20.
    slow = _poisson(1.0, 1, 6, service=1e12)
    for t in (1e-5, 1e-2, 1.0):
        assert passage(slow, 3).cdf(t) == pytest.approx(erlang.cdf(t, 4), rel=1e-9)


def test_a_limit_that_is_never_passed():
    # Four pages at a time, all or nothing, never fit a system of three.
    never = _poisson(1.0, 4, 3).replace(admission="all-or-nothing")
    time = passage(never, 1)
    assert (time.mean, time.moment(2), time.quantile(0.5), time.quantile(0.0)) == (math.inf, math.inf, math.inf, 0.0)
    assert (time.cdf(1e6), time.survival(1e6)) == (0.0, 1.0)
    assert time.to_frame()["value"].tolist() == [math.inf] * 5


def test_a_limit_that_is_passed_before_the_first_lull_or_never():
    # Empty: only batches of four, which do not fit. With a page inside, single ones come at rate 1, as pages leave.
    arrivals = ModeMatrices({1: BMAP.poisson(1.0), 2: BMAP.poisson(1.0, [0.0, 0.0, 0.0, 1.0])})
    odd = Scenario(3, arrivals, exponential(1.0), policy=ThresholdPolicy([2, 1], [0]), admission="all-or-nothing")
    time = passage(odd, 2, start=1)
    # The gambler's ruin with equal odds: from 1, three is reached before nought once in three times.
    assert time.cdf(1e6) == pytest.approx(1 / 3, rel=1e-9)
    assert math.isinf(time.mean)
    assert math.isinf(time.quantile(0.34))
    assert time.cdf(time.quantile(0.3)) == pytest.approx(0.3, rel=1e-9)


def test_two_levels_by_their_eigenvalues(queue):
    # Up to level 1: rates 0 -> 1 (b), 1 -> 0 (d), 1 -> out (b): a hypoexponential with two explicit rates.
    b, d = RATE, SERVE
    root = math.sqrt((2 * b + d) ** 2 - 4 * b * b)
    fast, slow = (2 * b + d + root) / 2, (2 * b + d - root) / 2
    for t in (0.3, 2.0, 20.0, 400.0):
        tail = (fast * math.exp(-slow * t) - slow * math.exp(-fast * t)) / (fast - slow)
        assert passage(queue, 1).survival(t) == pytest.approx(tail, rel=1e-9)


def test_long_times_follow_the_slowest_decay(queue):
    time = passage(queue, 3)
    # Far out the tail is exponential: equal steps of time divide it by equal factors, down to 1e-200.
    tails = [time.survival(t) for t in (2000.0, 3000.0, 4000.0)]
    assert 0 < tails[2] < 1e-30
    assert tails[1] / tails[0] == pytest.approx(tails[2] / tails[1], rel=1e-8)


def test_already_above_the_limit(queue):
    time = passage(queue, 1, start=3)
    assert (time.mean, time.survival(0.0), time.quantile(0.9)) == (0.0, 0.0, 0.0)


def test_before_the_limit_it_is_the_transient_chain(queue):
    # With the limit one below the top, P(passage by t) is at least the probability of being at the top at t.
    scenario = examples.load("paper")
    top = scenario.capacity
    for t in (0.5, 2.0):
        there = transient(scenario, [t]).levels[0][top]
        assert passage(scenario, top - 1).cdf(t) >= there


def test_a_frozen_top_is_never_left():
    # Service and obsolescence almost never end, so the probability of passing is that of having arrived.
    slow = _poisson(1.0, 1, 4, service=1e9)
    for t in (1.0, 3.0):
        assert passage(slow, 2).cdf(t) == pytest.approx(erlang.cdf(t, 3), abs=1e-8)


def test_errors(queue):
    with pytest.raises(InputError, match="limit must be at most 4; got 5"):
        passage(queue, 5)
    with pytest.raises(InputError, match="start must be at most 5; got 6"):
        passage(queue, 1, start=6)
    with pytest.raises(InputError, match=r"p must be in \[0, 1\); got 1"):
        passage(queue, 1).quantile(1)
    with pytest.raises(InputError, match="t must be a finite time; got nan"):
        passage(queue, 1).cdf(math.nan)
    with pytest.raises(InputError, match="urls must be at least 1; got 0"):
        finish(queue, 0)
    deep = examples.load("scaled").replace(capacity=20, policy=None)
    with pytest.raises(TooLargeError, match="at most 400,000 states"):
        passage(deep.replace(policy=LevelPolicy([1] * 21)), 19)


def test_one_url_is_a_delivery_and_an_indexing(queue):
    found = completion(queue, 1)
    assert found.mean == pytest.approx(1 / RATE + 1 / SERVE, rel=1e-12)
    assert found.variance == pytest.approx(1 / RATE**2 + 1 / SERVE**2, rel=1e-12)
    # The sum of two exponentials of different rates has an explicit tail.
    for p in (0.1, 0.5, 0.99):
        t, error = found.quantile(p)
        tail = (SERVE * math.exp(-RATE * t) - RATE * math.exp(-SERVE * t)) / (SERVE - RATE)
        assert (1 - tail, error) == (pytest.approx(p, rel=1e-9), 0.0)
    assert (found.lost, found.obsolete, found.indexed) == pytest.approx((0.0, 0.0, 1.0), abs=1e-12)


@pytest.mark.parametrize("batch", [4, 9])
def test_one_batch_is_an_erlang_after_an_exponential(batch):
    # The whole list of four comes in one batch (cut where it is larger); then four indexings in a row.
    found = completion(_poisson(0.5, batch, 10), 4)
    assert found.mean == pytest.approx(2.0 + 4.0, rel=1e-12)
    assert found.variance == pytest.approx(4.0 + 4.0, rel=1e-12)
    assert found.skewness == pytest.approx((2 * 8 + 4 * 2) / 8**1.5, rel=1e-12)
    t, _ = found.quantile(0.5)
    grid = np.linspace(0, t, 20001)
    density = expon.pdf(grid, scale=2.0) * erlang.cdf(t - grid, 4)
    assert np.trapezoid(density, grid) == pytest.approx(0.5, abs=1e-7)


def test_what_does_not_fit_is_lost():
    # No buffer: the second page is lost when it comes while the first is indexed.
    found = completion(_poisson(0.5, 1, 1), 2)
    assert found.lost == pytest.approx(0.5 / 1.5, rel=1e-12)
    assert found.indexed == pytest.approx(2 - 0.5 / 1.5, rel=1e-12)
    # A batch of four into two places loses two, under partial admission; all four under all-or-nothing.
    batch = _poisson(0.5, 4, 2)
    assert completion(batch, 4).lost == pytest.approx(2.0)
    assert completion(batch.replace(admission="all-or-nothing"), 4).lost == pytest.approx(4.0)
    assert completion(batch.replace(admission="overflow"), 4).lost == pytest.approx(0.0, abs=1e-12)


def test_two_waiting_pages_and_their_obsolescence():
    # A batch of two: the second waits for the first (rate 1) against its own clock (rate g).
    for law, first_one_leaves in ((exponential(4.0), 1.0), (families.erlang(2, 4.0), None)):
        found = completion(_poisson(0.5, 2, 5).replace(obsolescence=law), 2)
        # P(stale before the service ends) = E exp(-1 X), the transform of the obsolescence time at the service rate.
        expected = law.transform(1.0).real
        assert found.obsolete == pytest.approx(expected, rel=1e-10), first_one_leaves
        assert found.lost + found.obsolete + found.indexed == pytest.approx(2.0)


def test_the_stated_error_of_the_normal_quantiles_is_honest(queue):
    for urls in (20, 60):
        found = completion(queue, urls)
        assert found.exact_quantiles
        rough = replace(found, _exact=None)
        for p in (0.05, 0.5, 0.95):
            value, error = rough.quantile(p)
            assert abs(value - found.quantile(p)[0]) <= error


def test_long_lists_go_on_as_straight_lines(queue, monkeypatch):
    whole = completion(queue, 600)
    module = sys.modules["analytic.time.finite_list"]
    monkeypatch.setattr(module, "STRETCH", 150)
    monkeypatch.setattr(module, "EXACT_WORK", 0.0)
    short = completion(queue, 600)
    assert short.extrapolated
    assert not short.exact_quantiles
    for name in ("mean", "variance", "skewness", "lost", "obsolete", "indexed"):
        assert getattr(short, name) == pytest.approx(getattr(whole, name), rel=1e-7), name


def test_against_a_plain_event_loop(queue):
    rng = np.random.default_rng(11)
    times, losses = [], []
    for _ in range(4000):
        now, level, left, lost = 0.0, 0, 30, 0
        while left or level:
            rates = [RATE if left else 0.0, SERVE if level else 0.0, STALE * max(level - 1, 0)]
            now += rng.exponential() / sum(rates)
            if rng.random() * sum(rates) < rates[0]:
                left -= 1
                lost += level == 5
                level += level < 5
            else:
                level -= 1
        times.append(now)
        losses.append(lost)
    found = completion(queue, 30)
    assert found.mean == pytest.approx(np.mean(times), abs=4 * np.std(times) / math.sqrt(4000))
    assert found.lost == pytest.approx(np.mean(losses), abs=4 * np.std(losses) / math.sqrt(4000))
    for p in (0.1, 0.5, 0.9):
        below = np.mean(np.array(times) <= found.quantile(p)[0])
        assert below == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 4000))
