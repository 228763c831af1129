"""Pieces of work in order, with the same results, through the deaths of workers."""

import os
import signal
import time
from pathlib import Path

import pytest

from crawltwin.model import InputError
from crawltwin.work import workers
from crawltwin.work.store import Store, key_of


def slow_square(number: int) -> int:
    time.sleep(0.02 * (number % 3))
    return number * number


def square_or_die_once(piece: tuple[int, str]) -> int:
    """The worker that meets piece 3 for the first time is killed as by the system, without a word."""
    number, folder = piece
    marker = Path(folder) / "died"
    if number == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def always_die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail_at_five(number: int) -> int:
    if number == 5:
        raise InputError("number must not be 5; got 5")
    return number


@pytest.mark.parametrize("count", [1, 2])
def test_results_come_in_the_order_of_the_pieces(count: int):
    assert list(workers.run(slow_square, range(12), workers=count)) == [n * n for n in range(12)]


def test_a_killed_process_costs_time_not_results(tmp_path: Path):
    pieces = [(number, str(tmp_path)) for number in range(10)]
    assert list(workers.run(square_or_die_once, pieces, workers=2)) == [n * n for n in range(10)]
    assert (tmp_path / "died").exists()


def test_workers_that_die_on_every_try_are_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(workers, "TRIES", 2)
    with pytest.raises(workers.LostWorkersError, match="died 2 times; 0 of 4 pieces"):
        list(workers.run(always_die, range(4), workers=2))


@pytest.mark.parametrize("count", [1, 2])
def test_an_error_in_a_piece_keeps_its_kind_and_words(count: int):
    with pytest.raises(InputError, match="number must not be 5"):
        list(workers.run(fail_at_five, range(8), workers=count))


@pytest.mark.parametrize("count", [0, -1, 1.5, "two", True])
def test_a_number_of_workers_that_is_none_is_refused(count: object):
    with pytest.raises(InputError, match="workers must be a whole number, at least 1"):
        list(workers.run(abs, [1], workers=count))


def identity_of_process(_: int) -> int:
    time.sleep(0.2)
    return os.getpid()


def test_no_more_processes_than_pieces_are_started(monkeypatch):
    seen = []
    usual = workers._in_processes
    monkeypatch.setattr(workers, "_in_processes", lambda *given: seen.append(given[2]) or usual(*given))
    assert len(set(workers.run(identity_of_process, [1, 2], workers=1000))) <= 2
    assert seen == [2]


# -- the store ----------------------------------------------------------------------------------------------------

calls: list[int] = []


def counted(number: int) -> dict[str, int]:
    calls.append(number)
    return {"square": number * number}


def test_finished_pieces_are_not_run_again(tmp_path: Path):
    calls.clear()
    store, keys = Store(tmp_path), [key_of("square", n) for n in range(6)]
    stream = workers.run(counted, range(6), store=store, keys=keys)
    first = [next(stream) for _ in range(3)]
    stream.close()  # interrupted
    again = list(workers.run(counted, range(6), store=Store(tmp_path), keys=keys))
    assert first == again[:3]
    assert again == [{"square": n * n} for n in range(6)]
    assert calls == [0, 1, 2, 3, 4, 5]


def test_a_damaged_piece_is_computed_again(tmp_path: Path):
    calls.clear()
    keys = [key_of("square", n) for n in range(3)]
    list(workers.run(counted, range(3), store=Store(tmp_path), keys=keys))
    file = next(tmp_path.glob(f"*/{keys[1]}.json"))
    file.write_text(file.read_text()[:-3])
    assert list(workers.run(counted, range(3), store=Store(tmp_path), keys=keys)) == [
        {"square": n * n} for n in range(3)
    ]
    assert calls == [0, 1, 2, 1]


def test_a_store_needs_a_key_a_piece(tmp_path: Path):
    with pytest.raises(InputError, match="keys must be one for each of the 2 pieces"):
        list(workers.run(counted, range(2), store=Store(tmp_path), keys=["a"]))
