"""The public sample: its numbers against theory, against `simulate`, and against a chain of its own."""

import numpy as np
import pytest
from scipy.linalg import expm

from crawltwin.model import BMAP, InputError, ModeMatrices, Scenario, examples, exponential
from simulate import RecordedTrace, SampleSettings, draw_approach, draw_replay, draw_sample, replay, simulate
from simulate.engine.columns import LEVELS, SUM
from simulate.engine.statistics import cell_edges
from simulate.sample.estimates import Sample, pseudo_values, standard_errors
from simulate.sample.units import Reading, Units

MM1K = examples.load("mm1k")


def test_pseudo_values_of_a_mean_are_the_values():
    data = np.random.default_rng(1).normal(5, 2, (30, 1))
    found = pseudo_values(np.hstack([data, np.ones_like(data)]), lambda sums: sums[..., :1] / sums[..., 1:])
    np.testing.assert_allclose(found, data, rtol=1e-12)
    assert standard_errors(found)[0] == pytest.approx(data.std(ddof=1) / np.sqrt(30))


@pytest.fixture
def exponential_sample() -> Sample:
    """Fifty replications of 4000 exponential sojourn times of mean 3, all served."""
    rng = np.random.default_rng(3)
    first, count = -10 * 64, 20 * 64
    edges = cell_edges(first, count)
    cells, sums = np.zeros((50, 2, count), np.int64), np.zeros((50, LEVELS + 6))
    for index in range(50):
        cells[index, 0] = np.histogram(rng.exponential(3.0, 4000), edges)[0]
    sums[:, [SUM.time, SUM.delivered, SUM.batches, SUM.served]] = 1.0, 4000, 4000, 4000
    return Sample(Units(sums, cells, first), Reading.of(MM1K, 6))


def test_distribution_functions_at_the_limits_of_cells(exponential_sample: Sample):
    position = exponential_sample.edge_near(2.0)
    truth = 1 - np.exp(-float(exponential_sample.edges[position]) / 3)
    found = exponential_sample.below("served", position)
    assert abs(found.value - truth) < 4 * found.error
    assert found.error == pytest.approx(np.sqrt(truth * (1 - truth) / 200_000), rel=0.3)


@pytest.mark.parametrize("order", [0.1, 0.5, 0.9, 0.99])
def test_quantiles_and_their_standard_errors(exponential_sample: Sample, order: float):
    found, truth = exponential_sample.quantile("served", order), -3 * np.log(1 - order)
    assert abs(found.value - truth) < 4 * found.error
    density = np.exp(-truth / 3) / 3
    assert found.error == pytest.approx(np.sqrt(order * (1 - order) / 200_000) / density, rel=0.35)
    assert exponential_sample.quantile("obsolete", order) is None


def test_simulate_stands_on_the_sample():
    sample, result = draw_sample(MM1K, SampleSettings(pages=2000, seed=3)), simulate(MM1K, pages=2000, seed=3)
    assert sample.intervals(0.95).measures["mean_pages"] == result["mean_pages"]
    assert sample.diagnostics.events == result.diagnostics.events
    assert sample.scalars["mean_pages"].value == result["mean_pages"].value
    values, errors = sample.level_shares()
    assert values == pytest.approx([one.value for one in result["level_distribution"]], rel=1e-12)
    assert (errors > 0).all()
    assert sample.plain["mean_pages"] == pytest.approx(np.mean(sample.by_unit["mean_pages"]), rel=0.01)


def test_samples_of_other_replications_are_fresh_and_a_warm_up_can_be_given():
    whole = draw_sample(MM1K, SampleSettings(time=400.0, warmup=100.0, replications=6, bins=20))
    parts = [
        draw_sample(MM1K, SampleSettings(time=400.0, warmup=100.0, replications=3, bins=20, first=f)) for f in (0, 3)
    ]
    np.testing.assert_array_equal(whole.units.sums, np.concatenate([part.units.sums for part in parts]))
    assert whole.time == pytest.approx(6 * 300.0)


def test_the_approach_from_empty_is_that_of_the_chain():
    """M/M/1/3 from empty: averages over [0, t] of the level distribution by a matrix exponential."""
    scenario = Scenario(3, ModeMatrices({1: BMAP.poisson(0.8)}), exponential(1.0))
    Q = np.diag([0.8] * 3, 1) + np.diag([1.0] * 3, -1)
    Q -= np.diag(Q.sum(axis=1))
    found = draw_approach(scenario, SampleSettings(time=4.0, bins=4, replications=4000, workers=1), ends=(1, 2, 4))
    for sample, t in zip(found, (1.0, 2.0, 4.0), strict=True):
        # The integral of exp(Q s) over [0, t] is a block of the exponential of a larger matrix.
        integral = expm(np.block([[Q, np.eye(4)], [np.zeros((4, 8))]]) * t)[:4, 4:]
        p = integral[0] / t
        for name, truth in {
            "mean_pages": p @ np.arange(4),
            "starvation_probability": p[0],
            "arrival_rate": 0.8,
            "loss_probability": p[3],
        }.items():
            one = sample.scalars[name]
            assert abs(one.value - truth) < 4 * one.error, (name, t)
            assert one.error < 0.1 * max(truth, 0.05)


def test_a_replay_counts_every_page_of_its_trace():
    trace = RecordedTrace(np.arange(0.0, 500.0, 2.0))
    sample = draw_replay(MM1K, trace)
    assert sample.pages == trace.pages
    assert sample.units.count == 20
    assert sample.plain["arrival_rate"] == pytest.approx(0.5, rel=1e-12)


def test_a_jackknife_beyond_what_is_possible_gives_the_plain_ratio():
    """Nine small units lose few pages, a huge one nearly all of them: without the huge one the ratio falls far."""
    sums = np.zeros((10, LEVELS + 2))
    sums[:, [SUM.time, SUM.delivered, SUM.batches, SUM.served, SUM.lost, LEVELS]] = 1.0, 100, 100, 90, 10, 1.0
    sums[0, [SUM.delivered, SUM.served, SUM.lost]] = 100_000, 1000, 99_000
    sample = Sample(Units.of_sums(sums), Reading.of(MM1K, 2))
    found = sample.intervals(0.95).measures["loss_probability"]
    assert sample.pseudo()["loss_probability"].mean() > 1
    assert found.value == sample.plain["loss_probability"] == pytest.approx(99_090 / 100_900)
    assert found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize("name", ["pages", "time", "precision", "start"])
def test_a_replay_has_no_length_of_its_own(name: str):
    with pytest.raises(InputError, match=f"{name} must be left out with a trace"):
        replay(MM1K, RecordedTrace([0.0, 1.0]), **{name: [1.0] if name == "start" else 500})
