"""Named robots: the likelihoods against other ways to them, the right kind on made logs, scenarios and refusals."""

import json

import numpy as np
import pytest
from scipy.linalg import expm

from crawltwin.cli.main import main
from crawltwin.model import BMAP, IndependentRobots, MarkedStream
from crawltwin.model.errors import InputError
from crawltwin.plan.prepare import robot_model, scenario_of, with_robots_of_log
from crawltwin.plan.settings import PlanSettings
from fitting import FitOptions, fit
from fitting.choose import candidates
from fitting.models.erlang_map import ErlangMap
from fitting.models.general_map import GeneralMap
from fitting.readers import read_log
from fitting.robots.deliveries import Deliveries
from fitting.robots.named import compared, independent_scores
from tests.unit.fitting.robots import made_named

FEW = FitOptions(methods=("poisson", "mmpp2"), max_branches=1, repetitions=20, refits=0)


def stream_of(data):
    gaps = data.marked()
    unit = gaps.gaps.mean()
    found, _ = candidates.fit_candidates(gaps.scaled(1 / unit), FEW)
    return candidates.choose(found, "bic", 40).model.slowed(unit)


def as_csv(path, data):
    moments = 1_714_550_400 + data.time
    rows = (f"{moment:.6f},{robot + 7}" for moment, robot in zip(moments, data.robot, strict=True))
    path.write_text("time,worker\n" + "\n".join(rows) + "\n")
    return path


def test_independent_likelihood_is_that_of_the_joint_chain():
    robots = [
        GeneralMap(np.array([[-4.1, 0.1], [0.2, -0.7]]), np.array([[3.5, 0.5], [0.1, 0.4]])),
        GeneralMap(np.array([[-3.0, 3.0], [0.0, -3.0]]), np.array([[0.0, 0.0], [3.0, 0.0]])),
    ]
    data = Deliveries(
        np.array([0.0, 0.4, 0.5, 2.0, 2.1, 9.0, 9.4]), np.array([1, 0, 0, 1, 0, 0, 1]), np.repeat([0, 1], [5, 2]), 2
    )
    one = np.eye(2)
    D0 = np.kron(robots[0].D0, one) + np.kron(one, robots[1].D0)
    marks = [np.kron(robots[0].D1, one), np.kron(one, robots[1].D1)]
    expected = []
    for piece in (slice(0, 5), slice(5, 7)):
        time, who = data.time[piece], data.robot[piece]
        laws = [
            robot.start if who[0] == number else BMAP([robot.D0, robot.D1]).phase_distribution
            for number, robot in enumerate(robots)
        ]
        state = np.kron(*laws)
        for gap, mark in zip(np.diff(time), who[1:], strict=True):
            state = state @ expm(D0 * gap) @ marks[mark]
            expected.append(np.log(state.sum()))
            state = state / state.sum()
    np.testing.assert_allclose(independent_scores(robots, data), expected, rtol=1e-10)


def test_poisson_robots_are_as_likely_as_a_pooled_stream_with_chance_marks():
    data = made_named.pooled(400, 3, (0.7, 0.3))
    robots = [ErlangMap.poisson(1 / rate) for rate in (0.7, 0.3)]
    pooled = ErlangMap.poisson(1.0).with_batch_sizes(np.array([0.7, 0.3]))
    np.testing.assert_allclose(independent_scores(robots, data), pooled.scores(data.marked()), rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: made_named.independent(700, 1), "independent"),
        (lambda: made_named.pooled(1200, 1), "pooled"),
        (lambda: made_named.pooled(1500, 2, (0.1, 0.3, 0.6)), "pooled"),
        (lambda: made_named.marked(1500, 1), "marked"),
        (lambda: made_named.marked(1500, 2, (1.0, 1.0), 0.02), "marked"),
    ],
)
def test_the_right_kind_is_found(make, kind):
    data = make()
    found = compared(data, stream_of(data))
    assert found.kind == kind
    for name in ("independent", "marked"):
        arrivals = found.arrivals(kind=name)
        assert arrivals.page_rate(data.robots) == pytest.approx(len(data.marked()) / np.diff(data.time).sum(), rel=0.02)
    if kind != "pooled":
        again = found.redrawn(data.robots, np.random.default_rng(0))
        assert again.kind == kind
        assert again.page_rate(1) == pytest.approx(found.arrivals().page_rate(1), rel=0.5)


