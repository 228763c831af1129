"""Long traces: parts of them tell what the whole does, and passes in blocks give the bits of a single pass."""

from itertools import pairwise

import numpy as np
import pytest

from fitting import FitOptions
from fitting.choose import candidates, numbers, rivals
from fitting.models import batch_laws, erlang_kernels, uniformisation
from fitting.models.erlang_map import ErlangMap
from fitting.models.general_map import GeneralMap
from fitting.trace import bootstrap, statistics
from fitting.trace.batches import Batches
from fitting.trace.segments import Segments, spread_blocks

TRUTH = ErlangMap(np.array([3.0, 2.0]), np.array([9.0, 1.2]), np.array([[0.95, 0.05], [0.05, 0.95]]))
BY_PHASE = np.array([[0.7, 0.2, 0.1], [0.2, 0.3, 0.5]])


@pytest.fixture(scope="module")
def trace():
    return TRUTH.simulate(np.random.default_rng(1), 40_000)


@pytest.mark.parametrize(("total", "most", "blocks"), [(1000, 200, 8), (1001, 1000, 40), (10**6, 999, 37), (5, 9, 2)])
def test_blocks_lie_apart_within_the_whole(total, most, blocks):
    found = spread_blocks(total, most, blocks)
    assert found[0][0] >= 0 and found[-1][1] <= total
    assert all(before[1] <= after[0] for before, after in pairwise(found))
    assert sum(end - begin for begin, end in found) in (total, most // blocks * blocks)


def test_many_blocks_see_every_hour_of_the_day():
    hours = {begin * 24 // 1000 % 24 for begin, _ in spread_blocks(20_000, 400, 40)}
    assert len(hours) > 18


def test_a_sample_keeps_cuts_and_begins_anew_at_each_block():
    data = Segments(np.arange(1.0, 101.0), np.ones(100, np.int64), np.array([0, 3, 60]))
    part = data.sample(40, 4)
    assert part.gaps.tolist() == [*range(1, 11), *range(31, 41), *range(61, 71), *range(91, 101)]
    assert part.first.tolist() == [0, 3, 10, 20, 30]


@pytest.mark.parametrize(
    ("kernels", "model"),
    [
        (erlang_kernels, TRUTH),
        (uniformisation, GeneralMap(np.array([[-2.0, 0.3], [0.2, -0.7]]), np.array([[1.5, 0.2], [0.1, 0.4]]))),
    ],
    ids=["erlang", "map"],
)
def test_an_e_step_in_blocks_has_the_bits_of_one_pass(kernels, model, trace, monkeypatch):
    """The same code, interpreted, with blocks of 64 gaps; stretches begin at, before and after their borders."""
    data = Segments(trace.gaps[:300], trace.sizes[:300], np.array([0, 63, 128, 193]))
    law = model.branches(model.start) if kernels is erlang_kernels else model.phases(model.start)
    whole = kernels.expectations(model.marked(data), law)
    monkeypatch.setattr(kernels, "BLOCK", 64)
    inner = kernels.expectations.py_func(model.marked(data), law)
    assert inner[0] == whole[0]
    for blocks, once in zip(inner[1], whole[1], strict=True):
        np.testing.assert_array_equal(blocks, once)


def test_correlations_in_pieces_are_those_of_one_transform(trace, monkeypatch):
    whole = statistics.correlations(trace, 50)
    monkeypatch.setattr(statistics, "LONG", 700)
    np.testing.assert_allclose(statistics.correlations(trace, 50), whole, atol=1e-13)


def test_a_long_trace_is_trained_on_a_part_and_ended_on_the_whole(trace, monkeypatch):
    options = FitOptions(methods=("poisson", "mmpp2", "erlang"), max_branches=2)
    (_, _, full), _ = candidates.fit_candidates(trace, options)
    monkeypatch.setattr(rivals, "TRAINED_GAPS", 4_000)
    (poisson, mmpp, best), _ = candidates.fit_candidates(trace, options)
    assert (poisson.trained, mmpp.trained, best.trained) == (len(trace), 4_000, len(trace))
    assert best.judged == mmpp.judged == len(trace) // 5
    assert sorted(best.model.shape) == sorted(TRUTH.shape)
    # Four EM steps over all gaps bring the part's fit to that of hundreds of steps: within a nat in 40,000 gaps.
    assert best.log_likelihood == pytest.approx(full.log_likelihood, abs=1.0)
    assert best.mean_ratio == pytest.approx(1, abs=0.005)


def test_intervals_of_a_long_trace_are_as_wide_as_those_of_all_of_it(trace, monkeypatch):
    batches = Batches("ties", 0.0, float("nan"), trace, trace.sizes)
    length = bootstrap.block_length(trace)
    whole = numbers.trace_numbers(batches, length, FitOptions())
    monkeypatch.setattr(bootstrap, "LONG_TRACE", 10_000)
    part = numbers.trace_numbers(batches, length, FitOptions())
    for name in ("mean_gap", "scv", "gap_median", "correlation_1"):
        assert part[name].value == whole[name].value
        assert (part[name].high - part[name].low) / (whole[name].high - whole[name].low) == pytest.approx(1, abs=0.35)


def test_batch_laws_of_a_long_trace_know_sizes_that_the_tested_part_lacks(trace, monkeypatch):
    marked = ErlangMap(TRUTH.shape, TRUTH.rate, TRUTH.P, q=BY_PHASE).simulate(np.random.default_rng(2), 20_000)
    sizes = marked.sizes.copy()
    sizes[10_000] = 7
    data = Segments(marked.gaps, sizes, marked.first)
    monkeypatch.setattr(batch_laws, "TESTED_GAPS", 5_000)
    monkeypatch.setattr(batch_laws, "TESTED_BLOCKS", 2)
    assert data.sample(5_000, 2).sizes.max() == 3
    model, test = batch_laws.with_batches(TRUTH, data, data.batch_shares)
    assert test.dependent and "tested on 5,000 gaps" in test.words
    assert model.q.shape == (2, 7)
    np.testing.assert_allclose(model.q[:, :3], BY_PHASE, atol=0.03)
    # Every page of the trace is in the model.
    assert model.bmap().page_rate * data.gaps.sum() == pytest.approx(data.sizes.sum(), rel=0.02)
