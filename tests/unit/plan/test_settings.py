"""What the operator may say: on the command line, in a file, both; and every complaint."""

import io
import math
import re

import pytest

from crawltwin.cli.main import main
from crawltwin.model import CostWeights, InputError
from crawltwin.plan.config import PlanFile
from crawltwin.plan.limits import IndexWithin, Limits
from crawltwin.plan.settings import NamedWeights, PlanSettings
from fitting.robots.robots_of import RobotsOf


def test_weights_on_the_command_line():
    assert NamedWeights.read("loss=200, robots=20").weights == (("loss", 200.0), ("robots", 20.0))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("loss", "--cost must be NAME=WEIGHT"),
        ("lost=3", "weights named loss, obsolescence, response, robots, starvation; got 'lost'"),
        ("loss=3,loss=4", "got loss again"),
        ("loss=x", "--cost loss must be a number; got 'x'"),
        ("loss=inf", "--cost loss must be finite; got 'inf'"),
        ("loss=-1", "loss must be at least 0; got -1"),
    ],
)
def test_wrong_weights(text, complaint):
    with pytest.raises(InputError, match=complaint):
        NamedWeights.read(text)


def test_the_command_line_overrules_the_file(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("robots = 4\ncapacity = 30\nprocessing-rate = 6000\n[cost]\nloss = 2\n")
    found = PlanFile.read(path, settings={"capacity": 20, "seed": None}).settings
    assert (found.robots, found.capacity, found.processing_rate, found.seed) == (4, 20, 6000, 1)
    assert found.cost == NamedWeights((("loss", 2),))
    assert found.given == {"robots", "capacity", "processing_rate", "cost"}


def test_wrong_files(tmp_path):
    path = tmp_path / "plan.toml"
    with pytest.raises(InputError, match="--config must exist"):
        PlanFile.read(path)
    path.write_text("robots = [")
    with pytest.raises(InputError, match="--config must be valid TOML"):
        PlanFile.read(path)
    path.write_text("robts = 4\n[cost]\nlosses = 1\n")
    with pytest.raises(InputError) as caught:
        PlanFile.read(path)
    assert "Did you mean 'robots'?" in str(caught.value)
    assert "cost must have weights named loss" in str(caught.value)


def test_all_faults_at_once():
    with pytest.raises(InputError) as caught:
        PlanSettings(
            robots=0, capacity=0, service_mean=1.0, processing_rate=2.0, timeout=-1.0, admission="maybe", control="no"
        )
    text = str(caught.value)
    for part in (
        "robots must be at least 1; got 0",
        "capacity must be at least 1; got 0",
        "must not both be given",
        "timeout must be greater than 0; got -1",
        "admission must be one of partial",
        "control must be one of thinned, scaled; got 'no'",
    ):
        assert part in text
    with pytest.raises(InputError, match="A stream can be thinned, not thickened"):
        PlanSettings(robots=4, robots_in_log=2, control="thinned")


def test_robots_that_were_not_there_scale_the_clock():
    assert PlanSettings(robots=4).control_in_force == "thinned"
    assert PlanSettings(robots=4, robots_in_log=2).control_in_force == "scaled"


def test_limits_in_words(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('lose_at_most = "1%"\nindex_within = "1h:95%"\nobsolescence_mean = "30min"\n')
    found = PlanFile.read(path, settings={"minimise": "robots"}).settings
    assert (found.lose_at_most, found.index_within) == (0.01, IndexWithin(3600.0, 0.95))
    assert found.obsolescence_mean == 1800
    assert found.limits.minimise == "robots"
    assert PlanSettings().limits is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('lose_at_most = "2"', "a share must be a percentage or a number from 0 to 1"),
        ('index_within = "1h"', "index_within must be TIME:SHARE"),
        ('index_within = "1h:100%"', "a share between 0 and 1"),
        ('index_within = "1e400:95%"', "a time must be a number of seconds"),
        ('timeout = "5 fortnights"', "a time must be a number of seconds"),
        ('minimise = "robots"', "minimise must come with a limit"),
        ("[cost]\nloss = true", "loss must be a number; got True"),
    ],
)
def test_wrong_limits(line, complaint):
    with pytest.raises(InputError, match=complaint):
        PlanFile.from_text(line)


