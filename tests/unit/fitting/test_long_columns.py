"""Long columns: worked on in blocks with the bits of a single pass, in little memory, and let go when they are used."""

import gc
import tracemalloc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from crawltwin.model.errors import InputError
from crawltwin.work import memory
from fitting import FitOptions, fit
from fitting.choose.procedure import gather
from fitting.choose.service import revisits
from fitting.readers import RawLog, read_log
from fitting.readers.columns import Columns, joined
from fitting.readers.formats.structured import json_lines
from fitting.robots.fetches import Fetches, InFlight
from fitting.trace.batches import sensitivity
from fitting.trace.pauses import holding_half
from fitting.trace.samples import Samples
from fitting.trace.ticks import count_ticks

PAGES = 200_000


def made_log(pages=PAGES, robots=40):
    """Batches of up to three pages, 2 ms apart, at random moments, with durations and names of robots."""
    rng = np.random.default_rng(3)
    size = rng.integers(1, 4, pages)
    inside = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    moments = np.repeat(np.cumsum(rng.integers(200, 3000, pages)), size) + 2 * inside
    log = RawLog.of_times(moments[:pages] * 10**6)
    keys = rng.integers(1, 2**60, pages).astype(np.uint64)
    return replace(
        log,
        page=keys,
        content=keys.copy(),
        took=rng.integers(40, 900, pages) / 1000,
        worker=np.arange(pages) % robots * 1.0,
    )


def answers(log):
    """What is computed from all pages in blocks."""
    cleaning, batches = gather(log, FitOptions())
    fetches = Fetches.of(log, cleaning)
    flown = InFlight.of(fetches)
    return {
        "seconds": log.seconds,
        "sizes": batches.sizes,
        "gaps": batches.segments.gaps,
        "rule": np.array([batches.limit, batches.ticks.within, batches.ticks.across]),
        "others": np.array([list(row.values()) for row in sensitivity(log.seconds, cleaning, batches, log.resolution)]),
        "durations": fetches.durations_by_begin(),
        "fetches": np.array([fetches.idle_share, fetches.workers, flown.mean, flown.most]),
        "grouped": fetches.samples().compressed(50).low,
    }


def test_blocks_give_the_bits_of_a_single_pass(monkeypatch):
    log = made_log(5000)
    whole = answers(log)
    monkeypatch.setattr(memory, "AT_ONCE", 37)
    for name, value in answers(log).items():
        # Sums over groups are added block by block.
        agree = np.allclose if name == "grouped" else np.array_equal
        assert agree(value, whole[name]), name


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_the_gaps_that_hold_half_of_the_time(at_once, monkeypatch):
    monkeypatch.setattr(memory, "AT_ONCE", at_once)
    for seed in range(20):
        ordered = np.sort(np.random.default_rng(seed).pareto(1.2, 10))
        held = np.cumsum(ordered[::-1])
        assert holding_half(ordered) == np.flatnonzero(held >= held[-1] / 2)[0] + 1
    assert holding_half(np.zeros(0)) == 0


def test_pairs_of_ticks_are_those_of_counts_in_a_row():
    rng = np.random.default_rng(5)
    ticks = np.sort(rng.integers(0, 400, 900))
    counts = np.bincount(ticks).astype(float)
    found = count_ticks([ticks * 0.1, np.zeros(0)], 0.1)
    assert (found.pages, found.used) == (900, np.count_nonzero(counts))
    assert found.within == counts @ (counts - 1)
    assert found.across == counts[:-1] @ counts[1:]


