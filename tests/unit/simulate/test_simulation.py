"""`simulate` as a whole: same bits everywhere, precision on demand, what is known on Ctrl-C, and every refusal."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from crawltwin.model import (
    BMAP,
    MEASURES,
    SCALAR_MEASURES,
    InputError,
    ModeMatrices,
    TooLargeError,
    examples,
    exponential,
)
from crawltwin.work.store import Store
from simulate import Progress, simulate
from simulate.engine.effort import expected_jumps
from simulate.engine.length import Length
from simulate.sample.result import SimulationResult, rounded

# Everything that exists with robots that do not fetch; the other measures are null.
SEEN = [name for name in SCALAR_MEASURES if name != "mean_fetches"]

PAPER = examples.load("paper")


def bits(result: SimulationResult) -> str:
    """Everything but the time it took."""
    answer = result.to_json()
    for name in ("seconds", "events_per_second"):
        answer["diagnostics"].pop(name)
    return json.dumps(answer)


def test_names_are_those_of_the_contract():
    answer = simulate(PAPER, pages=1000, workers=1).to_json()
    assert list(answer["measures"]) == list(MEASURES)
    assert answer["measures"]["mean_fetches"] is None
    for name in SEEN:
        assert answer["measures"][name].keys() == {"value", "low", "high", "confidence"}
    levels = answer["measures"]["level_distribution"]
    assert len(levels) == 6
    assert all(one.keys() == {"value", "low", "high", "confidence"} for one in levels)
    assert answer["seed"] == 1
    assert answer["bit_generator"] == "PCG64"
    assert answer["scenario"] == PAPER.content_hash
    json.dumps(answer)


def test_measures_that_do_not_exist_are_null():
    answer = simulate(PAPER.replace(obsolescence=None, cost=None), pages=1000, workers=1).to_json()
    assert answer["measures"]["mean_sojourn_obsolete"] is None
    assert "cost" not in answer["measures"]
    assert answer["measures"]["obsolescence_probability"]["high"] == 0.0


def test_same_bits_with_one_worker_and_two():
    runs = [simulate(PAPER, pages=3000, seed=9, workers=count) for count in (1, 2)]
    assert bits(runs[0]) == bits(runs[1])


def test_same_bits_on_both_engines():
    fast, reference = (simulate(PAPER, pages=1000, replications=4, engine=e, workers=1) for e in ("compiled", "simpy"))
    assert json.loads(bits(fast))["measures"] == json.loads(bits(reference))["measures"]
    assert fast.quantiles == reference.quantiles


def test_seeds_matter_and_repeat():
    one, again, other = (simulate(PAPER, pages=1000, seed=seed, workers=1) for seed in (1, 1, 2))
    assert bits(one) == bits(again)
    assert one["cost"] != other["cost"]


def test_more_replications_keep_the_first_ones():
    few = simulate(PAPER, pages=500, replications=3, records=True, workers=1).records
    more = simulate(PAPER, pages=500, replications=5, records=True, workers=1).records
    assert few.equals(more[more["replication"] < 3].reset_index(drop=True))


def test_precision_is_reached_and_said():
    result = simulate(PAPER, precision=0.03, workers=1)
    assert result.precision.reached
    for name in SEEN:
        assert result[name].relative_half_width <= 0.03
    assert result.precision.more_pages == 0


def test_a_precision_about_one_measure_needs_less():
    every = simulate(PAPER, precision=0.02, workers=1)
    one = simulate(PAPER, precision=0.02, measures=["arrival_rate"], workers=1)
    assert one.precision.worst == "arrival_rate"
    assert one.diagnostics.events < every.diagnostics.events


def test_a_budget_ends_the_run_and_tells_what_is_missing():
    result = simulate(PAPER, precision=1e-6, budget=0.2, workers=1)
    assert not result.precision.reached
    aim = result.precision
    pages = result.diagnostics.pages["delivered"]
    assert aim.more_pages == pytest.approx(pages * ((aim.half_width / 1e-6) ** 2 - 1), rel=1e-9)
    assert aim.more_seconds > 0


def test_long_waits_are_met_with_longer_runs():
    """Where the start is forgotten slowly, runs of a length that nobody chose are made longer."""
    slow = examples.load("mm1k").replace(
        capacity=3000,
        obsolescence=None,
        arrivals=ModeMatrices({1: examples.load("mm1k").arrivals.mode(1).scaled(1.24)}),
    )
    result = simulate(slow, replications=4, workers=1)
    assert result.diagnostics.pages["delivered"] > 4 * 20_000 * 3


def test_one_long_run_is_cut_into_batches():
    result = simulate(PAPER, pages=100_000, replications=1)
    assert (result.diagnostics.units, result.diagnostics.count) == ("batches", 20)
    assert result["cost"].covers(63.54254769)


def test_short_batches_are_warned_of():
    result = simulate(PAPER.replace(capacity=100, obsolescence=exponential(200.0)), pages=500, replications=1)
    assert any("correlated" in warning or "forgotten" in warning for warning in result.warnings)


def test_interruption_returns_what_is_known():
    def stop(state: Progress) -> None:
        if state.done == 7:
            raise KeyboardInterrupt

    result = simulate(PAPER, pages=1000, workers=1, progress=stop)
    assert result.interrupted
    assert result.diagnostics.count == 7
    assert result["cost"].low < result["cost"].high


def test_interruption_after_one_run_falls_back_on_batches():
    def stop(state: Progress) -> None:
        raise KeyboardInterrupt

    result = simulate(PAPER, pages=5000, workers=1, progress=stop)
    assert (result.interrupted, result.diagnostics.units) == (True, "batches")


def test_interruption_before_anything_is_known_is_passed_on(monkeypatch: pytest.MonkeyPatch):
    from simulate.sample import draws

    def interrupted(piece):
        raise KeyboardInterrupt

    monkeypatch.setattr(draws, "run_piece", interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulate(PAPER, pages=1000, workers=1)


def test_interruption_of_longer_runs_falls_back_on_the_short_ones():
    """A fine precision makes the runs longer; stopped before one of those is done, the first round still tells."""
    from simulate.sample import draws, settings

    honest, count = draws.run_piece, 0

    def interrupted(piece):
        nonlocal count
        count += 1
        if piece.job.length.pages > settings.PAGES:
            raise KeyboardInterrupt
        return honest(piece)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draws, "run_piece", interrupted)
        result = simulate(PAPER, precision=0.001, workers=1)
    assert count == 21
    assert (result.interrupted, result.diagnostics.count) == (True, 20)
    assert not result.precision.reached


def test_progress_tells_rate_time_left_and_half_widths():
    seen: list[Progress] = []
    simulate(PAPER, precision=0.02, workers=1, progress=seen.append)
    assert seen[0].done == 1
    assert seen[-1].half_widths.keys() == set(SEEN)
    assert all(state.rate > 0 and state.seconds_left >= 0 for state in seen)


def test_an_interrupted_run_goes_on_from_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from simulate.sample import draws

    def stop(state: Progress) -> None:
        if state.done == 4:
            raise KeyboardInterrupt

    simulate(PAPER, pages=1000, replications=8, workers=1, store=Store(tmp_path), progress=stop)
    ran: list[int] = []
    honest = draws.run_to_keep

    def counted(piece):
        ran.append(piece.replication)
        return honest(piece)

    monkeypatch.setattr(draws, "run_to_keep", counted)
    resumed = simulate(PAPER, pages=1000, replications=8, workers=1, store=Store(tmp_path))
    assert ran == [4, 5, 6, 7]
    assert bits(resumed) == bits(simulate(PAPER, pages=1000, replications=8, workers=1))


def test_warm_up_given_found_and_too_long():
    result = simulate(PAPER, time=500.0, warmup=100.0, workers=1)
    assert result.diagnostics.warmup_time == pytest.approx(100.0, rel=1e-9)
    assert simulate(PAPER, time=500.0, workers=1).diagnostics.warmup_found
    with pytest.raises(InputError, match="warmup must be shorter than a run, 500; got 600"):
        simulate(PAPER, time=500.0, warmup=600.0, workers=1)


def test_frame_and_repr():
    result = simulate(PAPER, pages=1000, workers=1)
    frame = result.to_frame()
    assert list(frame["measure"][:13]) == list(SCALAR_MEASURES)
    assert frame["level"].dropna().tolist() == [0, 1, 2, 3, 4, 5]
    text = repr(result)
    assert text.startswith("SimulationResult: 95% intervals from 20 replications, seed 1")
    assert f"loss_probability          {rounded(result['loss_probability'])}" in text


def test_conservation_and_little_are_reported():
    how = simulate(PAPER, pages=1000, workers=1).diagnostics
    assert how.conservation == 0
    assert how.little < 1e-12
    pages = how.pages
    assert pages["delivered"] == pages["lost"] + pages["obsolete"] + pages["served"] + pages["present"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"pages": 0}, "pages must be at least 250; got 0"),
        ({"pages": -5}, "pages must be at least 250; got -5"),
        ({"pages": 1e6}, "pages must be a whole number; got 1000000.0"),
        ({"pages": 1000, "time": 5.0}, "one of time and pages must be given"),
        ({"time": 0.0}, "time must be greater than 0; got 0.0"),
        ({"time": math.nan}, "time must be a finite number; got nan"),
        ({"time": -1.0}, "time must be greater than 0; got -1.0"),
        ({"precision": 0}, "precision must be greater than 0; got 0"),
        ({"precision": math.nan}, "precision must be a finite number; got nan"),
        ({"precision": 0.1, "replications": 1}, "replications must be at least 2; got 1"),
        ({"replications": 0}, "replications must be at least 1; got 0"),
        ({"seed": 1.5}, "seed must be a whole number, 0 or more; got 1.5"),
        ({"seed": -1}, "seed must be a whole number, 0 or more; got -1"),
        ({"seed": "one"}, "seed must be a whole number, 0 or more; got 'one'"),
        ({"seed": None}, "seed must be a whole number, 0 or more; got None"),
        ({"engine": "fast"}, "engine must be one of compiled, simpy; got 'fast'"),
        ({"confidence": 1.0}, "confidence must be below 1; got 1.0"),
        ({"confidence": 0}, "confidence must be greater than 0; got 0"),
        ({"budget": 0, "precision": 0.1}, "budget must be greater than 0; got 0"),
        ({"warmup": -1.0}, "warmup must be at least 0; got -1.0"),
        ({"start": [0.5, 0.6]}, "start must sum to 1"),
        ({"start": [1.0] + [0.0] * 9}, "start must have at most 6 probabilities"),
        ({"start": [math.nan, 1.0]}, "start must be finite; got nan"),
        ({"quantiles": [1.5]}, "quantiles must be at most 1; got 1.5"),
        ({"measures": ["loss"]}, "measures must be names among arrival_rate"),
        ({"method": "bootstrap"}, "method must be jackknife or delta"),
        ({"workers": 0}, "workers must be a whole number, at least 1; got 0"),
    ],
)
def test_every_refusal_says_what_is_wrong(options: dict, text: str):
    with pytest.raises(InputError, match=text.replace("[", r"\[")):
        simulate(PAPER, **options)


def test_all_faults_at_once():
    with pytest.raises(InputError) as error:
        simulate(PAPER, pages=0, seed=-1, precision=0, engine="x")
    assert len(error.value.faults) == 4


def test_an_open_policy_is_refused():
    with pytest.raises(InputError, match="policy must be given when several numbers of robots are known"):
        simulate(PAPER.replace(policy=None))


def test_many_levels_use_fewer_bins():
    scenario = examples.load("mm1k").replace(capacity=50_000)
    result = simulate(scenario, pages=2000, replications=2, workers=1)
    assert len(result["level_distribution"]) == 50_001
    assert np.isfinite(result["mean_pages"].value)


@pytest.mark.parametrize(
    "options", [{"time": 0.01}, {"time": 0.01, "replications": 1}, {"pages": 250, "replications": 2}]
)
def test_runs_too_short_to_know_anything_say_so(options: dict):
    result = simulate(PAPER, workers=1, **options)
    for name in ("loss_probability", "cost"):
        assert result[name] is None or result[name].low <= result[name].value <= result[name].high
    if "time" in options:
        assert any("unknown" in warning for warning in result.warnings)
    json.dumps(result.to_json())


def test_where_no_page_waits_none_becomes_obsolete():
    result = simulate(
        PAPER.replace(capacity=1, policy=None, arrivals=examples.load("mm1k").arrivals), pages=1000, workers=1
    )
    assert result["mean_sojourn_obsolete"] is None
    assert result["obsolescence_probability"].high == 0
    assert result.warnings == ()


def test_the_unit_of_time_does_not_matter():
    """All rates times a power of two: the same path on another clock, bit for bit."""
    slow = PAPER.replace(
        arrivals=ModeMatrices({r: mode.scaled(2.0**-40) for r, mode in PAPER.arrivals.modes.items()}),
        service=PAPER.service.scaled(2.0**-40),
        obsolescence=PAPER.obsolescence.scaled(2.0**-40),
    )
    fast, same = simulate(PAPER, pages=1000, workers=1), simulate(slow, pages=1000, workers=1)
    assert fast["loss_probability"] == same["loss_probability"]
    assert same["mean_sojourn"].value == fast["mean_sojourn"].value * 2.0**40


@pytest.mark.parametrize("capacity", [1_000_000, 10**20])
def test_a_capacity_that_memory_cannot_hold_is_refused_at_once(capacity: int):
    with pytest.raises(TooLargeError, match="capacity must be below 1,000,000 pages for a simulation"):
        simulate(examples.load("mm1k").replace(capacity=capacity), pages=500)


def test_the_effort_is_estimated_beforehand_and_runs_that_never_end_are_refused():
    fast = BMAP([[[-1e15 - 1.0, 1e15], [1e15, -1e15 - 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    restless = examples.load("mm1k").replace(arrivals=ModeMatrices({1: fast}))
    for length in ({"time": 10.0}, {"pages": 500}):
        with pytest.raises(TooLargeError, match="a replication must have at most 1,000,000,000,000 jumps of phases"):
            simulate(restless, **length)
    for name in ("paper", "independent", "thinned", "marked", "scaled"):
        scenario, length = examples.load(name), Length(pages=20_000)
        events = simulate(scenario, pages=20_000, replications=2, workers=1).diagnostics.events / 2
        assert 0.2 < expected_jumps(scenario, length) / events < 5
