"""One reproduction of the paper for all tests that look at it, its pieces shared between test workers."""

from functools import cache
from pathlib import Path

import pytest

from crawltwin.store import Store
from validate.paper import Reproduction, reproduce


def shared_store(factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of one test run see."""
    base = factory.getbasetemp()
    return (base.parent if base.name.startswith("popen-") else base) / "reproduction"


@cache
def whole(folder: Path) -> Reproduction:
    """Everything, without simulation; about 20 s the first time."""
    return reproduce(workers=1, store=Store(folder))
