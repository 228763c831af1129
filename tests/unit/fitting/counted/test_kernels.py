"""Likelihoods of counts against other ways to compute them: block generators, paths one by one, closed forms."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.special import logsumexp
from scipy.stats import nbinom, norm, poisson

from crawltwin.model.errors import ConvergenceError
from fitting.models.counted import convolution, occupation
from fitting.models.counted.counted_map import CountedMap
from fitting.models.counted.geometric_batches import compound, fewer
from fitting.models.em import EmSettings, Monitor
from fitting.trace.segments import CountedIntervals

NOTHING = np.empty((0, 0))
LENGTHS = np.array([1.0, 0.3, 2.0, 5.0, 0.1, 1.2])
COUNTS = np.array([3, 0, 2, 4, 1, 0])
FIRST = np.array([0, 4])


def _process(order, seed):
    rng = np.random.default_rng(seed)
    D0, D1 = rng.random((order, order)), 2 * rng.random((order, order)) * (rng.random((order, order)) < 0.7)
    D1[0, 0] += 0.1
    np.fill_diagonal(D0, 0.0)
    return D0 - np.diag(D0.sum(axis=1) + D1.sum(axis=1)), D1


def _by_blocks(D0, D1, start):
    """The log-likelihood from the exponential of the block-bidiagonal generator of phase and pages so far."""
    order, total, state = D0.shape[0], 0.0, start
    for t, (length, pages) in enumerate(zip(LENGTHS, COUNTS)):
        state = start if t in FIRST else state
        size = pages + 1
        both = np.kron(np.eye(size), D0) + np.kron(np.eye(size, k=1), D1)
        state = state @ expm(both * length)[:order, pages * order :]
        total += np.log(state.sum())
        state = state / state.sum()
    return total


def _trace():
    return convolution.CountTrace(LENGTHS, COUNTS, FIRST)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_exact_likelihood_is_that_of_the_block_generator(order):
    D0, D1 = _process(order, order)
    start = np.full(order, 1 / order)
    scores, _ = convolution.forward(_trace(), convolution.CountLaw(start, D0, D1), NOTHING, NOTHING)
    assert scores.sum() == pytest.approx(_by_blocks(D0, D1, start), abs=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_expected_numbers_are_the_derivatives_of_the_likelihood(order):
    """Fisher's identity: the derivative by a rate is expected jumps over the rate minus expected time."""
    D0, D1 = _process(order, 10 + order)
    start = np.full(order, 1 / order)
    _, (time, jumps, arrivals, begin) = convolution.expectations(_trace(), convolution.CountLaw(start, D0, D1))
    assert time.sum() == pytest.approx(LENGTHS.sum())
    assert arrivals.sum() == pytest.approx(COUNTS.sum())
    assert begin.sum() == pytest.approx(FIRST.size)
    step = 1e-6
    for which, expected in ((0, jumps), (1, arrivals)):
        for i, j in itertools.product(range(order), repeat=2):
            rate = (D0, D1)[which][i, j]
            if rate <= 0:
                continue
            both = []
            for sign in (step, -step):
                moved = [D0.copy(), D1.copy()]
                moved[which][i, j] += sign
                moved[0][i, i] -= sign
                both.append(_by_blocks(*moved, start))
            assert (both[0] - both[1]) / (2 * step) == pytest.approx(expected[i, j] / rate - time[i], abs=1e-6)


def test_probability_of_smaller_counts():
    D0, D1 = _process(2, 5)
    below = np.empty((6, 1))
    start = np.array([0.3, 0.7])
    convolution.forward(_trace(), convolution.CountLaw(start, D0, D1), NOTHING, below)
    size, order = COUNTS[0], 2
    both = np.kron(np.eye(size), D0) + np.kron(np.eye(size, k=1), D1)
    assert below[0, 0] == pytest.approx((start @ expm(both * LENGTHS[0])[:order]).sum(), abs=1e-12)


