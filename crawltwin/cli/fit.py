"""`crawltwin fit`: a raw log to a model, with every decision on the way."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from crawltwin.cli.output import console, number, print_json, save, table
from crawltwin.model import scenario_file

if TYPE_CHECKING:
    from rich.console import Console

    from fitting import FitOptions, FitResult, ReadOptions
    from validate.fit_replay import ReplayCheck

EPILOG = """examples:
  crawltwin fit crawl.log --out scenario.toml
  crawltwin fit crawl.log.2.gz crawl.log.1.gz crawl.log --report report/fit
  zcat access.log.gz | crawltwin fit - --agent Googlebot --json
  crawltwin fit times.csv --time-column fetched --pause 600 --batch-gap 0.05
  crawltwin fit odd.log --pattern '^(?P<time>\\S+ \\S+) .* bytes=(?P<size>\\d+)'

The format is found from the content. Times in the scenario are seconds. Without a processing rate or a mean service
time, the service is as fast as keeps the indexer busy for 80% of its time, and the answer says so.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from fitting import NAMES

    parser.add_argument("log", metavar="LOG", nargs="+", help="files of one log, plain or packed; - is standard input")
    _reading(parser, NAMES)
    _modelling(parser)
    _scenario(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random (default 0)")
    parser.add_argument("--no-replay", action="store_true", help="do not replay the trace through a buffer")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, nothing else")
    parser.add_argument("--out", metavar="FILE", help="write the scenario there, TOML or (by its name) JSON")
    parser.add_argument("--report", metavar="DIR", help="write a report with pictures there")


def _reading(parser: argparse.ArgumentParser, names: tuple[str, ...]) -> None:
    group = parser.add_argument_group("reading")
    group.add_argument("--format", choices=names, help="the log's format, if it should not be found")
    group.add_argument("--pattern", metavar="REGEX", help="any other log: groups time, size, url, status")
    group.add_argument("--timezone", metavar="NAME", help="zone of times that name none, for example Europe/Paris")
    group.add_argument("--time-column", metavar="NAME", help="column of times in CSV, Parquet, JSON lines")
    group.add_argument("--size-column", metavar="NAME", help="column of sizes there")
    group.add_argument("--agent", default="robots", metavar="WHICH", help="access logs: robots, all, or a regex")
    group.add_argument(
        "--values", choices=("auto", "times", "gaps"), default="auto", help="what a plain column of numbers holds"
    )
    group.add_argument(
        "--max-broken", type=float, default=0.2, metavar="SHARE", help="lines that may be unreadable (default 0.2)"
    )


def _modelling(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("cleaning and fitting")
    group.add_argument("--pause", type=float, metavar="SECONDS", help="longer gaps are pauses (default: found)")
    group.add_argument("--pause-quantile", type=float, metavar="P", help="gaps above this quantile are pauses")
    group.add_argument("--stretch", default="all", metavar="WHICH", help="all, longest, or a number from the list")
    group.add_argument("--batch-gap", type=float, metavar="SECONDS", help="shorter gaps join pages (default: found)")
    group.add_argument(
        "--model",
        choices=("poisson", "renewal", "map2", "mmpp2", "map", "erlang"),
        help="take this family; map2 is the founding paper's procedure",
    )
    group.add_argument("--criterion", choices=("bic", "aic", "held-out"), default="bic", help="how to choose")
    group.add_argument("--max-branches", type=int, default=5, metavar="N", help="Erlang branches at most")
    group.add_argument("--max-stages", type=int, default=10, metavar="N", help="stages of a branch at most")
    group.add_argument("--max-phases", type=int, default=40, metavar="N", help="phases of the chosen model at most")
    group.add_argument("--map-order", type=int, default=2, metavar="N", help="order of the general MAP")
    group.add_argument("--third-moment", choices=("trace", "likelihood"), default="trace", help="of the MAP(2)")
    group.add_argument(
        "--batch-law",
        choices=("test", "independent", "by-phase"),
        default="test",
        help="batch sizes by phase: if the test says so, never, always",
    )


def _scenario(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scenario")
    group.add_argument("--capacity", type=int, default=20, metavar="K", help="pages in the system (default 20)")
    group.add_argument("--robots", type=int, default=1, metavar="N", help="robots that ran (default 1)")
    group.add_argument("--max-robots", type=int, metavar="N", help="robots that may run (default: those that ran)")
    group.add_argument("--processing-rate", type=float, metavar="BYTES", help="bytes indexed a second")
    group.add_argument("--service-mean", type=float, metavar="SECONDS", help="mean service time")
    group.add_argument(
        "--service",
        choices=("moments", "two-moments", "em", "general"),
        default="moments",
        help="how content sizes are fitted",
    )
    group.add_argument("--obsolescence-mean", type=float, metavar="SECONDS", help="mean time until a page is stale")


def options_of(options: argparse.Namespace) -> tuple[ReadOptions, FitOptions]:
    """What the user chose, as the fitting room's values."""
    from fitting import FitOptions, ReadOptions

    reading = ReadOptions(
        pattern=options.pattern,
        time_column=options.time_column,
        size_column=options.size_column,
        agent=options.agent,
        values=options.values,
    )
    chosen = FitOptions(
        pause=options.pause,
        pause_quantile=options.pause_quantile,
        stretch=options.stretch,
        batch_gap=options.batch_gap,
        model=options.model,
        criterion=options.criterion,
        max_branches=options.max_branches,
        max_stages=options.max_stages,
        max_phases=options.max_phases,
        map_order=options.map_order,
        third_moment=options.third_moment,
        batch_law=options.batch_law,
        service=options.service,
        seed=options.seed,
    )
    return reading, chosen


def run(options: argparse.Namespace) -> int:
    """Fit, write what was asked for, and show."""
    from fitting import fit

    reading, chosen = options_of(options)
    screen = console(error=True)
    with screen.status("reading") as status:
        result = fit(
            options.log,
            log_format=options.format,
            timezone=options.timezone,
            max_broken=options.max_broken,
            reading=reading,
            options=chosen,
            progress=lambda words: status.update(words.replace("[", "\\[")),
        )
    scenario = result.scenario(
        capacity=options.capacity,
        robots_in_log=options.robots,
        robots=options.max_robots,
        processing_rate=options.processing_rate,
        service_mean=options.service_mean,
        obsolescence_mean=options.obsolescence_mean,
    )
    answer = result.to_json()
    answer["scenario"] = scenario.to_mapping()
    replayed = None if options.no_replay else _replay(options, result)
    answer["replay"] = None if replayed is None else replayed.to_json()
    assumed = _assumed(options, result)
    answer["warnings"] += assumed
    if options.report:
        _report(options, result, replayed)
    if options.out:
        as_json = str(options.out).endswith(".json")
        save(options.out, scenario_file.dumps(scenario, json_text=as_json))
    if options.json:
        print_json(answer)
    else:
        _show(result, assumed)
        if replayed is not None:
            console().print(f"Replayed through a buffer: {replayed.words}.", markup=False)
    return 0


def _replay(options: argparse.Namespace, result: FitResult) -> ReplayCheck:
    from validate.fit_replay import replay_fit

    with console(error=True).status("replaying the trace through a buffer"):
        return replay_fit(result, capacity=options.capacity, seed=options.seed + 1)


def _assumed(options: argparse.Namespace, result: FitResult) -> list[str]:
    words = []
    if options.processing_rate is None and options.service_mean is None:
        words.append(
            "the indexer's speed is not known: the scenario keeps it busy for 80% of its time; give "
            "--processing-rate or "
            "--service-mean"
        )
    if options.obsolescence_mean is None and result.obsolescence is None:
        words.append("nothing is known of how long pages stay fresh: in the scenario they never go stale")
    return words


def _report(options: argparse.Namespace, result: FitResult, replayed: ReplayCheck | None) -> None:
    from validate.report import write
    from validate.report.fit_report import fit_report

    for path in write(
        fit_report(result, command=f"crawltwin fit {' '.join(options.log)}", replayed=replayed), options.report
    ):
        if path.name == "report.html":
            console(error=True).print(f"wrote {path}", markup=False)


def _show(result: FitResult, assumed: list[str]) -> None:
    screen = console()
    answer = result.to_json()
    _show_trace(screen, answer["trace"])
    rows = [
        (
            ("> " if c is result.chosen else "  ") + c.name,
            str(c.order),
            str(c.parameters),
            number(c.log_likelihood / len(result.batches.segments), 6),
            number(c.held_out, 6),
            f"{c.bic:.0f}",
            f"{c.seconds:.1f}" if c.converged else f"{c.seconds:.1f}, not at rest",
        )
        for c in sorted(result.candidates, key=lambda c: c.bic)
    ]
    columns = (
        ("model", "left"),
        ("phases", "right"),
        ("numbers", "right"),
        ("log-lik. a gap", "right"),
        ("held out", "right"),
        ("BIC", "right"),
        ("s", "right"),
    )
    screen.print(table("models of the gaps between batches", columns, rows, bold=0))
    sizes = ", ".join(f"{k}: {p:.3g}" for k, p in enumerate(answer["batch_sizes"][:10], start=1) if p > 0)
    screen.print(f"Batch sizes {sizes}; {result.batch_test.words}.", markup=False)
    for name, fit in (("Content size (bytes)", result.sizes), ("Time until stale (s)", result.obsolescence)):
        if fit is not None:
            law = fit.distribution
            screen.print(
                f"{name}: {law.order} phases, mean {law.mean:.6g}, scv {law.scv:.4g} ({fit.method}).", markup=False
            )
    style = {"good": "bold green", "fair": "bold yellow", "poor": "bold red"}[result.goodness.verdict]
    screen.print(f"Verdict: {result.goodness.verdict} fit", style=style)
    for words in result.goodness.words:
        screen.print(f"  - {words}", markup=False)
    for note in (*result.warnings, *assumed):
        screen.print(f"Note: {note}.", style="dim", markup=False)


def _show_trace(screen: Console, trace: dict[str, Any]) -> None:
    how = "found" if trace["detected"] else "given"
    screen.print(f"{', '.join(trace['files'])}: {trace['format']} ({how})", style="bold", markup=False)
    dropped = ", ".join(f"{count} {reason}" for reason, count in trace["dropped"].items()) or "none"
    screen.print(
        f"{trace['rows']} rows, {trace['deliveries']} delivered pages; dropped: {dropped}; {trace['broken']} broken "
        f"lines, {trace['out_of_order']} out of order, clock of {trace['resolution']:g} s",
        markup=False,
    )
    cleaning, batching = trace["cleaning"], trace["batching"]
    limit = "no limit" if cleaning["limit"] is None else f"gaps above {cleaning['limit']:.4g} s"
    used = sum(1 for stretch in cleaning["stretches"] if stretch["used"])
    screen.print(
        f"Pauses ({cleaning['rule']}, {limit}): {cleaning['pauses']} cut, "
        f"{len(cleaning['stretches'])} stretches, {used} "
        f"used; squared coefficient of variation {number(cleaning['scv_before'], 4)} before, "
        f"{number(cleaning['scv_after'], 4)} after",
        markup=False,
    )
    screen.print(f"Batches ({batching['rule']}): gaps up to {batching['limit']:.4g} s join pages", markup=False)
    rows = []
    for name in ("page_rate", "mean_gap", "scv", "mean_batch", "correlation_1", "correlation_10"):
        found = trace["moments"][name]
        rows.append(
            (name.replace("_", " "), number(found["value"], 5), number(found["low"], 5), number(found["high"], 5))
        )
    columns = (("of the trace", "left"), ("value", "right"), ("95% from", "right"), ("to", "right"))
    screen.print(table("", columns, rows))
