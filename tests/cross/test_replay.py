"""A recorded trace against a model of it: a right model is not accused, a wrong one is."""

import numpy as np
import pytest

from crawltwin.model import BMAP, Scenario, ThinnedStream, ThresholdPolicy, examples, exponential
from fitting import FitOptions, fit
from simulate import RecordedTrace
from validate.plan import ValidationPlan
from validate.replay import replay_check

STREAM = BMAP.from_map([[-0.5, 0.1], [0.2, -2.0]], [[0.35, 0.05], [0.1, 1.7]], [0.6, 0.3, 0.1])


@pytest.fixture(scope="module")
def trace() -> RecordedTrace:
    sample = STREAM.sample(np.random.default_rng(4), 60_000)
    return RecordedTrace(sample.times, sample.sizes)


def model(stream: BMAP, policy: ThresholdPolicy) -> Scenario:
    return Scenario(
        capacity=8,
        arrivals=ThinnedStream(stream, (0.5, 1.0)),
        service=exponential(0.5),
        obsolescence=exponential(4.0),
        policy=policy,
    )


@pytest.mark.parametrize("policy", [ThresholdPolicy([2]), ThresholdPolicy([2, 1], [3])])
def test_the_model_that_made_the_trace_is_equivalent(trace, policy):
    found = replay_check(model(STREAM, policy), trace, recorded_robots=2)
    assert found.verdict == "equivalent"
    assert not found.notes
    assert found.to_json()["measures"]["loss_probability"]["verdict"] == "equivalent"


def test_a_model_without_correlations_is_found_out(trace):
    # The same rate and the same batches, but Poisson: losses are far too low.
    poisson = BMAP.poisson(STREAM.batch_rate, STREAM.batch_sizes.tolist())
    found = replay_check(model(poisson, ThresholdPolicy([2])), trace, recorded_robots=2)
    assert found.verdict == "different"
    words = {one.comparison.measure: one.word for one in found.verdicts if not one.comparison.part}
    assert words["loss_probability"] == "different"
    assert words["arrival_rate"] == "equivalent"


def test_scores_of_the_right_model_are_not_too_large():
    scores = []
    for seed in range(8):
        sample = STREAM.sample(np.random.default_rng(100 + seed), 20_000)
        found = replay_check(model(STREAM, ThresholdPolicy([2])), RecordedTrace(sample.times, sample.sizes))
        scores += [one.comparison.score for one in found.verdicts if one.comparison.measure == "mean_pages"]
    assert np.sqrt(np.mean(np.square(scores))) < 1.7


def test_arrivals_of_another_kind_are_noted(trace):
    scenario = examples.load("scaled")
    found = replay_check(scenario, trace, ValidationPlan(margin=0.5), recorded_robots=4)
    assert any("the model's arrivals are scaled" in note for note in found.notes)


@pytest.mark.slow
def test_from_a_log_to_a_model_that_tells_what_the_log_tells(tmp_path):
    # Single pages from a process with slowly decaying correlations, as a log of timestamps; fitted; replayed.
    process = BMAP([[[-0.55, 0.02], [0.05, -3.0]], [[0.5, 0.03], [0.15, 2.8]]])
    times = process.sample(np.random.default_rng(9), 40_000).times
    log = tmp_path / "log.txt"
    log.write_text("".join(f"{1_700_000_000 + time:.6f}\n" for time in times))
    options = FitOptions(batch_gap=0.0, pause=1e6, repetitions=10, refits=2, methods=("poisson", "map2", "map"))
    fitted = fit(log, options=options).scenario(capacity=8, service_mean=0.6, obsolescence_mean=4.0)
    found = replay_check(fitted, RecordedTrace(times), ValidationPlan(margin=0.15, confidence=0.95), recorded_robots=1)
    words = {one.comparison.measure: one.word for one in found.verdicts if not one.comparison.part}
    assert words["arrival_rate"] == "equivalent"
    assert "different" not in words.values()
    assert words["loss_probability"] == "equivalent"
