"""Arguments that several commands share, read with the same words of complaint."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TypeVar

from crawltwin.model import InputError, Scenario, ThresholdPolicy, scenario_file

T = TypeVar("T")


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """The scenario file."""
    parser.add_argument(
        "scenario", metavar="SCENARIO", help="scenario file, TOML or JSON; - reads TOML from standard input"
    )


def add_policy(parser: argparse.ArgumentParser) -> None:
    """A policy that replaces the file's."""
    parser.add_argument(
        "--policy",
        metavar="ROBOTS[@THRESHOLDS]",
        help="use this policy instead of the file's: 3,1@2 runs 3 robots up to 2 pages and 1 above; 3 runs 3 always",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Machine-readable answers."""
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, nothing else")
    parser.add_argument("--out", metavar="FILE", help="save the JSON answer there as well")


def read_scenario(options: argparse.Namespace) -> Scenario:
    """The scenario that the command is about."""
    if options.scenario == "-":
        scenario = scenario_file.loads(sys.stdin.read().removeprefix("\ufeff"), name="standard input")
    else:
        scenario = Scenario.read(options.scenario)
    given = getattr(options, "policy", None)
    return scenario if given is None else scenario.replace(policy=read_policy(given))


def read_policy(text: str) -> ThresholdPolicy:
    """A policy in its short form."""
    robots, _, thresholds = text.partition("@")
    return ThresholdPolicy(numbers(robots, "--policy", int), numbers(thresholds, "--policy", int) if thresholds else [])


def numbers(text: str, name: str, kind: Callable[[str], T]) -> list[T]:
    """A list of numbers separated by commas."""
    try:
        return [kind(word) for word in text.split(",")]
    except ValueError:
        raise InputError(f"{name} must be numbers separated by commas; got {text!r}") from None


def probabilities(text: str, name: str) -> list[float]:
    """A list of probabilities below one, separated by commas."""
    found = numbers(text, name, float)
    for value in found:
        if not 0 <= value < 1:
            raise InputError(f"{name} must be numbers in [0, 1); got {value!r}")
    return found
