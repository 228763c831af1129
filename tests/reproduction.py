"""One reproduction of the paper for all tests that look at it, computed once for all test workers."""

import time
from functools import cache
from pathlib import Path

import pytest

from crawltwin.work.store import Store
from validate.paper import Reproduction, reproduce

_PATIENCE = 300


def shared_store(factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of one test run see."""
    base = factory.getbasetemp()
    return (base.parent if base.name.startswith("popen-") else base) / "reproduction"


@cache
def whole(folder: Path) -> Reproduction:
    """Everything, without simulation; about 20 s of computing the first time, for one worker while the others wait."""
    done = folder.parent / f"{folder.name}.done"
    try:
        (folder.parent / f"{folder.name}.mine").mkdir()
    except FileExistsError:
        until = time.monotonic() + _PATIENCE
        while not done.exists() and time.monotonic() < until:
            time.sleep(0.5)
    found = reproduce(workers=1, store=Store(folder))
    done.touch()
    return found
