"""`crawltwin reproduce`: every table and figure of the founding paper against the published values."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawltwin.cli.output import console, print_json, progress, save, table, to_json

if TYPE_CHECKING:
    from validate.paper import Reproduction

EPILOG = """examples:
  crawltwin reproduce
  crawltwin reproduce --report report/paper         the whole as report.html, report.md and report.json
  crawltwin reproduce --simulate                    the main rows simulated as well
  crawltwin reproduce --json --out paper.json
  crawltwin reproduce --check report/paper/report.json   compute again and compare: exit code 1 where it differs

Finished pieces are kept in the --keep folder, so that an interrupted run goes on where it was; --fresh forgets them.
"""

_KEEP = ".crawltwin/reproduce"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, nothing else")
    parser.add_argument("--out", metavar="FILE", help="save the JSON answer there as well")
    parser.add_argument("--report", metavar="DIR", help="write report.html, report.md and report.json there")
    parser.add_argument("--check", metavar="REPORT", help="compare with an earlier report.json or --json answer")
    parser.add_argument(
        "--simulate",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="simulate the main rows of each table too; some minutes more",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes; one a core by default")
    parser.add_argument("--keep", metavar="DIR", default=_KEEP, help=f"folder of finished pieces (default {_KEEP})")
    parser.add_argument("--fresh", action="store_true", help="keep nothing and use nothing kept")


def run(options: argparse.Namespace) -> int:
    """Reproduce, show, write, compare."""
    from crawltwin.store import Store
    from validate.paper import compare, reproduce

    earlier = _earlier(options.check) if options.check else None
    began = time.perf_counter()
    store = None if options.fresh else Store(options.keep)
    with progress("reproducing the paper") as update:
        found = reproduce(options.workers, store, update, with_simulation=options.simulate)
    answer = found.to_json()
    if options.out:
        save(options.out, to_json(answer))
    if options.report:
        _write(found, options.report, time.perf_counter() - began)
    differences = None if earlier is None else compare(earlier, answer)
    if options.json:
        print_json(answer if differences is None else answer | {"differences": differences})
    else:
        _show(found, differences)
    return 1 if differences or not found.sound else 0


def _write(found: Reproduction, directory: str, seconds: float) -> None:
    from validate.report import write
    from validate.report.paper_report import build

    command = f"crawltwin reproduce {'--simulate ' if found.simulated else ''}--report {directory}"
    paths = write(build(found, command, {"solving": seconds}), directory)
    console(error=True).print(f"wrote {paths[-1]}", markup=False)


def _earlier(path: str) -> dict[str, Any]:
    from crawltwin.model import InputError

    try:
        held = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--check must be a file that can be read; got {error.strerror} for {path!r}") from None
    except ValueError:
        raise InputError(
            f"--check must be a report.json or the answer of --json; got {path!r}, which is no JSON"
        ) from None
    answer = held.get("data", held) if isinstance(held, dict) else None
    if not isinstance(answer, dict) or "findings" not in answer:
        raise InputError(f"--check must be a report.json of `crawltwin reproduce`; got {path!r} without findings")
    return answer


def _show(found: Reproduction, differences: list[str] | None) -> None:
    screen = console()
    wrong = [item for item in found.findings if item.verdict != "reproduced"]
    rows = [(item.where, item.what, item.printed, item.ours, item.verdict, item.how) for item in wrong]
    columns = [(name, "left") for name in ("where", "what", "printed", "is", "verdict", "kind")]
    screen.print(table("what differs from the print", columns, rows))
    failed = [claim for claim in found.claims if not claim.holds]
    for claim in failed:
        screen.print(f"Does not hold ({claim.place}): {claim.says} {claim.words}", markup=False)
    counts = ", ".join(f"{len(found.of(name))} {name}" for name in ("reproduced", "misprint", "not reproducible"))
    screen.print(
        f"{len(found.findings)} printed numbers: {counts}. {len(found.claims) - len(failed)} of "
        f"{len(found.claims)} claims "
        "hold.",
        style="bold",
        markup=False,
    )
    agreed = sum(item.verdict == "reproduced" for item in found.others)
    screen.print(f"Other authors' results: {agreed} of {len(found.others)} reproduced.", style="bold", markup=False)
    if found.simulated:
        same = sum(item.verdict == "equivalent" for item in found.simulated)
        words = f"Simulated rows: {same} of {len(found.simulated)} are equivalent to the solved ones."
        screen.print(words, style="bold", markup=False)
    if differences is not None:
        for line in differences:
            screen.print(f"differs: {line}", markup=False)
        screen.print("The earlier report differs." if differences else "The same as the earlier report.", style="bold")
