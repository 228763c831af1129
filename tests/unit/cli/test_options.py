"""Options are made from settings, and settings from options; each default stands in the settings class alone."""

import argparse
from dataclasses import dataclass, fields

import pytest

from crawltwin.cli.main import main
from crawltwin.cli.options import add_settings, given, settings
from crawltwin.model.settings import setting


@dataclass(frozen=True)
class Reading:
    clock: float = setting(1.5, help="resolution, 100% of it", metavar="SECONDS", group="times")
    pages: int = setting(2_000_000, help="pages at most")
    zone: str | None = setting(None, help="zone of times", option="--timezone", default_words="of this machine")
    order: str = setting("bic", help="how to choose", choices=("bic", "aic"))
    sweeps: bool = setting(True, help="skip the sweeps")
    every: bool = setting(False, help="show everything")
    measures: tuple[str, ...] = setting((), help="what it is about", option="--measure", repeat=True, read=str)
    window: tuple[float, ...] = setting(
        (0.0, 1.0), help="a stretch", read=lambda text: tuple(map(float, text.split(",")))
    )
    hidden: int = 7


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="read")
    add_settings(found, Reading)
    return found


def test_nothing_given_is_the_value_with_its_own_defaults():
    options = parser().parse_args([])
    assert given(options, Reading) == {}
    assert settings(options, Reading) == Reading()


def test_every_kind_of_option_reaches_its_field():
    words = "--clock 0.5 --pages 3 --timezone UTC --order aic --no-sweeps --every --measure a --measure b --window 2,3"
    assert settings(parser().parse_args(words.split()), Reading, hidden=8) == Reading(
        0.5, 3, "UTC", "aic", sweeps=False, every=True, measures=("a", "b"), window=(2.0, 3.0), hidden=8
    )


def test_help_tells_defaults_and_hides_what_has_no_setting():
    words = " ".join(parser().format_help().split())
    for part in (
        "times: --clock SECONDS resolution, 100% of it (default: 1.5)",
        "pages at most (default: 2,000,000)",
        "zone of times (default: of this machine)",
        "{bic,aic}",
    ):
        assert part in words
    assert "hidden" not in words


@pytest.mark.parametrize("words", [["--pages", "1.5"], ["--clock", "soon"], ["--order", "other"]])
def test_values_of_the_wrong_kind_are_refused(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args(words)
    assert stopped.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_a_command_may_take_some_settings_only():
    found = argparse.ArgumentParser()
    add_settings(found, Reading, only=("pages", "clock"), without=("clock",))
    assert vars(found.parse_args([])) == {"pages": None}


def test_a_setting_keeps_the_default_of_a_dataclass():
    assert {field.name: field.default for field in fields(Reading)}["pages"] == 2_000_000


@pytest.mark.parametrize("words", [["example", "paper", "--out", "-"], ["fit", "x.log", "--report", "-"]])
def test_a_dash_is_no_name_of_an_output(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert f"{words[-2]} must name what is written; got '-'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
