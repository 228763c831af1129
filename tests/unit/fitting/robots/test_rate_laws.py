"""What fewer robots bring: laws of the rate, the test of proportional rates, several logs in one command."""

import json
import math

import numpy as np
import pytest

from crawltwin.cli.main import main
from crawltwin.model import InputError, Scenario
from crawltwin.model.interval import Interval
from fitting import FitOptions, fit
from fitting.robots.rate_laws import RateSeen, RobotEvidence, rate_seen
from fitting.robots.robots_of import RobotsOf
from fitting.trace.segments import Segments


def seen(rates, error=0.01):
    return RobotEvidence(tuple(RateSeen(r, 5000, Interval(v, v, v), error, 12.0) for r, v in rates.items()))


def modulated(gaps, rate, rng, stay=30):
    """Exponential gaps in two regimes, four times as fast in one as in the other, of `stay` gaps on average."""
    changes = rng.random(gaps) < 1 / stay
    quick = (np.cumsum(changes) + rng.integers(2)) % 2
    return Segments.of(rng.exponential(np.where(quick, 0.4, 1.6)) / rate)


@pytest.mark.parametrize("theta", [0.6, 1.0])
def test_exact_power_laws_are_found(theta):
    found = seen({r: 3 * r**theta for r in (1, 2, 4)})
    assert found.theta.value == pytest.approx(theta)
    # By hand: the variance of the slope is error^2 over the sum of squares of log r about its mean.
    x = np.log([1, 2, 4])
    error = 0.01 / math.sqrt(((x - x.mean()) ** 2).sum())
    assert found.theta.high - found.theta.value == pytest.approx(2.0739 * error, rel=1e-3)  # t of 22 degrees
    assert found.verdict == ("supported" if theta == 1 else "refuted")
    assert found.law == ("proportional" if theta == 1 else "power")
    assert found.share(2) == pytest.approx(0.5**theta)
    assert found.relative(3) == pytest.approx(3**theta)


def test_saturating_and_free_rates_are_found():
    saturating = seen({r: r / (1 + (r - 1) * 0.3) for r in (1, 2, 4, 8)}, error=0.005)
    assert saturating.law == "saturating"
    assert saturating.saturation == pytest.approx(0.3, abs=1e-4)
    free = seen({1: 1.0, 2: 1.9, 4: 2.0, 8: 2.1}, error=0.005)
    assert free.law == "free"
    assert free.share(4) == pytest.approx(2.0 / 2.1)
    assert 1.9 / 2.1 < free.share(3) < 2.0 / 2.1
    assert free.share(9) > 1


def test_what_cannot_be_told_is_said():
    assert seen({4: 2.0}).verdict == "cannot tell"
    assert (seen({4: 2.0}).theta.low, seen({4: 2.0}).theta.high) == (0.5, 1.0)
    assert seen({1: 1.0, 2: 1.9}, error=0.2).verdict == "cannot tell"
    assert seen({1: 1.0, 2: 1.9}, error=0.2).law == "proportional"
    json.dumps(seen({4: 2.0}).to_json(), allow_nan=False)
    with pytest.raises(InputError, match="rates must be for rising numbers"):
        RobotEvidence((*seen({2: 1.0}).rates, *seen({1: 1.0}).rates))


def test_the_error_of_a_rate_knows_correlation():
    """Regimes of 30 gaps: the variance of the mean is 1 + 2 sum(rho) times that of independent gaps, here 16 times."""
    rng = np.random.default_rng(3)
    data = modulated(20_000, 1.0, rng)
    plain = float(data.gaps.std() / data.gaps.mean() / math.sqrt(len(data)))
    assert 1.8 * plain < rate_seen(data, 1, repetitions=60).log_error < 8 * plain


@pytest.mark.slow
@pytest.mark.parametrize(("theta", "low", "high"), [(1.0, 0.0, 0.05), (0.6, 0.9, 1.0)])
def test_planted_saturation_is_found_and_false_alarms_are_few(theta, low, high):
    """20,000 batches in three logs of 1, 2 and 4 robots, with correlated gaps."""
    refuted = []
    for seed in range(100):
        rng = np.random.default_rng([seed, 5])
        traces = [(r, modulated(6667, r**theta, rng)) for r in (1, 2, 4)]
        found = RobotEvidence(tuple(rate_seen(data, r, seed=seed, repetitions=40) for r, data in traces))
        refuted.append(found.verdict == "refuted")
    assert low <= np.mean(refuted) <= high


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Three logs of 1, 2 and 4 robots that bring pages in proportion to r^0.5."""
    folder, rng = tmp_path_factory.mktemp("several"), np.random.default_rng(8)
    for name, robots in (("one.log", 1), ("two.log", 2), ("four.log", 4)):
        times = 1.5e9 + np.cumsum(rng.exponential(1 / math.sqrt(robots), size=2000))
        (folder / name).write_text("\n".join(f"{t:.6f}" for t in times))
    return [str(folder / name) for name in ("one.log", "two.log", "four.log")]


def test_several_logs_are_one_fit(logs):
    numbers = RobotsOf.read("one.log=1,two.log=2,four.log=4")
    result = fit(logs, options=FitOptions(methods=("poisson",), robots_of=numbers, repetitions=20, refits=0))
    assert result.evidence.verdict == "refuted"
    assert result.evidence.theta.low < 0.5 < result.evidence.theta.high
    assert result.process.page_rate == pytest.approx(2, rel=0.1)
    arrivals = result.scenario(robots=5).arrivals
    assert arrivals.robot_numbers == (1, 2, 3, 4, 5)
    assert arrivals.mode(1).page_rate / arrivals.mode(4).page_rate == pytest.approx(0.5, rel=0.1)


def test_the_command_takes_several_logs(logs, tmp_path, capsys):
    out = tmp_path / "s.toml"
    words = ["fit", *logs, "--model", "poisson", "--no-replay", "--json", "--out", str(out)]
    assert main([*words, "--robots-of", "one.log=1,two.log=2,four.log=4"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["robot_rates"]["verdict"] == "refuted"
    assert [one["robots"] for one in answer["robot_rates"]["rates"]] == [1, 2, 4]
    scenario = Scenario.read(out)
    assert scenario.arrivals.kind == "modes"
    assert scenario.policy.robots == (4,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one.log=1,two.log=2", "robots-of must name every log"),
        ("one.log=1,two.log=2,four.log=4,more.log=8", "robots-of must name logs that are read; got 'more.log'"),
        ("one.log=2,two.log=2,four.log=2", "at least two different numbers of robots"),
        ("one.log=x", "robots-of must be FILE=ROBOTS"),
    ],
)
def test_wrong_numbers_are_refused(logs, text, message, capsys):
    assert main(["fit", *logs, "--robots-of", text]) == 2
    assert message in capsys.readouterr().err


def test_a_column_of_robots_tells_too(tmp_path):
    """The number changes every 500 pages; rates are in proportion to r^0.5."""
    rng = np.random.default_rng(4)
    robots = np.repeat(np.tile([1, 4], 6), 500)
    times = 1.5e9 + np.cumsum(rng.exponential(1 / np.sqrt(robots)))
    path = tmp_path / "log.jsonl"
    rows = (json.dumps({"timestamp": t, "robots": int(r)}) for t, r in zip(times, robots, strict=True))
    path.write_text("\n".join(rows))
    result = fit(path, options=FitOptions(methods=("poisson",), repetitions=20, refits=0))
    assert [one.robots for one in result.evidence.rates] == [1, 4]
    assert result.evidence.theta.value == pytest.approx(0.5, abs=0.08)
    assert result.evidence.verdict == "refuted"
