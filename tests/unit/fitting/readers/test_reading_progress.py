"""How far the reading of a log is."""

import gzip
import threading
from pathlib import Path

import pytest

from fitting import ReadOptions, read_log
from fitting.readers import told_bytes


@pytest.mark.parametrize("workers", [1, 2])
def test_bytes_of_all_files_are_told_packed_or_not(tmp_path, workers):
    text = "\n".join(f"{1.7e9 + i * 0.5:.3f}" for i in range(3000)).encode()
    plain, packed = tmp_path / "a.log", tmp_path / "b.log.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text.replace(b"17000", b"17001")))
    told = []
    read_log([plain, packed], options=ReadOptions(workers=workers), progress=lambda *at: told.append(at))
    size = plain.stat().st_size + packed.stat().st_size
    done = [at for at, _ in told]
    assert {total for _, total in told} == {size}
    assert done == sorted(done)
    assert done[-1] == size


def test_workers_tell_how_far_they_are_before_the_first_file_is_back(tmp_path):
    paths = [tmp_path / "a.log", tmp_path / "b.log"]
    for day, path in enumerate(paths):
        start = 1_700_000_000 + 10_000_000 * day
        path.write_text("".join(f"{start + i}.{i % 1000:03d}\n" for i in range(1_500_000)))
    size = paths[0].stat().st_size
    told = []
    alone = read_log(paths, options=ReadOptions(workers=1))
    apart = read_log(paths, options=ReadOptions(workers=2), progress=lambda *at: told.append(at))
    done = [at for at, _ in told]
    assert done == sorted(done)
    assert 0 < done[0] < size
    assert told[-1] == (2 * size, 2 * size)
    assert alone.time.tobytes() == apart.time.tobytes()


def test_notes_of_workers_are_added_up_and_a_worker_without_the_folder_is_silent(tmp_path, monkeypatch):
    monkeypatch.setattr(told_bytes, "EVERY", 0.01)
    told, seen = [], threading.Event()

    def progress(done, total):
        told.append((done, total))
        if done == 30:
            seen.set()

    with told_bytes.watched(progress, [100, 50]) as (places, finished):
        told_bytes.note_in(places[0])(10, 100)
        told_bytes.note_in(places[1])(20, 50)
        assert seen.wait(10)
        finished(0)
        finished(1)
    assert told[-2:] == [(120, 150), (150, 150)]
    told_bytes.note_in(places[0])(10, 100)
    assert not Path(places[0]).parent.exists()


def test_whoever_is_told_may_stop_workers(tmp_path):
    paths = [tmp_path / "a.log", tmp_path / "b.log"]
    for day, path in enumerate(paths):
        path.write_text("".join(f"{1_700_000_000 + 10_000 * day + i}\n" for i in range(1000)))

    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        read_log(paths, options=ReadOptions(workers=2), progress=stop)
