"""`crawltwin reproduce`: every table and figure of the founding paper against the published values."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawltwin.cli.options import add_output, add_workers
from crawltwin.cli.output import hand_out, plain_json, save_report
from crawltwin.cli.terminal.progress_line import progress
from crawltwin.model.errors import InputError

if TYPE_CHECKING:
    from crawltwin.pages.checking.earlier_report import EarlierReport
    from crawltwin.report import Report
    from validate.paper import Reproduction

EPILOG = """examples:
  crawltwin reproduce
  crawltwin reproduce --report report/paper         the whole as report.html, report.md and report.json
  crawltwin reproduce --simulate                    the main rows simulated as well
  crawltwin reproduce --json --out paper.json
  crawltwin reproduce --check report/paper          compute again, compare every number, word and picture of the report
  crawltwin reproduce --check paper.json            the same for a --json answer: exit code 1 where it differs

Finished pieces are kept in the --keep folder, so that an interrupted run goes on where it was; --fresh forgets them.
Pieces kept by other code (an edited solver, another library) are not used. --check computes everything afresh, with
simulation where the earlier report has it.
"""

_KEEP = ".crawltwin/reproduce"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser, report="report.html, report.md and report.json")
    words = "compare with an earlier report (its directory), its report.json alone, or a --json answer"
    parser.add_argument("--check", metavar="REPORT", help=words)
    parser.add_argument(
        "--simulate",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="simulate the main rows of each table too; some minutes more (with --check: as the report did)",
    )
    add_workers(parser, cluster=False)
    parser.add_argument("--keep", metavar="DIR", default=_KEEP, help=f"folder of finished pieces (default {_KEEP})")
    parser.add_argument("--fresh", action="store_true", help="keep nothing and use nothing kept")


def run(options: argparse.Namespace) -> int:
    """Reproduce, show, write, compare."""
    from crawltwin.work.store import Store
    from validate.paper import compare, reproduce

    earlier, pages = _earlier(options.check) if options.check else (None, None)
    had_simulation = bool(earlier and earlier.get("simulated"))
    simulated = had_simulation if options.simulate is None else options.simulate
    began = time.perf_counter()
    # A check that took kept pieces would compare the earlier report with itself.
    store = None if options.fresh or options.check else Store(options.keep)
    with progress("reproducing the paper", options) as update:
        found = reproduce(options.workers, store, update, with_simulation=simulated)
    answer = found.to_json()
    seconds = time.perf_counter() - began
    if options.report:
        save_report(_report(found, options.report, seconds), options.report)
    differences = None if earlier is None else compare(earlier, plain_json(answer))
    if differences is not None and pages is not None and simulated == had_simulation:
        differences += pages.differences(_report(found, "", seconds))

    def show() -> None:
        from crawltwin.cli.tables.reproduce import show_reproduction

        show_reproduction(found, differences)

    hand_out(options, answer if differences is None else answer | {"differences": differences}, show)
    return 1 if differences or not found.sound else 0


def _report(found: Reproduction, directory: str, seconds: float) -> Report:
    from crawltwin.pages.paper import paper_report

    command = f"crawltwin reproduce {'--simulate ' if found.simulated else ''}--report {directory}"
    return paper_report(found, command, {"solving": seconds})


def _earlier(path: str) -> tuple[dict[str, Any], EarlierReport | None]:
    """The numbers to compare with and, where a report holds them, its pages."""
    from crawltwin.model.files import parse, read_text
    from crawltwin.pages.checking.earlier_report import EarlierReport
    from validate.paper import compare

    whole = Path(path).is_dir()
    held = None if whole else parse(read_text(path, "--check"), "--check", json_text=True)
    pages = EarlierReport.read(path) if whole or (isinstance(held, dict) and "format" in held) else None
    answer = held if pages is None else pages.held["data"]
    if not isinstance(answer, dict) or "findings" not in answer:
        raise InputError(f"--check must be a report of `crawltwin reproduce`; got {path!r} without findings")
    compare(answer, answer)  # complains where parts are damaged, before anything is computed
    return answer, pages