@pytest.mark.slow
def test_false_choices_on_pooled_streams_are_rare():
    kinds = [compared(data := made_named.pooled(1200, 500 + seed), stream_of(data)).kind for seed in range(20)]
    assert kinds.count("pooled") >= 19


def test_too_many_phases_are_refused_and_the_stream_is_kept():
    data = made_named.pooled(7 * 300, 4, (1 / 7,) * 7)
    found = compared(data, stream_of(data))
    assert found.kind == "pooled"
    assert "at most 64 together" in found.refused["independent"]
    with pytest.raises(InputError, match="at most 64 together"):
        found.arrivals(kind="independent")


def test_ties_are_spread_over_the_clock_and_many_of_them_refused(tmp_path):
    data = made_named.independent(700, 1)
    path = tmp_path / "ticks.csv"
    rows = (f"{1_714_550_400 + round(t)},{robot}" for t, robot in zip(data.time, data.robot, strict=True))
    path.write_text("time,worker\n" + "\n".join(rows) + "\n")
    found = fit(path, options=FEW)
    assert "their order is not known" in found.named.words[0]
    assert found.brought.supported == "stream"


def test_scenario_and_plan_take_the_kind_that_won(tmp_path):
    path = as_csv(tmp_path / "robots.csv", made_named.independent(700, 1))
    found = fit(path, options=FEW)
    assert found.named.kind == found.brought.supported == "independent"
    assert found.to_json()["robots"]["named"]["kind"] == "independent"
    scenario = found.scenario(arrivals="auto")
    assert isinstance(scenario.arrivals, IndependentRobots)
    assert scenario.policy.robots == (2,)
    assert isinstance(found.scenario(arrivals="marked").arrivals, MarkedStream)
    with pytest.raises(InputError, match="must be the 2 that the log names; got 3"):
        found.scenario(arrivals="independent", robots_in_log=3)
    settings = with_robots_of_log(found, PlanSettings())
    assert settings.robots == 2
    assert robot_model(found, settings) is found.named
    assert scenario_of(found, settings).arrivals == scenario.arrivals


def test_command_writes_the_scenario(tmp_path, capsys):
    path = as_csv(tmp_path / "robots.csv", made_named.marked(1500, 1))
    out, page = tmp_path / "s.toml", tmp_path / "page"
    command = ["fit", str(path), "--no-replay", "--model", "mmpp2", "--arrivals", "auto", "--json"]
    assert main([*command, "--out", str(out), "--report", str(page)]) == 0
    assert json.loads(capsys.readouterr().out)["robots"]["named"]["kind"] == "marked"
    assert 'kind = "marked"' in out.read_text()
    assert "Models of the named robots" in (page / "report.html").read_text()


def test_logs_without_names_have_no_named_robots(tmp_path):
    path = tmp_path / "times.txt"
    times = 1_714_550_400 + made_named.pooled(300, 1).time
    path.write_text("\n".join(f"{moment:.6f}" for moment in times))
    found = fit(path, options=FEW)
    assert found.named is None
    with pytest.raises(InputError, match="got none that names two robots"):
        found.scenario(arrivals="independent")


def test_two_named_columns_of_numbers_are_no_plain_column(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("time,robots\n" + "\n".join(f"{1_714_550_400 + i},{1 + i // 250}" for i in range(500)))
    log = read_log(path)
    assert log.format == "csv"
    assert log.robots.tolist() == [1] * 250 + [2] * 250
