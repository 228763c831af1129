"""`python -m benchmarks [NAME ...] [--out FILE]`: run the benchmarks and print who needed what.

Every module of this package that has a `run()` returning rows is a benchmark; its name is the module's.
"""

import argparse
import importlib
import json
import pkgutil
import platform
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks.rows import Row, as_markdown, with_ratios


def discover() -> dict[str, Callable[[], list[Row]]]:
    """Benchmarks by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name != "__main__")
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in names}
    return {name: module.run for name, module in modules.items() if hasattr(module, "run")}


def main(arguments: list[str] | None = None) -> int:
    """Run those named, or all; 2 for a name that does not exist."""
    known = discover()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Side by side with the peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of: " + ", ".join(known))
    parser.add_argument("--out", type=Path, help="also write the rows to this file, .md or .json")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"NAME must be one of {', '.join(known)}; got {', '.join(unknown)}")
    if options.out is not None and options.out.suffix not in {".md", ".json"}:
        parser.error(f"--out must end in .md or .json; got {options.out}")

    rows: list[Row] = []
    for name in options.names or known:
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += known[name]()
    table = with_ratios(rows)
    _show(table)
    if options.out is not None:
        machine = f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}"
        text = json.dumps({"machine": machine, "rows": table}, indent=2) + "\n"
        if options.out.suffix == ".md":
            text = f"Measured with {machine}.\n\n{as_markdown(table)}"
        options.out.write_text(text, encoding="utf-8")
    return 0


def _show(table: list[dict[str, object]]) -> None:
    shown = Table("case", "contestant", "value", "unit", "ours is better by", "note")
    for row in table:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g} x"
        shown.add_row(row["case"], row["contestant"], f"{row['value']:.4g}", row["unit"], ratio, row["note"])
    console = Console()
    if not console.is_terminal:
        console.width = 160
    console.print(shown)


if __name__ == "__main__":
    sys.exit(main())
