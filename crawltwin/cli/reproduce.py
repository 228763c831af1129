"""`crawltwin reproduce`: every table and figure of the founding paper against the published values."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from crawltwin.cli.options import add_output, add_workers
from crawltwin.cli.output import hand_out, save_report
from crawltwin.cli.terminal.progress_line import progress
from crawltwin.model.errors import InputError

if TYPE_CHECKING:
    from validate.paper import Reproduction

EPILOG = """examples:
  crawltwin reproduce
  crawltwin reproduce --report report/paper         the whole as report.html, report.md and report.json
  crawltwin reproduce --simulate                    the main rows simulated as well
  crawltwin reproduce --json --out paper.json
  crawltwin reproduce --check report/paper/report.json   compute again and compare: exit code 1 where it differs

Finished pieces are kept in the --keep folder, so that an interrupted run goes on where it was; --fresh forgets them,
and --check computes everything afresh. Pieces kept by other code (an edited solver, another library) are not used.
"""

_KEEP = ".crawltwin/reproduce"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser, report="report.html, report.md and report.json")
    parser.add_argument("--check", metavar="REPORT", help="compare with an earlier report.json or --json answer")
    parser.add_argument(
        "--simulate",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="simulate the main rows of each table too; some minutes more",
    )
    add_workers(parser, cluster=False)
    parser.add_argument("--keep", metavar="DIR", default=_KEEP, help=f"folder of finished pieces (default {_KEEP})")
    parser.add_argument("--fresh", action="store_true", help="keep nothing and use nothing kept")


def run(options: argparse.Namespace) -> int:
    """Reproduce, show, write, compare."""
    from crawltwin.work.store import Store
    from validate.paper import compare, reproduce

    earlier = _earlier(options.check) if options.check else None
    began = time.perf_counter()
    # A check that took kept pieces would compare the earlier report with itself.
    store = None if options.fresh or options.check else Store(options.keep)
    with progress("reproducing the paper", options) as update:
        found = reproduce(options.workers, store, update, with_simulation=options.simulate)
    answer = found.to_json()
    if options.report:
        _write(found, options.report, time.perf_counter() - began)
    differences = None if earlier is None else compare(earlier, answer)

    def show() -> None:
        from crawltwin.cli.tables.reproduce import show_reproduction

        show_reproduction(found, differences)

    hand_out(options, answer if differences is None else answer | {"differences": differences}, show)
    return 1 if differences or not found.sound else 0


def _write(found: Reproduction, directory: str, seconds: float) -> None:
    from crawltwin.pages.paper import paper_report

    command = f"crawltwin reproduce {'--simulate ' if found.simulated else ''}--report {directory}"
    save_report(paper_report(found, command, {"solving": seconds}), directory)


def _earlier(path: str) -> dict[str, Any]:
    from crawltwin.model.files import parse, read_text

    held = parse(read_text(path, "--check"), "--check", json_text=True)
    answer = held.get("data", held) if isinstance(held, dict) else None
    if not isinstance(answer, dict) or "findings" not in answer:
        raise InputError(f"--check must be a report.json of `crawltwin reproduce`; got {path!r} without findings")
    return answer
