"""`fit` and `plan` have the same options for reading and for fitting a log, and advice can be followed in both."""

import argparse
import json

import pytest

from crawltwin.cli import fit as fit_command
from crawltwin.cli import plan as plan_command
from crawltwin.cli.main import main
from crawltwin.model.errors import InputError
from crawltwin.model.settings import settings_of
from crawltwin.plan.decide import plan
from fitting.choose.settings import FitOptions
from fitting.readers.settings import ReadOptions


def _options(command):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return {option for action in parser._actions for option in action.option_strings}


@pytest.mark.parametrize("kind", [ReadOptions, FitOptions])
@pytest.mark.parametrize("command", [fit_command, plan_command])
def test_every_setting_is_an_option_of_both_commands(kind, command):
    assert {setting.option for _, setting in settings_of(kind)} <= _options(command)


@pytest.mark.parametrize("command", [fit_command, plan_command])
def test_both_commands_say_who_reads(command):
    assert {"--workers", "--cluster"} <= _options(command)


def test_a_plan_reads_with_the_workers_that_it_is_given(monkeypatch, tmp_path):
    told = {}

    def found(log, settings, **how):
        told.update(how)
        raise InputError("enough")

    monkeypatch.setattr("crawltwin.plan.decide.plan", found)
    assert main(["plan", str(tmp_path), "--workers", "2", "--cluster", "tcp://host:8786", "--member", "logs/*"]) == 2
    assert (told["workers"], told["reading"].workers, told["reading"].cluster) == (2, 2, "tcp://host:8786")
    assert told["reading"].member == "logs/*"


@pytest.fixture
def mixture(tmp_path):
    rows = [
        {"time": 1_700_000_000 + i, "level": "info", "msg": message}
        for i in range(9)
        for message in ("queue", "fetched")
    ]
    path = tmp_path / "mixture.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize("command", ["fit", "plan"])
def test_the_advice_can_be_followed_in_the_command_that_gives_it(command, mixture, capsys):
    assert main([command, mixture, "--json"]) == 2
    refused = capsys.readouterr()
    assert '--where msg="fetched"' in refused.err
    assert not refused.out
    # With the advice followed the log is read; nine pages are too few to be fitted, which is another matter.
    code = main([command, mixture, "--json", "--where", 'msg="fetched"'])
    told = capsys.readouterr()
    assert "each object of a JSON log must be a delivery" not in told.err
    assert "got 9 in 18 rows" in told.err + told.out
    assert code in (1, 2)


def test_the_doors_of_long_work_refuse_no_workers_before_it_begins():
    with pytest.raises(InputError, match="workers must be a whole number, at least 1; got 0"):
        ReadOptions(workers=0)
    with pytest.raises(InputError, match="workers must be at most 1024; got 5,000"):
        plan("nothing.log", workers=5000)