def test_idle_times_and_last_fetches_are_those_of_each_robot_in_each_stretch():
    rng = np.random.default_rng(6)
    n, borders = 600, np.array([[0.0, 40.0], [50.0, 90.0]])
    end = np.sort(np.concatenate([rng.uniform(0, 40, n // 2), rng.uniform(50, 90, n // 2)]))
    stretch = (end > 45).astype(np.int8)
    for worker in (rng.integers(-1, 9, n), np.where(rng.random(n) < 0.1, -1, 10**12 + rng.integers(0, 9, n))):
        begin, since = end.copy(), []
        for part in (0, 1):
            for robot in np.unique(worker[worker >= 0]):
                own = np.flatnonzero((stretch == part) & (worker == robot))
                # Each robot begins at once, or half of a hundredth later.
                begin[own[1:]] = end[own[:-1]] + 0.005
                begin[own[0]] -= 0.01
                since.append(borders[part, 1] - end[own[-1]])
        fetches = Fetches(begin, end, worker, stretch, borders)
        assert fetches.idle_share == pytest.approx(0.005 / np.mean(end - begin))
        assert fetches.under_way.tolist() == [value for value in since if value > 0]


def test_a_wrong_duration_is_named_whatever_its_block(monkeypatch):
    monkeypatch.setattr(memory, "AT_ONCE", 4)
    with pytest.raises(ValueError, match=r"finite and not negative; got -1.0 at low\[9\]"):
        Samples.of([1.0] * 9 + [-1.0, -2.0])


def bytes_per_page(work):
    """The most memory that was held at a time."""
    tracemalloc.start()
    kept = work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return peak / PAGES


def test_a_page_needs_few_bytes_on_the_way_to_batches_and_fetches(monkeypatch):
    """Columns of eight bytes: the times and three more for pauses; begin, end and three more for fetches."""
    monkeypatch.setattr(memory, "AT_ONCE", 2**12)
    log = made_log()
    cleaning, batches = gather(log, FitOptions())
    answers(made_log(2000))  # compiled before it is measured
    assert bytes_per_page(lambda: gather(log, FitOptions())) < 45
    assert bytes_per_page(lambda: sensitivity(log.seconds, cleaning, batches, log.resolution)) < 45
    fetches = Fetches.of(log, cleaning)
    assert bytes_per_page(lambda: Fetches.of(log, cleaning)) < 45
    assert bytes_per_page(lambda: fetches.idle_share) < 25
    assert bytes_per_page(fetches.durations_by_begin) < 25
    assert bytes_per_page(fetches.samples) < 35


def test_fit_lets_go_of_the_keys_of_pages_when_revisits_are_known():
    log = [made_log(2000)]
    key, held = weakref.ref(log[0].page), []
    options = FitOptions(methods=("poisson",), repetitions=2, refits=0)
    result = fit(log.pop(), options=options, progress=lambda words: held.append((words, key() is not None)))
    assert held[0] == ("reading", True) and ("cleaning", False) in held
    assert result.log.page is None


def test_reading_puts_off_the_search_for_cycles_and_takes_it_up_again(tmp_path, monkeypatch):
    path = tmp_path / "times.jsonl"
    path.write_text("".join(f'{{"time": {1700000000 + k}, "url": "http://a.org/{k}"}}\n' for k in range(50)))
    searched = []
    parse = json_lines.objects
    monkeypatch.setattr(json_lines, "objects", lambda lines: [searched.append(gc.isenabled()), parse(lines)][1])
    assert len(read_log(path)) == 50
    assert not any(searched[-1:]) and gc.isenabled()
    path.write_text('{"time": 5}\nnothing\nnothing\n')
    with pytest.raises(InputError):
        read_log(path, max_broken=0.0)
    assert gc.isenabled()


def test_parts_let_go_of_what_was_joined():
    parts = [
        Columns(np.arange(PAGES // 2), size=np.ones(PAGES // 2), page=np.ones(PAGES // 2, np.uint64)) for _ in "ab"
    ]
    tracemalloc.start()
    whole = joined(parts, release=True)
    # Each column is there once more while it is joined; the parts were made before and are not counted.
    assert tracemalloc.get_traced_memory()[1] < 25 * PAGES
    tracemalloc.stop()
    held = weakref.ref(whole.time)
    whole.select(np.arange(PAGES)[::-1])
    assert held() is None and not any(part.time.size for part in parts)
    assert whole.time[0] == PAGES // 2 - 1 and whole.size.sum() == PAGES


@pytest.mark.parametrize("at_once", [1, 5, 1000])
@pytest.mark.parametrize("unknown", [False, True])
def test_revisits_are_those_of_a_plain_walk(at_once, unknown, monkeypatch):
    monkeypatch.setattr(memory, "AT_ONCE", at_once)
    rng = np.random.default_rng(8)
    time = np.cumsum(rng.integers(1, 9, 300)) * 10**9
    page, content = (rng.integers(0 if unknown else 1, 40, 300).astype(np.uint64) for _ in "ab")
    last, expected = {}, []
    for moment, address, digest in zip(time.tolist(), page.tolist(), content.tolist(), strict=True):
        if address and digest:
            if address in last:
                expected.append((address, moment, (moment - last[address][0]) / 1e9, digest != last[address][1]))
            last[address] = moment, digest
    gap, changed = revisits(time, page, content)
    assert list(zip(gap.tolist(), changed.tolist(), strict=True)) == [visit[2:] for visit in sorted(expected)]
