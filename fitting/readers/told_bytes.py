"""How far workers are that read several files at once: each tells the bytes it has read in a small file of its own.

The files lie in a temporary folder of this machine. A worker elsewhere, which does not see the folder, tells nothing:
its file then counts when it was read. What is told never touches what is read.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from crawltwin.work.progress import ProgressCallback

EVERY = 0.1
"""Seconds between two looks, and between two notes of one worker."""
Finished = Callable[[int], None]


def note_in(place: str) -> ProgressCallback:
    """For a worker: writes the bytes that it has read into the file `place`, now and then; silent where it cannot."""
    last = -EVERY

    def note(done: float, _: float) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            with suppress(OSError):
                Path(place).write_text(str(int(done)), encoding="ascii")

    return note if Path(place).parent.is_dir() else lambda *_: None


@contextmanager
def watched(progress: ProgressCallback | None, sizes: Sequence[int]) -> Iterator[tuple[list[str], Finished]]:
    """Tell `progress` how many bytes of all files were read, while workers read them.

    Gives the place in which the worker of each file makes its notes (empty without `progress`), and a function to call
    with the number of a file that is done. `progress` is called by one thread at a time, with bytes that never fall.
    """
    if progress is None:
        yield [""] * len(sizes), lambda _: None
        return
    with tempfile.TemporaryDirectory(prefix="crawltwin-", ignore_cleanup_errors=True) as folder:
        places = [str(Path(folder) / str(number)) for number in range(len(sizes))]
        told = _Told(progress, sizes, places)
        stop = threading.Event()
        watcher = threading.Thread(target=told.watch, args=(stop,), daemon=True)
        watcher.start()
        try:
            yield places, told.finish
        finally:
            stop.set()
            watcher.join()


class _Told:
    def __init__(self, progress: ProgressCallback, sizes: Sequence[int], places: Sequence[str]) -> None:
        self._progress, self._sizes, self._places = progress, sizes, places
        self._read = [0] * len(sizes)
        self._open = set(range(len(sizes)))
        self._last = -1
        self._turn = threading.Lock()
        self._failed: Exception | None = None

    def watch(self, stop: threading.Event) -> None:
        while self._failed is None and not stop.wait(EVERY):
            with self._turn:
                for number in self._open:
                    with suppress(OSError, ValueError):
                        noted = int(Path(self._places[number]).read_text(encoding="ascii"))
                        self._read[number] = min(noted, self._sizes[number])
                try:
                    self._tell()
                except Exception as error:  # noqa: BLE001 - whoever is told may stop the reading: raised by `finish`
                    self._failed = error

    def finish(self, number: int) -> None:
        with self._turn:
            if self._failed is not None:
                raise self._failed
            self._open.discard(number)
            self._read[number] = self._sizes[number]
            self._tell()

    def _tell(self) -> None:
        done = sum(self._read)
        if done > self._last and done:
            self._last = done
            self._progress(done, sum(self._sizes))