def _counted_pages(pages, mean, more):
    """P(pages) summed over the number of batches; given it, the pages beyond one of each are negative binomial."""
    if pages == 0:
        return poisson.pmf(0, mean)
    return sum(poisson.pmf(k, mean) * nbinom.pmf(pages - k, k, 1 - more) for k in range(1, pages + 1))


@pytest.mark.parametrize("more", [0.0, 0.2, 0.55, 0.9])
@pytest.mark.parametrize("mean", [0.01, 1.5, 40.0])
def test_pages_in_batches(mean, more):
    law = [_counted_pages(n, mean, more) for n in range(60)]
    for pages in (0, 1, 2, 7, 59):
        log_own, batches = compound(pages, mean, more)
        ways = [poisson.pmf(k, mean) * nbinom.pmf(pages - k, k, 1 - more) for k in range(1, pages + 1)]
        assert log_own == pytest.approx(np.log(law[pages]), abs=1e-9)
        assert fewer(pages, mean, more) == pytest.approx(sum(law[:pages]), abs=1e-12)
        assert batches == pytest.approx(np.dot(np.arange(1, pages + 1), ways) / law[pages] if pages else 0.0)


def test_many_pages_in_batches_are_a_normal_law():
    """A thousand batches of two pages: the mean 2000, the variance three times that."""
    logs = np.array([compound(n, 1000.0, 0.5)[0] for n in range(1600, 2401)])
    assert np.exp(logs) == pytest.approx(norm.pdf(np.arange(1600, 2401), 2000, np.sqrt(6000)), abs=2e-4)
    assert fewer(2000, 1000.0, 0.5) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("more", [1e-9, 0.02, 0.3, 0.95])
@pytest.mark.parametrize("mean", [10.0, 6000.0, 20_000.0])
def test_many_pages_in_batches_are_the_sum_over_the_batches(mean, more):
    """Near the mean number of pages and far out in both tails; also where hardly a batch has two pages."""
    batches = np.arange(1, 9001)
    logs = poisson.logpmf(batches, mean) + nbinom.logpmf(9000 - batches, batches, 1 - more)
    log_own, expected = compound(9000, mean, more)
    assert log_own == pytest.approx(logsumexp(logs), rel=1e-10, abs=1e-8)
    assert expected == pytest.approx(np.exp(logs - logsumexp(logs)) @ batches, rel=1e-8)


def _by_paths(law):
    """The sliced likelihood of the first three intervals, summed over every path of phases."""
    lengths, counts = LENGTHS[:3], COUNTS[:3]
    slices = [occupation.slices_of(length, law.slice) for length in lengths]

    @cache
    def emitted(t, phases):
        mean = law.rates[list(phases)].sum() * lengths[t] / slices[t]
        return _counted_pages(counts[t], mean, law.more)

    moves, ends, total = law.moves.tolist(), np.cumsum(slices), 0.0
    for path in itertools.product(range(law.rates.size), repeat=sum(slices)):
        weight = law.start[path[0]] * math.prod(moves[a][b] for a, b in itertools.pairwise(path))
        for t, (end, many) in enumerate(zip(ends, slices)):
            weight *= emitted(t, tuple(sorted(path[end - many : end])))  # the order of the slices does not matter
        total += weight
    return np.log(total)


