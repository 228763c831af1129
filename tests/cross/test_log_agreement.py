"""A recorded trace against a model of it: a right model is not accused, a wrong one is."""

import numpy as np
import pytest

from crawltwin.model import BMAP, ScaledStream, Scenario, ThinnedStream, ThresholdPolicy, examples, exponential
from crawltwin.model.measures import PROBABILITIES
from fitting import FitOptions, fit
from simulate import RecordedTrace
from validate.logs.agreement import compare_log
from validate.plan import ValidationPlan

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
    found = compare_log(model(STREAM, policy), trace, recorded_robots=2)
    assert found.verdict == "equivalent"
    assert not found.notes
    assert found.to_json()["measures"]["loss_probability"]["verdict"] == "equivalent"


def test_a_model_without_correlations_is_found_out(trace):
    # The same rate and the same batches, but Poisson: losses are far too low.
    poisson = BMAP.poisson(STREAM.batch_rate, STREAM.batch_sizes.tolist())
    found = compare_log(model(poisson, ThresholdPolicy([2])), trace, recorded_robots=2)
    assert found.verdict == "different"
    words = {one.comparison.measure: one.word for one in found.verdicts if not one.comparison.part}
    assert words["loss_probability"] == "different"
    assert words["arrival_rate"] == "equivalent"


def test_scores_of_the_right_model_are_not_too_large():
    scores = []
    for seed in range(8):
        sample = STREAM.sample(np.random.default_rng(100 + seed), 20_000)
        found = compare_log(model(STREAM, ThresholdPolicy([2])), RecordedTrace(sample.times, sample.sizes))
        scores += [one.comparison.score for one in found.verdicts if one.comparison.measure == "mean_pages"]
    assert np.sqrt(np.mean(np.square(scores))) < 1.7


def test_arrivals_of_another_kind_are_noted(trace):
    scenario = examples.load("scaled")
    found = compare_log(scenario, trace, ValidationPlan(margin=0.5), recorded_robots=4)
    assert any("the model's arrivals are scaled" in note for note in found.notes)


def test_limits_stay_inside_the_possible_range():
    # Seven bursts in a short log: the share of idle time scatters so widely that mean and deviation leave [0, 1].
    times = np.concatenate([start + np.arange(60) * 0.2 for start in (0, 40, 60, 200, 260, 420, 500)])
    bursts = BMAP([[[-5.01, 0.06], [0.01, -0.02]], [[4.95, 0.0], [0.0, 0.01]]])
    scenario = Scenario(capacity=6, arrivals=ScaledStream(bursts, 1), service=exponential(0.5))
    found = compare_log(scenario, RecordedTrace(times))
    spread = next(one for one in found.predictions if one.measure == "starvation_probability")
    assert spread.mean + 2 * spread.verdict.comparison.error > 1
    for one in found.predictions:
        assert 0 <= one.low <= one.high
        assert 0 <= one.verdict.low <= one.verdict.high
        if one.measure in PROBABILITIES:
            assert one.high <= 1
            assert one.verdict.high <= 1


def test_a_replayed_loss_is_a_count_of_pages_over_pages():
    # One batch of 802 pages into a buffer of 200 among single pages that all find room: 602 of 2,801 pages are lost.
    sizes = np.ones(2000, dtype=int)
    sizes[1000] = 802
    scenario = Scenario(capacity=200, arrivals=ScaledStream(BMAP.poisson(1.0), 1), service=exponential(0.01))
    plan = ValidationPlan(margin=0.1, confidence=0.95, measures=("loss_probability",))
    (found,) = compare_log(scenario, RecordedTrace(np.arange(2000.0), sizes), plan).predictions
    assert found.replayed == pytest.approx(602 / 2801, abs=1e-3)
    assert found.verdict.word == "different"


def test_a_sound_model_is_called_different_no_more_often_than_declared():
    # 40 short logs of the model itself, 95% confidence over the whole family: 6 or more have a chance below 2%.
    scenario = model(STREAM, ThresholdPolicy([2]))
    alarms = 0
    for seed in range(40):
        sample = STREAM.sample(np.random.default_rng(500 + seed), 400)
        plan = ValidationPlan(margin=0.01, absolute_margin=0.0, confidence=0.95, seed=seed)
        found = compare_log(scenario, RecordedTrace(sample.times, sample.sizes), plan)
        alarms += found.verdict == "different"
    assert alarms <= 5


@pytest.mark.slow
def test_from_a_log_to_a_model_that_tells_what_the_log_tells(tmp_path):
    # Single pages from a process with slowly decaying correlations, as a log of timestamps; fitted; replayed.
    process = BMAP([[[-0.55, 0.02], [0.05, -3.0]], [[0.5, 0.03], [0.15, 2.8]]])
    times = process.sample(np.random.default_rng(9), 40_000).times
    log = tmp_path / "log.txt"
    log.write_text("".join(f"{1_700_000_000 + time:.6f}\n" for time in times))
    options = FitOptions(batch_gap=0.0, pause=1e6, repetitions=10, refits=2, methods=("poisson", "map2", "map"))
    fitted = fit(log, options=options).scenario(capacity=8, service_mean=0.6, obsolescence_mean=4.0)
    found = compare_log(fitted, RecordedTrace(times), ValidationPlan(margin=0.15, confidence=0.95), recorded_robots=1)
    words = {one.comparison.measure: one.word for one in found.verdicts if not one.comparison.part}
    assert words["arrival_rate"] == "equivalent"
    assert "different" not in words.values()
    assert words["loss_probability"] == "equivalent"
