"""How `fit` grows with the log: processor seconds and peak memory, each size in a process of its own.

`make bench BENCH=scale` measures small sizes; `SCALE="1e6 1e7" make bench BENCH=scale` others. What is measured is the
command as it is typed, with its replay and its imports, after one run that is not measured.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.rows import OURS, Row
from benchmarks.scale.made_log import write_log

SIZES = "2e4 1e5 3e5"


def run() -> Iterator[Row]:
    """Seconds and megabytes for each size in the environment variable SCALE, or in `SIZES`."""
    sizes = [int(float(size)) for size in os.environ.get("SCALE", SIZES).split()]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "crawl.log"
        for warm_up, size in ((True, sizes[0]), *((False, size) for size in sizes)):
            with log.open("wb") as stream:
                write_log(stream, size)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "crawltwin", "fit", str(log), "--json"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if not warm_up:
                taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                yield Row(f"fit, {size:,} deliveries", OURS, taken, "s")
                # The largest child so far: sizes grow.
                yield Row(f"fit, {size:,} deliveries", OURS, after.ru_maxrss / 1024, "MB")