@pytest.mark.parametrize("more", [0.0, 0.4])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_sliced_likelihood_is_that_of_all_paths(order, more):
    rng = np.random.default_rng(order)
    moves = rng.random((order, order))
    law = occupation.SlicedLaw(
        np.full(order, 1 / order), moves / moves.sum(axis=1, keepdims=True), 5 * rng.random(order), 0.5, more
    )
    trace = convolution.CountTrace(LENGTHS[:3], COUNTS[:3], np.zeros(1, np.int64))
    likelihood, (time, pages, moved, _) = occupation.expectations(trace, law)
    assert likelihood == pytest.approx(_by_paths(law), abs=1e-12)
    assert time.sum() == pytest.approx(LENGTHS[:3].sum())
    step = 1e-6
    if more:
        # Fisher's identity for the sizes: pages that follow in their batch, and batches that end.
        up, down = (_by_paths(law._replace(more=more + sign)) for sign in (step, -step))
        slope = (COUNTS[:3].sum() - pages.sum()) / more - pages.sum() / (1 - more)
        assert (up - down) / (2 * step) == pytest.approx(slope, abs=1e-6)
    else:
        assert pages.sum() == pytest.approx(COUNTS[:3].sum())
    for i in range(order):
        up, down = (law._replace(rates=law.rates + sign * np.eye(order)[i]) for sign in (step, -step))
        slope = (_by_paths(up) - _by_paths(down)) / (2 * step)
        assert slope == pytest.approx(pages[i] / law.rates[i] - time[i], abs=1e-6)
        unit = np.zeros((order, order))
        unit[i, 0] = step
        up, down = (law._replace(moves=law.moves + sign * unit) for sign in (1, -1))
        assert (_by_paths(up) - _by_paths(down)) / (2 * step) == pytest.approx(moved[i, 0] / law.moves[i, 0], abs=1e-6)


def _counted(counts, lengths=None):
    counts = np.asarray(counts)
    return CountedIntervals(np.ones(counts.size) if lengths is None else lengths, counts, np.zeros(1, np.int64))


def test_slices_come_to_the_exact_likelihood():
    rng = np.random.default_rng(2)
    data = _counted(np.concatenate([rng.poisson(30, 40), rng.poisson(90, 40), rng.poisson(60, 10)]))
    moves, rates = np.array([[0.0, 0.5], [0.3, 0.0]]), np.array([90.0, 30.0])
    exact = CountedMap.mmpp(moves, rates, 0).log_likelihood(data)
    off = [abs(CountedMap.mmpp(moves, rates, slices).log_likelihood(data) - exact) for slices in (16, 32, 64)]
    assert off[0] > 3 * off[1] > 9 * off[2]  # the error falls like the square of the length
    assert off[2] < 0.001


def test_poisson_counts_have_the_closed_form():
    data = _counted([3, 0, 7, 2], np.array([1.0, 0.5, 3.0, 1.5]))
    model = CountedMap.poisson(data)
    assert 1 / model.mean_gap == pytest.approx(12 / 6)
    assert model.scores(data) == pytest.approx(poisson.logpmf(data.sizes, 2 * data.gaps))


@pytest.mark.parametrize("slices", [0, 16])
def test_em_climbs_and_says_when_it_rests(slices):
    rng = np.random.default_rng(4)
    data = _counted(rng.poisson(np.repeat([3, 9, 3, 9, 3], 30)))
    start = CountedMap.mmpp(np.array([[0, 0.2], [0.2, 0]]), np.array([4.0, 6.0]), slices)
    run = start.refit(data, EmSettings(steps=200, tolerance=1e-6))
    assert run.converged
    assert (np.diff(run.history) >= -1e-9).all()
    assert run.history[-1] == pytest.approx(run.model.log_likelihood(data), abs=1.0)  # up to the law of the first phase
    assert sorted(np.diag(run.model.D1)) == pytest.approx([3, 9], rel=0.15)
    capped = start.refit(data, EmSettings(steps=2, tolerance=1e-6))
    assert not capped.converged


def test_a_falling_likelihood_is_refused():
    monitor = Monitor(10.0, 1e-6)
    monitor.take(-5.0)
    with pytest.raises(ConvergenceError, match="must not fall"):
        monitor.take(-6.0)


@pytest.mark.parametrize("slices", [0, 16])
def test_residuals_of_the_true_model_are_uniform(slices):
    rng = np.random.default_rng(7)
    model = CountedMap.mmpp(np.array([[0, 0.05], [0.1, 0]]), np.array([12.0, 3.0]), slices)
    times = model.bmap().sample(rng, 9000).times
    data = _counted(np.diff(np.searchsorted(times, np.arange(801.0))))
    u = np.sort(model.residuals(data))
    assert np.abs(u - (np.arange(800) + 0.5) / 800).max() < 1.63 / np.sqrt(800)  # Kolmogorov's law at 1%
