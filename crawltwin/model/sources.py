"""A scenario by whatever names it: a ready example or a file."""

from __future__ import annotations

import os
from pathlib import Path

from crawltwin.model import examples
from crawltwin.model.errors import InputError, wrong_object
from crawltwin.model.scenario import Scenario


def load(source: str | os.PathLike[str]) -> Scenario:
    """The scenario of a ready example (`crawltwin example` lists them) or of a file, TOML or JSON.

    A text without a folder and without an ending, such as ``paper``, is the name of an example; everything else is a
    path.

    Examples
    --------
    >>> load("mm1k").capacity
    5
    """
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"source must be the name of an example or a path; got {wrong_object(source)}")
    path = Path(source)
    if (
        isinstance(source, str)
        and path.name == source
        and not path.suffix
        and (source in examples.EXAMPLES or not path.exists())
    ):
        return examples.load(source)
    return Scenario.read(path)
