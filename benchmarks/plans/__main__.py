"""`python -m benchmarks.plans`: make crawlers, plan from their logs, print the tables."""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.plans.crawlers import KINDS
from benchmarks.plans.day import saving
from benchmarks.plans.judged import judged
from benchmarks.plans.tables import every_table


def main() -> None:
    """Make what is missing in the file of rows, then show all of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plans")
    parser.add_argument("--crawlers", type=int, default=4, help="of each kind")
    parser.add_argument("--days", type=int, default=10, help="logs of several days")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--rows", type=Path, help="file of finished rows, JSON lines")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if options.rows is not None and options.rows.exists():
        rows = [json.loads(line) for line in options.rows.read_text().splitlines()]
    done = {(row.get("kind"), row["seed"]) for row in rows}
    wanted = [(kind, seed) for seed in range(options.crawlers) for kind in KINDS]
    every = [*wanted, *((None, seed) for seed in range(options.days))]
    with tempfile.TemporaryDirectory() as name:
        for kind, number in every:
            seed = options.first + number
            if (kind, seed) in done:
                continue
            row = saving(seed, Path(name)) if kind is None else judged(kind, seed, Path(name))
            rows.append(row)
            print(f"{kind or 'a day'}, seed {seed}: {row.get('word', 'no cycle told')}", file=sys.stderr, flush=True)
            if options.rows is not None:
                with options.rows.open("a") as stream:
                    stream.write(json.dumps(row) + "\n")
    print(every_table(rows))


if __name__ == "__main__":
    main()
