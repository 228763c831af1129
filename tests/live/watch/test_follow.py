"""A log is followed through everything that happens to logs: no line is missed, none is read twice."""

import gzip
import random
import shutil

import pytest

from crawltwin.live.watch import follow
from crawltwin.live.watch.follow import check_followable, new_lines, predecessors
from crawltwin.model.errors import InputError


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


def test_a_copy_that_is_not_whole_yet_is_not_read_again(log):
    """Rotation by copying, seen in the middle: the copy is shorter than what was read."""
    append(log, "a", "b", "c")
    _, position, _ = read(log)
    log.with_name("crawl.log.1").write_text("a\nb")
    assert read(log, position) == ([], position, [])
    append(log, "d")
    assert read(log, position)[0] == ["d"]
    # The copy missed the last line, which was read before the log was emptied.
    log.write_text("")
    assert read(log, position) == ([], position, [])
    append(log, "e")
    assert read(log, position)[0] == ["e"]


@pytest.mark.parametrize("listed", ["crawl.log.1", "crawl.log.1.gz"])
def test_a_file_that_is_half_packed_is_read_to_its_end(log, monkeypatch, listed):
    lines = [f"{k:06d}-{random.Random(k).random()}" for k in range(3000)]
    old, packed = log.with_name("crawl.log.1"), log.with_name("crawl.log.1.gz")
    append(old, *lines)
    packed.write_bytes(gzip.compress(old.read_bytes())[:20_000])
    append(log, "new")
    # A folder lists its files in any order.
    both = [packed, old] if listed.endswith("gz") else [old, packed]
    monkeypatch.setattr(follow, "predecessors", lambda _path: both)
    assert read(log)[0] == [*lines, "new"]


def test_what_follows_a_broken_predecessor_waits(log):
    lines = [f"{k:06d}-{random.Random(k).random()}" for k in range(3000)]
    whole = gzip.compress("".join(f"{line}\n" for line in lines).encode())
    packed = log.with_name("crawl.log.1.gz")
    packed.write_bytes(whole[:20_000])
    append(log, "new")
    first, position, _ = read(log)
    assert "new" not in first
    packed.write_bytes(whole)
    assert [*first, *read(log, position)[0]] == [*lines, "new"]


def test_rotation_between_the_listing_and_the_reading(log, monkeypatch):
    append(log, "a", "b")
    _, position, _ = read(log)
    append(log, "c")
    marked = follow._marked_files

    def then_rotated(path):
        found = marked(path)
        if not log.with_name("crawl.log.1").exists():
            log.rename(log.with_name("crawl.log.1"))
            append(log, "d")
        return found

    monkeypatch.setattr(follow, "_marked_files", then_rotated)
    lines, position, notes = read(log, position)
    again, _, more = read(log, position)
    assert ([*lines, *again], notes, more) == (["c", "d"], [], [])


def test_rotation_while_the_folder_is_listed(log, monkeypatch):
    append(log, "a", "b")
    _, position, _ = read(log)
    append(log, "c")
    listed = follow.predecessors

    def then_rotated(path):
        found = listed(path)
        if not log.with_name("crawl.log.1").exists():
            log.rename(log.with_name("crawl.log.1"))
            append(log, "d")
        return found

    monkeypatch.setattr(follow, "predecessors", then_rotated)
    lines, _, notes = read(log, position)
    assert (lines, notes) == (["c", "d"], [])


@pytest.mark.parametrize("path", ["/dev/zero", "/"])
def test_what_is_no_file_is_refused(path):
    with pytest.raises(InputError, match="a log must be a regular file"):
        check_followable(path)
    assert read(path) == ([], None, [])