def test_nothing_said_is_nothing_written():
    assert PlanFile(PlanSettings()).text() == ""
    assert PlanFile.from_text("") == PlanFile(PlanSettings())


def test_settings_are_written_and_read_back():
    settings = PlanSettings(
        robots=4,
        lose_at_most=0.01,
        index_within=IndexWithin(600.0, 0.95),
        minimise="starvation",
        service_mean=2.5,
        what_if=False,
        cost=CostWeights(loss=3),
    )
    again = PlanFile.from_text(PlanFile(settings).text()).settings
    assert (again.robots, again.limits, again.service_mean, again.what_if) == (4, settings.limits, 2.5, False)
    assert dict(again.cost.weights)["loss"] == 3


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("reading", "pattern", r'(?P<time>\d+) "x" (?P<size>\d+)\\'),
        ("reading", "where", ('message="Page Finished"', "level~info|warn")),
        ("reading", "max_broken", 0.25),
        ("reading", "log_format", "heritrix"),
        ("fitting", "period", None),
        ("fitting", "stretch", "2"),
        ("fitting", "max_branches", 3),
        ("fitting", "robots_of", RobotsOf((("one.log", 1), ("two.log", 2)))),
    ],
)
def test_choices_of_reading_and_fitting_are_written_and_read_back(part, name, value):
    said = PlanFile(PlanSettings(), **{part: {name: value}})
    assert getattr(PlanFile.from_text(said.text()), part) == {name: value}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[reading]\nformt = 1", "the key must be one of format, timezone"),
        ("[fitting]\nseed = 1", "got 'seed' at fitting.seed"),
        ('[fitting]\npause = "soon"', "pause must be a number; got 'soon'"),
        ("[fitting]\nmax_phases = 1.5", "max_phases must be a whole number; got 1.5"),
        ('[fitting]\nticks = "never"', "ticks must be one of judge, spread, batch; got 'never'"),
        ("[reading]\ntimezone = 3", "timezone must be a text; got 3"),
        ('[reading]\nwhere = "a=b"', "where must be a list of texts; got 'a=b'"),
        ("reading = 3", "reading must be a table of options; got 3"),
    ],
)
def test_wrong_choices_of_reading_and_fitting(text, complaint):
    with pytest.raises(InputError, match=re.escape(complaint)):
        PlanFile.from_text(text)


def test_the_dialogue_asks_again_and_writes_the_file(tmp_path, monkeypatch, capsys):
    path = tmp_path / "plan.toml"
    answers = ["4", "", "soon", "2s", "30min", "1%", "1h", "1h:95%", ""]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers) + "\n"))
    assert main(["plan", "never-read.log", "--ask", "--config", str(path)]) == 0
    found = PlanFile.read(path).settings
    assert (found.robots, found.service_mean, found.obsolescence_mean) == (4, 2.0, 1800.0)
    assert found.limits == Limits(0.01, None, IndexWithin(3600.0, 0.95), None, "robots")
    assert not found.is_given("capacity")
    said = capsys.readouterr().out
    assert "a time must be a number of seconds" in said
    assert "the answer must be TIME:SHARE" in said
    assert "Time the indexer on a thousand pages" in " ".join(said.split())


