"""Does a plan claim more than it knows? Plans from logs of made crawlers, beside the solved truth.

``python -m benchmarks.plans [--crawlers N] [--days N] [--first SEED] [--rows FILE]`` makes N crawlers of each kind, and
N logs of a crawler whose pace follows the day, plans from the log of each, and prints what docs/reliability.md shows.
Every row is written to FILE as it is found, and rows that FILE has already are not made again. A plan takes some five
seconds of processor time, a log of several days some fifteen.
"""

from benchmarks.rows import OURS, Row


def run() -> list[Row]:
    """One crawler of each kind: the share of all intervals that hold the truth."""
    import tempfile
    from pathlib import Path

    from benchmarks.plans.crawlers import KINDS
    from benchmarks.plans.judged import judged
    from benchmarks.plans.tables import held

    with tempfile.TemporaryDirectory() as folder:
        rows = [judged(kind, 0, Path(folder)) for kind in KINDS]
    intervals = [one for row in rows for one in row["intervals"]]
    return [Row("intervals of today and recommended", OURS, 100 * held(intervals), "% hold the truth")]
