"""Ctrl-C while random streams are handed to compiled code: heeded as such, and only when the code has returned."""

import ctypes
import signal

import pytest

from crawltwin.model import examples
from simulate import rare_loss
from simulate.engine.length import Length
from simulate.sample.replications import Job, Piece, run_piece


def run_compiled() -> None:
    run_piece(Piece(Job(examples.load("paper"), Length(pages=1000), 1, engine="compiled"), 0))


def split() -> None:
    rare_loss(examples.load("mm1k"), replications=5, pages=100, workers=1)


@pytest.mark.parametrize("work", [run_compiled, split])
@pytest.mark.parametrize("call", [1, 7, 20])
def test_an_interrupt_between_python_and_compiled_code(monkeypatch: pytest.MonkeyPatch, work, call: int):
    """numba calls `ctypes.cast` for each stream; an exception in it was not looked at and ended the process."""
    work()  # compiled by now
    calls = []
    cast = ctypes.cast

    def interrupted(what, kind):
        calls.append(kind)
        if len(calls) == call:
            signal.raise_signal(signal.SIGINT)
        return cast(what, kind)

    monkeypatch.setattr(ctypes, "cast", interrupted)
    with pytest.raises(KeyboardInterrupt):
        work()
    assert len(calls) > call
