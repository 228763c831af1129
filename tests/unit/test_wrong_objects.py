"""What every public function says when it is given another public object: what it wants, and where that is."""

import inspect
from pathlib import Path

import pytest

import analytic
import crawltwin as ct
import fitting
import simulate
import validate
from crawltwin.model import InputError, examples

PAPER = examples.load("paper")
OPTIMUM = ct.optimize(PAPER)

TAKE_A_SCENARIO = [
    pytest.param(function, id=f"{room.__name__}.{name}")
    for room in (analytic, simulate, validate)
    for name in room.__all__
    if inspect.isfunction(function := getattr(room, name))
    and next(iter(inspect.signature(function).parameters)) == "scenario"
]


def others(function):
    """Something for every argument that has no default."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return {p.name: None for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD}


def test_the_rooms_have_such_functions():
    assert len(TAKE_A_SCENARIO) >= 23


@pytest.mark.parametrize("function", TAKE_A_SCENARIO)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (OPTIMUM, "got an Optimum. Give its .scenario"),
        ("paper", "got 'paper'. crawltwin.load reads one"),
        (None, "got None. crawltwin.load gives one"),
    ],
    ids=["optimum", "name", "nothing"],
)
def test_a_function_of_a_scenario_says_that_it_wants_one(function, given, words):
    with pytest.raises(InputError) as error:
        function(given, **others(function))
    assert f"the scenario of {function.__name__} must be a Scenario; {words}" in str(error.value)


def test_the_scenario_may_be_named():
    with pytest.raises(InputError, match="must be a Scenario"):
        ct.solve(scenario=OPTIMUM)
    assert ct.solve(scenario=PAPER)["cost"] == ct.solve(PAPER)["cost"]


@pytest.mark.parametrize("given", [PAPER, OPTIMUM, None, 3])
def test_loading_and_fitting_want_names_of_files(given):
    with pytest.raises(InputError, match="must be the name of an example or a path; got"):
        ct.load(given)
    for function in (ct.fit, fitting.read_log):
        with pytest.raises(InputError, match="log must be a path or several; got"):
            function(given)


def test_several_scenarios_are_each_looked_at():
    with pytest.raises(InputError, match="the scenario of crosscheck must be a Scenario; got PosixPath"):
        ct.crosscheck([PAPER, Path("paper.toml")])


def test_a_scenario_and_the_law_of_the_time_in_the_system_show_themselves_in_a_notebook():
    shown = PAPER._repr_html_()
    assert "three robots, then one" in shown
    assert "3 robots" in shown and "loss=5" in shown
    law = ct.solve(examples.load("mm1k")).sojourn
    assert law is not None
    shown = law._repr_html_()
    # M/M/1/5 without obsolescence: whoever is accepted is served.
    assert shown.count("<tr>") >= 3 and "95% within" in shown
    assert f"{law.quantile(0.95, 'served'):.6g}" in shown


@pytest.mark.parametrize("function", [simulate.compare, simulate.select_best])
@pytest.mark.parametrize(
    ("policies", "words"),
    [
        (["3,1@2", "3"], "policies must be a mapping of names to policies; got a list"),
        ({"a": "3,1@2", "b": None}, "each policy must be a ThresholdPolicy or a LevelPolicy; got '3,1@2'"),
    ],
)
def test_policies_that_are_none_are_refused_with_an_example(function, policies, words):
    with pytest.raises(InputError) as error:
        function(PAPER, policies)
    assert words in str(error.value)
    assert "ThresholdPolicy([4])" in str(error.value)


def test_what_select_best_needs_is_asked_for():
    policies = {str(robots): ct.load("paper").policy for robots in (1, 2)}
    with pytest.raises(InputError, match="indifference must be given"):
        simulate.select_best(PAPER, policies)
