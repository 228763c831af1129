"""Logs that should not be: none may crash, hang or eat memory."""

import bz2
import gzip
import os
import random
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from crawltwin.model.errors import InputError
from fitting import fit, read_log
from fitting.readers.input import streams

LINE = "2017-07-31 19:21:{:02d} [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/{}> (referer: None)\n"


@pytest.fixture
def written(tmp_path):
    def write(content, name="log"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("content", [b"", b"\n\n  \n", gzip.compress(b"", mtime=0)])
def test_nothing(written, content):
    with pytest.raises(InputError, match="a log must have at least one line"):
        read_log(written(content))


def test_no_file_and_a_directory(tmp_path):
    with pytest.raises(InputError, match="must be a readable file; got No such file"):
        read_log(tmp_path / "none")
    with pytest.raises(InputError, match="must be a readable file; got Is a directory"):
        read_log(tmp_path)


def test_binary(written):
    noise = random.Random(1).randbytes(100_000)
    with pytest.raises(InputError, match="must be text, Parquet or WARC; got binary"):
        read_log(written(noise))
    with pytest.raises(InputError, match="iconv -f UTF-16"):
        read_log(written(LINE.encode("utf-16")))


def test_one_line_and_all_the_same_second(written):
    with pytest.raises(InputError, match=r"more than 30 delivered pages to be fitted; got 1 in 1 rows"):
        fit(written(LINE.format(1, 1)))
    with pytest.raises(
        InputError, match="at least 30 gaps between batches to be fitted; got 0 from 5000 pages over 0 s"
    ):
        fit(written("".join(LINE.format(1, i) for i in range(5000))))


def test_truncated_gzip_keeps_what_came_before(written):
    packed = gzip.compress("".join(LINE.format(i % 60, i) for i in range(20_000)).encode())
    log = read_log(written(packed[: len(packed) // 2]))
    assert 1000 < len(log) < 20_000
    assert "breaks off" in log.notes[0]
    with pytest.raises(InputError, match="at least one line; got gzip data end early"):
        read_log(written(packed[:5]))


def test_damaged_archives(written):
    for content in (b"BZh9garbage" * 10, b"\xfd7zXZ\x00" + b"x" * 50, b"\x28\xb5\x2f\xfd" + b"x" * 50):
        with pytest.raises(InputError, match="end early or are damaged"):
            read_log(written(content))
    with pytest.raises(InputError, match="zip archive must be whole"):
        read_log(written(b"PK\x03\x04" + b"x" * 100))
    with pytest.raises(InputError, match="Parquet file must be whole"):
        read_log(written(b"PAR1" + b"x" * 100))


def _bomb(size):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    piece = b"0" * (1 << 20)
    parts = [packer.compress(piece) for _ in range(size >> 20)]
    return b"".join([*parts, packer.flush()])


def test_a_gzip_bomb_is_refused(written, monkeypatch):
    with pytest.raises(InputError, match="decompression bomb"):
        read_log(written(_bomb(80 << 20)))
    # And once more with lines in it, so that the reader itself meets it and not only the detection.
    monkeypatch.setattr(streams, "RATIO_FREE", 1 << 20)
    with pytest.raises(InputError, match="decompression bomb"):
        read_log(written(bz2.compress(b"1460000000\n" * 600_000)))


def test_ten_megabytes_in_one_line(written):
    line = LINE.format(1, "x" * 10_000_000)
    log = read_log(written(LINE.format(0, 0) * 50 + line + LINE.format(2, 2) * 50))
    assert len(log) == 100
    assert log.broken == 1
    with pytest.raises(InputError, match="format must be one that is known"):
        read_log(written("x" * 10_000_000))


@pytest.mark.parametrize(
    "name", ["heritrix", "access-log", "cdxj", "cdx", "plain", "csv", "json-lines", "nutch", "wget"]
)
def test_any_text_in_any_format_ends_in_words(written, name):
    rng = random.Random(5)
    lines = ["".join(rng.choice(' "[]{}:-/0129abcZ\\\t') for _ in range(rng.randrange(200))) for _ in range(500)]
    lines += ["{" * 3000, "[" * 3000, '"' * 3000, "-" * 3000, " " * 3000, "0" * 3000]
    try:
        log = read_log(written("\n".join(lines)), log_format=name, max_broken=1.0)
    except InputError:
        return
    assert len(log) <= log.rows + log.from_gaps


def test_mixed_formats_are_too_broken(written):
    access = '1.2.3.4 - - [16/Feb/2022:00:18:53 +0000] "GET / HTTP/1.1" 200 1 "-" "bot/1"\n'
    heritrix = (
        "2016-03-31T14:35:37.711Z 200 24360 http://a/ IP http://a/ text/plain #661 20160331143536323+981 sha1:B -\n"
    )
    with pytest.raises(InputError, match=r"at most 20% of the lines may be unreadable; got 300 of 900"):
        read_log(written(access * 600 + heritrix * 300))


def test_times_going_backwards_are_sorted_and_counted(written):
    rows = [1_460_000_000 + i for i in range(200)]
    log = read_log(written("\n".join(str(t) for t in reversed(rows))))
    assert (np.diff(log.time) == 10**9).all()
    assert log.out_of_order == 199


def test_a_hundred_years_in_the_future(written):
    rows = [f"{2126}-01-01T00:{i // 60:02d}:{i % 60:02d}.{i % 7}00Z" for i in range(1000)]
    result = fit(written("\n".join(rows)))
    assert any("in the future" in warning for warning in result.warnings)
    far = ["2999-01-01T00:00:00Z"] * 5 + rows
    assert read_log(written("\n".join(far))).dropped == {"time missing or out of range": 5}


def test_one_row_far_away_is_left_out(written):
    rng = np.random.default_rng(3)
    times = 1_460_000_000 + np.cumsum(rng.exponential(2.0, 2000))
    result = fit(written("\n".join([f"{t:.3f}" for t in times] + ["4000000000.0\n"])))
    assert result.log.dropped == {"time far outside of the rest": 1}
    assert result.cleaning.pauses == 0
    assert result.numbers["mean_gap"].value == pytest.approx(np.diff(times).mean(), rel=1e-3)


def test_a_fixed_delay_is_told(written):
    with pytest.raises(InputError, match="the gaps must vary to be fitted; got 999 gaps of 5 s each"):
        fit(written("\n".join(str(1_460_000_000 + 5 * i) for i in range(1000))))


def test_memory_stays_bounded(tmp_path):
    """A hundred megabytes of log must not need a hundred megabytes of memory more than a small one does."""
    line = (
        b"2016-03-31T14:35:37.711Z 404 24360 http://a/%s IP http://a/ text/plain #661 20160331143536323+981 sha1:B -\n"
    )
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(line % (b"x" * 400) * 1000)
    with large.open("wb") as stream:
        for _ in range(200):
            stream.write(line % (b"x" * 400) * 1000)
    code = "import sys, resource; from fitting import read_log; log = read_log(sys.argv[1]); "
    code += "print(log.rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    used = []
    for path in (small, large):
        out = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, env=environment
        )
        used.append(int(out.stdout.split()[1]) * 1024)
    assert large.stat().st_size > 90 << 20
    assert used[1] - used[0] < 50 << 20
