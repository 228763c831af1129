"""A log is followed through everything that happens to logs: no line is missed, none is read twice."""

import gzip
import random
import shutil

import pytest

from crawltwin.live.watch.follow import new_lines, predecessors


def read(path, position=None):
    """All new lines as texts, the position behind them, and the notes."""
    lines, notes = [], []
    for piece in new_lines(path, position):
        lines += piece.text.decode().split()
        position = piece.position
        notes += [piece.note] if piece.note else []
    return lines, position, notes


@pytest.fixture
def log(tmp_path):
    return tmp_path / "crawl.log"


def append(log, *lines, end="\n"):
    with log.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines[:-1]) + lines[-1] + end)


def test_a_log_that_grows(log):
    append(log, "a", "b")
    first, position, _ = read(log)
    append(log, "c")
    again, _, _ = read(log, position)
    assert (first, again) == (["a", "b"], ["c"])


def test_a_line_is_read_when_it_is_whole(log):
    append(log, "a", "hal", end="")
    first, position, _ = read(log)
    append(log, "f")
    assert (first, read(log, position)[0]) == (["a"], ["half"])


def test_rotation_by_renaming(log):
    append(log, "a", "b")
    _, position, _ = read(log)
    append(log, "c")
    log.rename(log.with_name("crawl.log.1"))
    append(log, "d")
    assert read(log, position)[0] == ["c", "d"]


def test_rotation_by_copying_and_truncating(log):
    append(log, "a", "b")
    _, position, _ = read(log)
    append(log, "c")
    shutil.copy(log, log.with_name("crawl.log.1"))
    log.write_text("")
    assert read(log, position)[0] == ["c"]
    append(log, "d")
    assert read(log, position)[0] == ["c", "d"]


def test_predecessors_are_read_first_the_oldest_before_the_others(log):
    with gzip.open(log.with_name("crawl.log.2.gz"), "wt") as file:
        file.write("a\nb\n")
    append(log.with_name("crawl.log.1"), "c")
    append(log, "d")
    append(log.with_name("crawl.log.swp"), "no")
    append(log.with_name("crawl.log.watch"), "no")
    assert read(log)[0] == ["a", "b", "c", "d"]
    assert [path.name for path in predecessors(log)] == ["crawl.log.2.gz", "crawl.log.1"]


def test_several_rotations_while_nobody_watched(log):
    append(log, "a", "b")
    _, position, _ = read(log)
    append(log, "c")
    with gzip.open(log.with_name("crawl.log.2.gz"), "wb") as file:
        file.write(log.read_bytes())
    log.unlink()
    append(log.with_name("crawl.log.1"), "d", "e")
    append(log, "f")
    assert read(log, position)[0] == ["c", "d", "e", "f"]


def test_a_file_that_is_just_being_packed_is_read_once(log):
    append(log.with_name("crawl.log.1"), "a", "b")
    with gzip.open(log.with_name("crawl.log.1.gz"), "wt") as file:
        file.write("a\nb\n")
    append(log, "c")
    assert read(log)[0] == ["a", "b", "c"]


def test_a_log_that_was_replaced_is_read_from_its_beginning_and_it_is_said(log):
    append(log, "a", "b", "c")
    _, position, _ = read(log)
    log.write_text("x\ny\n")
    lines, _, notes = read(log, position)
    assert lines == ["x", "y"]
    assert notes == ["crawl.log was replaced: what was read before is not there any more"]


def test_a_log_that_was_cut_off_under_the_same_first_line(log):
    append(log, "a", "b", "c")
    _, position, _ = read(log)
    log.write_text("a\nz\n")
    lines, _, notes = read(log, position)
    assert lines == ["a", "z"] and "was cut off" in notes[0]


def test_a_log_that_is_not_there_yet(log):
    assert read(log) == ([], None, [])


def test_names_with_signs_of_patterns(tmp_path):
    log = tmp_path / "a[1]*.log"
    append(log, "a")
    append(tmp_path / "a[1]*.log.1", "b")
    assert read(log)[0] == ["b", "a"]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_each_line_is_read_once(log, seed):
    """Writing, rotating in three ways and looking, in random order: the lines come out as they went in."""
    chance, written, seen, position, number = random.Random(seed), 0, [], None, 0
    for _ in range(120):
        deed = chance.random()
        if deed < 0.5:
            for _ in range(chance.randint(1, 5)):
                append(log, f"line-{written}")
                written += 1
        elif deed < 0.7 and log.exists() and log.stat().st_size:
            number += 1
            for old in sorted(range(1, number), reverse=True):
                for ending in ("", ".gz"):
                    own = log.with_name(f"crawl.log.{old}{ending}")
                    if own.exists():
                        own.rename(log.with_name(f"crawl.log.{old + 1}{ending}"))
            if chance.random() < 0.5:
                log.rename(log.with_name("crawl.log.1"))
            else:
                shutil.copy(log, log.with_name("crawl.log.1"))
                log.write_text("")
            if chance.random() < 0.5 and (older := log.with_name("crawl.log.2")).exists():
                with gzip.open(log.with_name("crawl.log.2.gz"), "wb") as file:
                    file.write(older.read_bytes())
                older.unlink()
        else:
            lines, position, notes = read(log, position)
            assert notes == []
            seen += lines
    seen += read(log, position)[0]
    assert seen == [f"line-{k}" for k in range(written)]