def _asked(path, monkeypatch, capsys, *answers):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers) + "\n"))
    assert main(["plan", "a log.log", "--ask", "--config", str(path)]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_the_dialogue_shows_what_is_known_in_units_and_takes_it_back(tmp_path, monkeypatch, capsys):
    path = tmp_path / "plan.toml"
    path.write_text("robots = 4\nservice_mean = 2.0\nobsolescence_mean = 1800.0\nlose_at_most = 0.01\n")
    said = _asked(
        path, monkeypatch, capsys, "", "", "-2s", "1e400", "500ms", "never", "1", "none", "2h:95%", "four", ""
    )
    for shown in ("page, on average (2s, 100ms)? [2 s]", "[30 minutes]", "lost (1%)? [1%]", "[not known]"):
        assert shown in said
    assert "the answer must be greater than 0; got -2.0." in said
    assert "a share of 1 may mean 1% or all, so it must be written 1% or 100%; got '1'." in said
    assert f"Plan with: crawltwin plan 'a log.log' --config {path}" in said
    found = PlanFile.read(path).settings
    assert (found.robots, found.service_mean, found.obsolescence_mean) == (4, 0.5, math.inf)
    assert found.lose_at_most is None
    assert not found.is_given("lose_at_most")
    assert found.index_within == IndexWithin(7200.0, 0.95)
    assert "[2 hours:95%]" in _asked(path, monkeypatch, capsys, *[""] * 7)


def test_a_dialogue_without_an_answer_writes_nothing(tmp_path, monkeypatch, capsys):
    path = tmp_path / "plan.toml"
    assert "Nothing was answered or written." in _asked(path, monkeypatch, capsys)
    assert not path.exists()
    path.write_text("# as the boss wants it\nrobots = 4\n")
    assert "is left as it is" in _asked(path, monkeypatch, capsys, "4")
    assert path.read_text().startswith("# as the boss")


def test_pages_that_never_go_stale_can_be_given():
    settings = PlanFile.from_text('obsolescence_mean = "never"').settings
    assert settings.obsolescence_mean == math.inf
    assert settings.is_given("obsolescence_mean")
    assert PlanFile(settings).text() == 'obsolescence_mean = "never"\n'


def test_a_complaint_names_the_option(capsys):
    assert main(["plan", "x.log", "--lose-at-most", "nan", "--timeout", "soon", "--cost", "loss"]) == 2
    said = capsys.readouterr().err
    assert "got 'nan' at --lose-at-most" in said
    assert "got 'soon' at --timeout" in said
    assert said.count("--cost") == 1


def test_the_dialogue_asks_nothing_that_it_could_not_write(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("4\n" * 9))
    assert main(["plan", "never-read.log", "--ask", "--config", "/proc/plan.toml"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "the output file must be writable" in captured.err


def test_the_end_of_the_input_ends_the_dialogue(tmp_path, monkeypatch):
    path = tmp_path / "plan.toml"
    path.write_text('[reading]\ntimezone = "Europe/Paris"\n')
    monkeypatch.setattr("sys.stdin", io.StringIO("3\n"))
    assert main(["plan", "never-read.log", "--ask", "--config", str(path)]) == 0
    assert PlanFile.read(path).settings.robots == 3
    assert PlanFile.read(path).reading == {"timezone": "Europe/Paris"}


class _Terminal:
    """A terminal in which one answer is typed, then Ctrl-D, which ends one line alone; counts what is read."""

    def __init__(self) -> None:
        self.lines = ["7\n", "", "\n", "\n", "\n", "\n", "\n"]

    def readline(self) -> str:
        return self.lines.pop(0)


def test_control_d_ends_the_dialogue_and_asks_no_more(tmp_path, capsys, monkeypatch):
    terminal = _Terminal()
    monkeypatch.setattr("sys.stdin", terminal)
    assert main(["plan", "never-read.log", "--ask", "--config", str(tmp_path / "plan.toml")]) == 0
    assert len(terminal.lines) == 5
    assert "robots = 7" in (tmp_path / "plan.toml").read_text(encoding="utf-8")


def test_the_dialogue_refuses_outputs_that_it_would_not_write(tmp_path, capsys):
    assert main(["plan", "never-read.log", "--ask", "--report", str(tmp_path / "report")]) == 2
    assert "--ask must come without --report" in capsys.readouterr().err
