"""A plan from logs with several numbers of robots: processes that were seen, a law for the others."""

import json

import numpy as np
import pytest

from crawltwin.cli.main import main
from crawltwin.model import ModeMatrices
from crawltwin.plan.prepare import scenario_of, with_robots_of_log
from crawltwin.plan.settings import PlanSettings
from fitting import FitOptions, fit, read_log
from fitting.models.general_map import GeneralMap
from fitting.robots.modes import _likelihood, learn_modes
from fitting.robots.rate_laws import evidence_of
from fitting.trace.segments import Segments

NUMBERS = {"one.log": 1, "two.log": 2, "four.log": 4}
OPTION = ",".join(f"{name}={number}" for name, number in NUMBERS.items())


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Poisson deliveries in proportion to r^0.5."""
    folder, rng = tmp_path_factory.mktemp("several"), np.random.default_rng(8)
    for name, robots in NUMBERS.items():
        times = 1.5e9 + np.cumsum(rng.exponential(robots**-0.5, size=1500))
        (folder / name).write_text("\n".join(f"{t:.6f}" for t in times))
    return [str(folder / name) for name in NUMBERS]


def test_the_command_plans_from_several_logs(logs, tmp_path, capsys):
    words = ["plan", *logs, "--robots-of", OPTION, "--quick", "--redraws", "10", "--model", "poisson", "--json"]
    code = main([*words, "--capacity", "6", "--service-mean", "0.4", "--out", str(tmp_path / "s.json")])
    answer = json.loads(capsys.readouterr().out)
    assert code == 0, answer["verdict"]
    assert answer["fewer_robots"]["verdict"] == "refuted"
    inputs = {one["name"]: one for one in answer["inputs"]}
    assert (inputs["robots"]["value"], inputs["robots"]["source"]) == ("4", "log")
    assert inputs["what fewer robots bring"]["source"] == "log"
    # The log of four robots is replayed as it was written, not thinned by a share that the data refute.
    assert answer["replay"]["trusted"]
    assert answer["uncertainty"]["redraws"] == 10
    arrivals = json.loads((tmp_path / "s.json").read_text())["arrivals"]
    assert arrivals["kind"] == "modes"


def test_numbers_that_were_seen_have_their_rates_and_others_the_law(logs):
    raw = {number: read_log(path) for number, path in zip(NUMBERS.values(), logs, strict=True)}
    found = fit(raw, options=FitOptions(methods=("poisson",), repetitions=20, refits=0))
    settings = with_robots_of_log(found, PlanSettings(robots=5, capacity=4))
    assert (settings.robots, settings.recorded) == (5, 4)
    arrivals = scenario_of(found, settings).arrivals
    assert isinstance(arrivals, ModeMatrices)
    for robots in range(1, 6):
        assert arrivals.page_rate(robots) == pytest.approx(robots**0.5, rel=0.1)
    # Two fetches of the log are one robot: two robots are four of those that were seen.
    paired = with_robots_of_log(found, PlanSettings(fetches_per_robot=2, capacity=4))
    assert paired.robots == 2
    assert scenario_of(found, paired).arrivals.page_rate(2) == pytest.approx(2, rel=0.1)
    given = PlanSettings(robots=4, capacity=4, control="thinned")
    assert scenario_of(found, with_robots_of_log(found, given)).arrivals.kind == "thinned"


BASE = GeneralMap(np.array([[-4.05, 0.05], [0.02, -0.42]]), np.array([[4.0, 0.0], [0.0, 0.4]]))


def _made(process, gaps, seed):
    times = process.sample(np.random.default_rng(seed), gaps + 1).times
    return Segments.of(np.diff(times))


@pytest.mark.parametrize("form", ["thinned", "scaled"])
def test_whether_the_spells_of_the_web_slow_down_with_the_robots_is_told(form):
    """Spells of the web that keep their pace make a thinned stream, those that slow down with the robots a scaled."""
    whole = BASE.bmap()
    quarter = whole.thinned(0.25) if form == "thinned" else whole.scaled(0.25)
    traces = [(1, _made(quarter, 4000, 1)), (4, _made(whole, 4000, 2))]
    found = learn_modes(BASE, traces, evidence_of(traces))
    assert found.form == form
    # The rates of single traces are known to 4% here; within the same regimes they are known far better.
    share = found.modes[1].process.page_rate / found.modes[4].process.page_rate
    assert share == pytest.approx(0.25, rel=0.04)
    near, far = found.modes[1].process, BASE.bmap().scaled(0.25 if form == "thinned" else 0.5)
    fresh = _made(quarter, 4000, 3)
    best = _likelihood(quarter, fresh)
    assert best - 0.01 * len(fresh) < _likelihood(near, fresh) < best + 0.01 * len(fresh)
    assert _likelihood(far, fresh) < _likelihood(near, fresh)


def test_a_process_of_another_form_is_fitted_again():
    """One robot without the spells that four robots meet: neither scaled nor thinned, but fitted to its own gaps."""
    alone = np.random.default_rng(4).exponential(2.0, size=3000)
    traces = [(1, Segments.of(alone)), (4, _made(BASE.bmap(), 3000, 5))]
    found = learn_modes(BASE, traces, evidence_of(traces))
    assert found.modes[1].source == "refitted"
    mode = found.modes[1].process
    assert mode.phases == 2
    assert mode.interval_variance / mode.interval_moment(1) ** 2 == pytest.approx(1, abs=0.15)
    again = found.redrawn(4, np.random.default_rng(1))
    assert again.phases == 2
    assert again.page_rate(1) == pytest.approx(mode.page_rate, rel=0.15)
