"""`import crawltwin as ct`: a few names, opened when they are used; the public names of every room are frozen here."""

import inspect
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import crawltwin as ct
from crawltwin.cli.main import COMMANDS
from crawltwin.model import InputError
from crawltwin.model.lazy import attach, foreign_room, names_in_stub
from tests.conftest import REPOSITORY

SURFACE = {
    "crawltwin": """
        CrossCheck FitResult Optimum Plan Scenario SimulationResult Solution Unsuitable
        crosscheck fit load optimize plan simulate solve
    """,
    "analytic": """
        METHODS AbsorptionTime AsymptoticVariance Certificate Completion Constrained Optimum ParetoFront PolicyCost
        PollingCost polling_cost
        Sensitivity Solution SolverReport Transient asymptotic_variance certify completion constrain optimize pareto
        passage sensitivity settling_time solve transient
    """,
    "simulate": """
        Comparison Coverage CoverageSettings Estimate Interval Progress RareLoss RareSettings RecordedTrace Sample
        SampleSettings Selection SelectionSettings SimulationResult SimulationSettings closed_form compare coverage
        draw_approach draw_replay draw_sample is_birth_death rare_loss replay select_best simulate timeline
    """,
    "fitting": "NAMES CountLog FitOptions FitResult RawLog ReadOptions fit read_counts read_log",
    "validate": "Comparison CrossCheck ValidationPlan Verdict crosscheck judge",
    "crawltwin.model": """
        ADMISSIONS BMAP MEASURES SCALAR_MEASURES Admission ControlledArrivals ConvergenceError CostWeights
        CrawltwinError Fault IndependentRobots InputError Interval LevelPolicy MarkedStream Measure ModeMatrices
        PhaseType RATES Rates cost_error ArrivalMatrices FetchingRobots Spells
        Policy ScaledStream Scenario ThinnedStream ThresholdPolicy TooLargeError coxian deterministic_like erlang
        exponential from_mean_and_scv from_moments from_three_moments hyper_erlang hyperexponential
    """,
}


@pytest.mark.parametrize("room", SURFACE)
def test_the_public_names_of_each_room_are_these(room):
    found = import_module(room)
    assert sorted(found.__all__) == sorted(SURFACE[room].split())
    assert all(hasattr(found, name) for name in found.__all__)


def test_the_front_door_shows_its_names_alone():
    assert dir(ct) == sorted(SURFACE["crawltwin"].split())


def run(program: str, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY, **more)


def test_importing_it_loads_no_numbers_and_no_room():
    heavy = ["numpy", "scipy", "pandas", "numba", "analytic", "simulate", "fitting", "validate", "argparse", "ast"]
    done = run(f"import sys, crawltwin; print([name for name in {heavy} if name in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr


def test_a_scenario_is_loaded_by_its_name_or_from_its_file(tmp_path):
    scenario = ct.load("mm1k")
    for path in (tmp_path / "own.toml", tmp_path / "plain"):
        scenario.write(path)
        assert ct.load(path) == scenario
        assert ct.load(str(path)) == scenario
    assert ct.solve(scenario).measures["arrival_rate"] == pytest.approx(0.8)


@pytest.mark.parametrize(("source", "words"), [("papers", "Did you mean 'paper'"), ("no/such.toml", "no/such.toml")])
def test_what_cannot_be_loaded_is_told(source, words):
    with pytest.raises(InputError, match=words):
        ct.load(source)


def test_the_room_of_plans_is_called_and_imported_by_one_name():
    used, imported = "callable(ct.plan)", "import crawltwin.plan.settings as s"
    for order in (f"{used}; {imported}", f"{imported}; {used}"):
        done = run(f"import crawltwin as ct; {order}; print({used}, s.PlanSettings.__name__)")
        assert done.stdout.strip() == "True PlanSettings", done.stderr


def test_a_plan_through_the_front_door_is_the_plan_of_its_room(monkeypatch):
    monkeypatch.setattr("crawltwin.plan.decide.plan", lambda *words, **named: (words, named))
    assert ct.plan("crawl.log", workers=2) == (("crawl.log",), {"workers": 2})


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'crawltwin' has no attribute 'sole'"):
        _ = ct.sole


def test_everything_listed_can_be_seen_by_type_checkers():
    names = names_in_stub(str(REPOSITORY / "crawltwin" / "__init__.pyi"))
    assert all(inspect.isclass(getattr(ct, name)) == name[0].isupper() for name in names)


def test_a_foreign_package_of_a_rooms_name_is_named_with_the_way_out(tmp_path: Path):
    other = tmp_path / "validate"
    other.mkdir()
    (other / "__init__.py").write_text("class Validator: ...\n")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import crawltwin as ct; ct.crosscheck"
    done = run(program)
    assert "the package 'validate' must be crawltwin's own; got the one at" in done.stderr
    assert "environment of its own" in done.stderr


def test_our_own_rooms_are_not_foreign():
    assert [foreign_room(room) for room in ("analytic", "simulate", "fitting", "numpy")] == [None] * 4


def test_a_broken_import_inside_a_room_keeps_its_own_words(tmp_path, monkeypatch):
    (tmp_path / "__init__.pyi").write_text("from no.such.module import name as name\n")
    get, _ = attach("crawltwin", str(tmp_path / "__init__.py"))
    with pytest.raises(ModuleNotFoundError, match="No module named 'no'"):
        get("name")


def loaded_by(*words: str) -> set[str]:
    """The modules that a command loads."""
    program = f"""
import sys
import tomllib
from crawltwin.cli.main import main
try:
    main({list(words)!r})
except SystemExit:
    pass
print("loaded:", *sys.modules)
"""
    done = run(program)
    return set(done.stdout.rpartition("loaded:")[2].split())


HEAVY = {"scipy", "numba", "pandas", "matplotlib", "joblib", "statsmodels", "pyarrow", "jinja2", "rich", "distributed"}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_loads_nothing_heavy(command):
    assert loaded_by(command, "--help") & HEAVY == set()


def test_a_small_chain_is_solved_without_compiled_code(tmp_path):
    path = tmp_path / "paper.toml"
    ct.load("paper").write(path)
    unused = (HEAVY - {"scipy"}) | {"scipy.stats", "scipy.optimize", "scipy.ndimage", "simulate", "fitting", "validate"}
    assert loaded_by("solve", str(path), "--json") & unused == set()


def test_the_version_stands_once_and_is_told_where_people_look():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {ct.__version__}\n" in citation
    released = citation.partition("date-released: ")[2].partition("\n")[0]
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert released
    assert f"\n## {ct.__version__} ({released})\n" in changes


def test_a_command_tells_of_a_foreign_package_too(tmp_path: Path):
    (tmp_path / "validate").mkdir()
    (tmp_path / "validate" / "__init__.py").write_text("class Validator: ...\n")
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from crawltwin.cli.main import main
sys.exit(main(["validate", "none.toml"]))
"""
    done = run(program)
    assert done.returncode == 2
    assert done.stderr.startswith("crawltwin: the package 'validate' must be crawltwin's own; got the one at")
    assert "Traceback" not in done.stderr
