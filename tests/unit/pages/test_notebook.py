"""In a notebook: every result has a headline, a table with units and, where a picture says it, a picture."""

import copy
import dataclasses
import json
import pickle
import re
import subprocess
import sys
from functools import cache
from importlib import import_module

import pandas as pd
import pytest
from matplotlib.figure import Figure as Canvas

import analytic
import crawltwin as ct
import simulate
from crawltwin.model import InputError, ThresholdPolicy
from crawltwin.model.results.display import Drawn, Shown, frame_as_html
from crawltwin.pages.notebook.choice import PICTURES
from crawltwin.plan.demo_trace import demo_log
from crawltwin.plan.what_if.axes import read_axis
from crawltwin.plan.what_if.sweeps import sweep
from fitting import FitOptions, fit, read_counts, read_log
from simulate.questions.coverage_experiment import Share
from simulate.questions.rare_events import Splits
from tests.conftest import REPOSITORY
from validate import ValidationPlan

PAPER = ct.load("paper")
RESULTS = {
    "Solution": lambda: ct.solve(PAPER),
    "Optimum": lambda: ct.optimize(PAPER),
    "Certificate": lambda: analytic.certify(PAPER),
    "Constrained": lambda: analytic.constrain(PAPER, at_most={"loss_probability": 0.15}),
    "ParetoFront": lambda: analytic.pareto(PAPER),
    "PollingCost": lambda: analytic.polling_cost(ct.load("mm1k").replace(capacity=3, cost=PAPER.cost), [0.0, 1.0]),
    "Sensitivity": lambda: analytic.sensitivity(PAPER),
    "AsymptoticVariance": lambda: analytic.asymptotic_variance(PAPER),
    "Transient": lambda: analytic.transient(PAPER, [0.0, 1.0, 5.0]),
    "AbsorptionTime": lambda: analytic.passage(PAPER, 4),
    "Completion": lambda: analytic.completion(PAPER, 30),
    "SimulationResult": lambda: ct.simulate(PAPER, pages=2_000, replications=5, seed=1),
    "Sample": lambda: simulate.draw_sample(PAPER, simulate.SampleSettings(pages=2_000, replications=5)),
    "Comparison": lambda: simulate.compare(
        PAPER, {"three": ThresholdPolicy([3], []), "one": ThresholdPolicy([1], [])}, pages=2_000, replications=5, seed=1
    ),
    "RareLoss": lambda: simulate.RareLoss(
        simulate.Interval(1e-9, 5e-10, 2e-9), 0.2, (1e-9, 1.1e-9), 40, 2_000, Splits((3,), (8,)), seed=1
    ),
    "Selection": lambda: simulate.Selection(
        "3,1@2", "cost", {"3,1@2": 63.5, "3": 90.0}, {"3,1@2": 40, "3": 20}, 0.5, 0.95, sure=True, seed=1
    ),
    "Coverage": lambda: simulate.Coverage(
        (Share("mean_pages", 2.0, 94, 100, 0.88, 0.98, True, 0.5, False),), 0.95, 10, 500, seed=1
    ),
    "CrossCheck": lambda: ct.crosscheck(ct.load("mm1k"), ValidationPlan(margin=0.2), approach=False),
    "Sweep": lambda: sweep(PAPER, [read_axis("capacity=3:4")]),
}


@cache
def result(name):
    return RESULTS[name]()


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_shows_itself_in_a_notebook(name):
    found = result(name)
    assert type(found).__name__ == name
    assert isinstance(found, Shown)
    shown, frame = found._repr_html_(), found.to_frame()
    assert "<table>" in shown
    assert "nan" not in shown.casefold().split("<")
    assert len(frame) and ("unit" in frame or frame.attrs.get("units")), "a table has units"
    assert len(repr(found)) < 1200, "a repr is short"
    assert repr(found).startswith(f"{name}: ")


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_can_be_saved_and_sent(name):
    """After it was shown too: what it holds to answer faster does not travel."""
    found = result(name)
    found._repr_html_()
    again = pickle.loads(pickle.dumps(found))
    assert again._repr_html_() == found._repr_html_()
    assert copy.deepcopy(found).to_frame().equals(found.to_frame())
    if name != "Sample":
        json.dumps(found.to_json(), allow_nan=False)


def test_mappings_that_cannot_be_written_to_stay_so():
    again = pickle.loads(pickle.dumps(result("SimulationResult")))
    with pytest.raises(TypeError):
        again.measures["cost"] = None


def test_a_log_is_shown_and_compared_by_what_it_is(tmp_path):
    (tmp_path / "<b>.log").write_text(demo_log(1, 200))
    (tmp_path / "counts.csv").write_text("time,pages_total\n" + "".join(f"{60 * k},{3 * k}\n" for k in range(50)))
    logs = read_log(tmp_path / "<b>.log"), read_counts(tmp_path / "counts.csv")
    for log in logs:
        assert "deliveries" in log._repr_html_()
        assert log == log
        assert log != pickle.loads(pickle.dumps(log))


