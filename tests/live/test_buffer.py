"""The built-in buffer is the model's: first come, first served, bounded, with pages that go stale while they wait."""

import pytest

from crawltwin.live.buffer import Buffer, BufferSettings
from crawltwin.model.errors import InputError
from tests.live.by_hand import HandClock, HandExecutor


def made(capacity, indexers=1, lifetimes=(), index=lambda page: page):
    clock, executor, told = HandClock(), HandExecutor(), []
    draws = iter(lifetimes)
    buffer = Buffer(
        BufferSettings(capacity, indexers), index, executor, clock, (lambda: next(draws)) if lifetimes else None
    )
    buffer.watchers.append(lambda event, fields: told.append((event, fields["page"], buffer.level)))
    return buffer, clock, executor, told


def test_pages_are_indexed_in_the_order_of_their_delivery():
    buffer, _, executor, told = made(3)
    assert [buffer.offer(name) for name in "abcd"] == [True, True, True, False]
    for _ in range(3):
        executor.finish()
    assert [page for event, page, _ in told if event == "indexed"] == [0, 1, 2]
    assert buffer.level == 0


def test_capacity_counts_the_page_being_indexed():
    buffer, _, executor, told = made(1)
    assert buffer.offer("a") and not buffer.offer("b")
    executor.finish()
    assert buffer.offer("c")
    assert [(event, page) for event, page, _ in told if event == "delivered"] == [("delivered", n) for n in range(3)]


def test_a_waiting_page_goes_stale_and_one_being_indexed_does_not():
    buffer, clock, executor, told = made(3, lifetimes=(2.0, 5.0))
    for name in "abc":
        buffer.offer(name)
    clock.forward(3.0)
    assert [(event, page) for event, page, _ in told if event == "stale"] == [("stale", 1)]
    executor.finish()
    clock.forward(10.0)
    assert [page for event, page, _ in told if event == "stale"] == [1]
    assert buffer.busy == 1 and buffer.level == 1


def test_the_waiting_time_of_a_stale_page_is_its_lifetime():
    buffer, clock, _, _ = made(2, lifetimes=(2.5,))
    found = []
    buffer.watchers.append(lambda event, fields: found.append(fields.get("sojourn")) if event == "stale" else None)
    buffer.offer("a")
    buffer.offer("b")
    clock.forward(4.0)
    assert found == [2.5]


def test_an_indexing_function_that_fails_frees_the_indexer():
    def index(page):
        raise RuntimeError("no disk")

    buffer, _, executor, told = made(2, index=index)
    buffer.offer("a")
    buffer.offer("b")
    executor.finish()
    assert [event for event, _, _ in told][-2:] == ["failed", "indexing"]
    assert buffer.level == 1


def test_several_indexers_work_at_the_same_time():
    buffer, _, executor, _ = made(4, indexers=2)
    for name in "abc":
        buffer.offer(name)
    assert (buffer.busy, buffer.level, len(executor.under_way)) == (2, 3, 2)


def test_nothing_happens_after_the_end():
    buffer, clock, executor, told = made(3, lifetimes=(1.0, 1.0))
    for name in "abc":
        buffer.offer(name)
    before = list(told)
    buffer.close()
    clock.forward(5.0)
    executor.finish()
    assert told == before


def test_wrong_sizes_are_all_told():
    with pytest.raises(InputError) as caught:
        BufferSettings(0, 0)
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError, match="indexers must be at most the capacity 2; got 3"):
        BufferSettings(2, 3)
