"""A Heritrix log of any length, written fast: `python -m benchmarks.scale.made_log PAGES [SEED] > crawl.log`.

Two regimes of Erlang gaps, four times as fast in one as in the other, with batches of one to four pages some
milliseconds apart: the crawler of the demonstration log, sped up. Every line has the same width, so that a block of
lines is an array of bytes into which the digits are written column by column: about a million lines per second.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

BLOCK = 250_000
"""Batches that are made at a time."""
MEAN_GAPS = np.array([0.3, 1.2])
STAGES = 3
STAY = 0.985
BATCH_SIZES = (0.4, 0.3, 0.2, 0.1)
BEGIN = np.datetime64("2024-05-01T08:00:00.000")
_THREE_DIGITS = np.array([list(f"{number:03d}".encode()) for number in range(1000)], dtype=np.uint8)
_LINE = (
    b"0000-00-00T00:00:00.000Z   200 000000 http://site-00.example/page/000000000 L http://site-00.example/ text/html "
    b"#000 00000000000000000+000 sha1:ABCDEFGHIJKLMNOPQRS000000000 - -\n"
)


def write_log(stream: IO[bytes], pages: int, seed: int = 1, first: int = 0) -> None:
    """Write a log of so many deliveries that begins after `first` pages of 0.4 s each."""
    written = 0
    for times in _moments(seed):
        times = times[: pages - written]
        stream.write(_lines(times + first * 400, first + written))
        written += times.size
        if written >= pages:
            return


def write_days(folder: Path, files: int, pages: int) -> list[Path]:
    """Rotated files, one after another in time, each of so many pages."""
    paths = [folder / f"day-{number:03d}.log" for number in range(files)]
    for number, path in enumerate(paths):
        with path.open("wb") as stream:
            write_log(stream, pages, seed=number, first=number * pages)
    return paths


def _moments(seed: int) -> Iterator[npt.NDArray[np.int64]]:
    """Milliseconds of the pages since the beginning, block by block."""
    rng = np.random.default_rng(seed)
    regime, clock = 0, 0.0
    while True:
        changes = rng.random(BLOCK) >= STAY
        regimes = (regime + np.cumsum(changes)) % 2
        regime = int(regimes[-1])
        ends = clock + np.cumsum(rng.gamma(STAGES, MEAN_GAPS[regimes] / STAGES))
        clock = float(ends[-1])
        sizes = rng.choice(4, BLOCK, p=BATCH_SIZES) + 1
        inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        yield (np.repeat(ends, sizes) * 1000).astype(np.int64) + 2 * inside


def _lines(millis: npt.NDArray[np.int64], number: int) -> bytes:
    """Lines of the pages that were delivered then, numbered from `number` on."""
    rows = np.tile(np.frombuffer(_LINE, dtype=np.uint8), (millis.size, 1))
    index = np.arange(number, number + millis.size)
    took = 40 + (index * 7919) % 860
    _stamp(rows, millis, (0, 5, 8, 11, 14, 17, 20))
    begun = _LINE.index(b"#") + 5
    _stamp(rows, millis - took, tuple(begun + at for at in (0, 4, 6, 8, 10, 12, 14)))
    hashed = (index * 2_654_435_761) % 2**32
    for at, width, value in (
        (_LINE.index(b" 000000 ") + 1, 6, 1000 + hashed % 90_000),
        (_LINE.index(b"-00.") + 1, 2, index % 90),
        (_LINE.rindex(b"-00.") + 1, 2, index % 90),
        (_LINE.index(b"page/") + 5, 9, index),
        (_LINE.index(b"#") + 1, 3, index % 50),
        (begun + 18, 3, took),
        (_LINE.rindex(b"QRS") + 3, 9, index),
    ):
        _digits(rows, at, width, value)
    return rows.tobytes()


def _stamp(rows: npt.NDArray[np.uint8], millis: npt.NDArray[np.int64], places: tuple[int, ...]) -> None:
    moments = BEGIN + millis.astype("timedelta64[ms]")
    days = moments.astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    clock = (moments - days).astype(np.int64)
    values = (
        months.astype("datetime64[Y]").astype(np.int64) + 1970,
        months.astype(np.int64) % 12 + 1,
        (days - months).astype(np.int64) + 1,
        clock // 3_600_000,
        clock // 60_000 % 60,
        clock // 1000 % 60,
        clock % 1000,
    )
    for at, width, value in zip(places, (4, 2, 2, 2, 2, 2, 3), values):
        _digits(rows, at, width, value)


def _digits(rows: npt.NDArray[np.uint8], at: int, width: int, value: npt.NDArray[np.int64]) -> None:
    """The last `width` digits of each value, three at a time."""
    while width > 0:
        taken = min(width, 3)
        width -= taken
        value, last = np.divmod(value, 1000)
        rows[:, at + width : at + width + taken] = _THREE_DIGITS[last, 3 - taken :]


if __name__ == "__main__":
    write_log(sys.stdout.buffer, int(sys.argv[1]), *(int(number) for number in sys.argv[2:3]))