@pytest.mark.parametrize(("name", "picture"), [(n, p) for n in RESULTS for p in PICTURES.get(n, ())])
def test_a_picture_is_made_from_a_result(name, picture):
    made = result(name).plot(picture)
    assert "<svg" in made._repr_html_()
    assert len(repr(made)) < 2_000, "the picture's text is not in its repr"
    axes = Canvas().subplots()
    assert result(name).plot(picture, axes=axes) is axes
    assert axes.has_data()


def test_those_that_can_be_drawn_are_those_with_pictures():
    drawn = {name for name in RESULTS if isinstance(result(name), Drawn)}
    assert drawn == set(RESULTS) & set(PICTURES)


def test_the_page_on_notebooks_names_every_picture():
    page = (REPOSITORY / "docs" / "how-to.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:3] for line in page.partition("| result | pictures |")[2].splitlines()[2:] if "|" in line]
    told = {
        name: re.findall(r"`(\w+)`", pictures) for names, pictures in rows for name in re.findall(r"`(\w+)`", names)
    }
    assert told == {name: list(pictures) for name, pictures in PICTURES.items()}


def test_a_picture_of_another_name_is_answered_by_the_names():
    with pytest.raises(InputError, match="picture must be one of levels, sojourn; got 'level'"):
        result("Solution").plot("level")
    with pytest.raises(InputError, match=r"measure must be one of .*mean_pages.*; got 'pages'"):
        result("Transient").plot(measure="pages")
    with pytest.raises(InputError, match="options must be what the picture 'levels' asks for; got colour"):
        result("Solution").plot(colour="red")


def test_a_measure_is_found_by_its_name_on_both_sides():
    solved, simulated, check = result("Solution"), result("SimulationResult"), result("CrossCheck")
    assert solved["cost"] == solved.measures["cost"]
    assert simulated["cost"] is simulated.measures["cost"]
    assert check["mean_pages"].comparison.measure == "mean_pages"
    assert len(check["level_distribution"]) > 1
    for found in (solved, simulated, check):
        with pytest.raises(KeyError, match="Did you mean 'mean_pages'"):
            found["mean_page"]


def test_the_front_is_drawn_in_the_criteria_that_are_named():
    front = result("ParetoFront")
    axes = front.plot(x="mean_active_robots", y="loss_probability", axes=Canvas().subplots())
    assert axes.get_xlabel() == "mean number of active robots"
    assert sorted(axes.lines[0].get_ydata()) == sorted(front.to_frame()["loss_probability"])


def test_a_controller_with_resume_points_is_drawn_too():
    crawler = ct.load("paper").replace(policy=ThresholdPolicy([3, 1], [3], resume=[1]))
    assert "<svg" in ct.solve(crawler).plot().svg


def test_what_comes_from_a_log_is_escaped():
    frame = pd.DataFrame({"<b>": ["<script>alert(1)</script>"]})
    assert "<script>" not in frame_as_html(frame)
    assert "<b>" not in frame_as_html(frame)


def test_a_long_table_is_cut_and_says_so():
    assert "60 more rows" in frame_as_html(pd.DataFrame({"x": range(100)}))


@pytest.mark.parametrize("room", ["analytic", "simulate", "fitting", "validate", "crawltwin"])
def test_every_result_of_a_room_is_shown(room):
    # Values, settings, inputs and parts of results: what stands inside a result, or goes into one.
    parts = {"SolverReport", "PolicyCost", "Sample", "Verdict", "Interval", "Scenario", "RawLog", "CountLog"}
    found = [getattr(import_module(room), name) for name in import_module(room).__all__]
    results = [one for one in found if dataclasses.is_dataclass(one) and hasattr(one, "to_json")]
    plain = {one.__name__ for one in results if not issubclass(one, Shown)} - parts
    assert not {name for name in plain if not name.endswith(("Settings", "Plan", "Options", "Trace"))}


def test_a_fit_has_its_diagnostics(tmp_path):
    path = tmp_path / "demo.log"
    path.write_text(demo_log(deliveries=1_500), encoding="utf-8")
    found = fit(read_log(path), options=FitOptions(repetitions=20, refits=0))
    assert "pages per second" in found._repr_html_()
    assert found.to_frame().attrs["units"]["held_out"] == "nats per gap"
    for picture in PICTURES["FitResult"]:
        assert "<svg" in found.plot(picture).svg


def test_showing_a_result_loads_no_pictures_before_one_is_asked_for():
    program = """
import sys
import crawltwin as ct
ct.solve(ct.load("paper"))._repr_html_()
print([name for name in ("matplotlib", "jinja2") if name in sys.modules])
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("method", ["auto", "matrix-free"])
def test_the_law_of_the_time_in_the_system_tells_its_means_not_its_matrices(method):
    solution = ct.solve(ct.load("paper").replace(capacity=3), method=method)
    words = repr(solution.sojourn)
    assert f"served {solution.measures['mean_sojourn_served']:.6g}" in words
    assert "array" not in words and len(words) < 200


def test_wide_tables_scroll_inside_a_notebook():
    assert '<div style="overflow-x:auto"><table>' in ct.optimize(ct.load("paper"))._repr_html_()
