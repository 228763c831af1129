"""`crawltwin simulate`: the same crawler, event by event, with intervals."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawltwin.cli import arguments, simulate_tables
from crawltwin.cli.output import complain, console, print_json, progress, save, to_json
from crawltwin.model import SCALAR_MEASURES, InputError, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulate import Progress, SimulationResult

EPILOG = """examples:
  crawltwin simulate paper.toml
  crawltwin simulate paper.toml --precision 0.01            until every interval is within one percent
  crawltwin simulate paper.toml --replications 1 --pages 1000000       one long run, batch means
  crawltwin simulate paper.toml --records pages.parquet     one record a page
  crawltwin simulate paper.toml --compare 4,1@1 --compare 3            policies on common random numbers
  crawltwin simulate paper.toml --compare 4,1@1 --compare 3 --best 0.5           the best one, within 0.5 of cost
  crawltwin simulate paper.toml --trace batches.csv         recorded batches in place of the robots
  crawltwin simulate mm1k.toml --coverage 1000              do the intervals cover what they claim?

Ctrl-C prints what is known so far. Same scenario and seed: same numbers, whatever the number of workers.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    arguments.add_scenario(parser)
    arguments.add_policy(parser)
    length = parser.add_argument_group("length")
    length.add_argument("--pages", type=_whole, metavar="N", help="pages delivered in each replication")
    length.add_argument("--time", type=_real, metavar="T", help="simulated time of each replication")
    length.add_argument(
        "--replications", type=_whole, metavar="N", help="independent runs (default 20); 1: one run cut into batches"
    )
    length.add_argument(
        "--precision", type=_real, metavar="E", help="run until every relative half-width is at most this, say 0.01"
    )
    length.add_argument(
        "--measure", action="append", metavar="NAME", help="what the precision is about (default: every measure)"
    )
    length.add_argument("--budget", type=_real, metavar="S", help="seconds after which --precision gives up (60)")
    how = parser.add_argument_group("how")
    how.add_argument("--seed", type=_whole, default=1, metavar="N", help="seed of all random numbers (default 1)")
    how.add_argument("--engine", default="compiled", metavar="NAME", help="compiled (default) or simpy, the reference")
    how.add_argument("--confidence", type=_real, default=0.95, metavar="P", help="of the intervals (default 0.95)")
    how.add_argument("--warmup", type=_real, metavar="T", help="time left out at the start (default: found by MSER-5)")
    how.add_argument("--start", metavar="P0,P1,...", help="probabilities of the levels at time 0 (default: empty)")
    how.add_argument("--workers", type=_whole, metavar="N", help="processes (default: all cores where it pays)")
    how.add_argument("--cluster", metavar="ADDRESS", help="a running Dask scheduler, such as tcp://host:8786")
    how.add_argument("--resume", metavar="DIR", help="keep finished replications there, and go on from them")
    other = parser.add_argument_group("other questions")
    other.add_argument(
        "--trace", metavar="FILE", help="replay these batches (CSV or Parquet: time, pages, robot, bytes)"
    )
    other.add_argument("--processing-rate", type=_real, metavar="R", help="with --trace: bytes indexed a unit of time")
    other.add_argument("--recorded-robots", type=_whole, metavar="N", help="with --trace: robots that made it")
    other.add_argument(
        "--compare", action="append", metavar="POLICY", help="compare this policy with the scenario's own; repeatable"
    )
    other.add_argument(
        "--best", type=_real, metavar="D", help="with --compare: select the policy of least cost, up to a difference D"
    )
    other.add_argument(
        "--coverage", type=_whole, metavar="N", help="repeat N times: how often do intervals hold the truth?"
    )
    other.add_argument("--timeline", metavar="FILE.svg", help="draw level, robots and losses over a stretch of time")
    other.add_argument("--between", default="0,100", metavar="T0,T1", help="that stretch (default 0,100)")
    show = parser.add_argument_group("output")
    show.add_argument("--levels", action="store_true", help="show the probability of each number of pages")
    show.add_argument("--records", metavar="FILE", help="write one record a page, .parquet or .csv")
    arguments.add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Simulate and show."""
    _check_together(options)
    scenario = arguments.read_scenario(options)
    if options.timeline:
        return _timeline(scenario, options)
    if options.coverage is not None:
        return _coverage(scenario, options)
    if options.compare:
        return _compare(scenario, options)
    result = _replay(scenario, options) if options.trace else _simulate(scenario, options)
    if options.records:
        _save_records(options.records, result)
    _answer(options, result.to_json())
    if not options.json:
        simulate_tables.show(scenario, result, options.levels)
    return 0


def _check_together(options: argparse.Namespace) -> None:
    if options.records and Path(options.records).suffix not in (".parquet", ".csv"):
        raise InputError(f"--records must end in .parquet or .csv; got {options.records!r}")
    if options.best is not None and not options.compare:
        raise InputError("--best must come with the policies to choose from; got none. Add --compare POLICY")
    if options.timeline and not options.timeline.endswith(".svg"):
        raise InputError(f"--timeline must end in .svg; got {options.timeline!r}")
    if options.trace and options.precision is not None:
        raise InputError("--precision must be left out with --trace; a trace has the length that it has")


def _simulate(scenario: Scenario, options: argparse.Namespace) -> SimulationResult:
    from crawltwin.store import Store
    from simulate import simulate

    with _watching(options) as watch:
        return simulate(
            scenario,
            pages=options.pages,
            time=options.time,
            replications=options.replications,
            seed=options.seed,
            engine=options.engine,
            confidence=options.confidence,
            precision=options.precision,
            measures=options.measure,
            budget=options.budget,
            warmup=options.warmup,
            start=arguments.numbers(options.start, "--start", float) if options.start else None,
            records=bool(options.records),
            workers=options.workers,
            cluster=options.cluster,
            store=Store(options.resume) if options.resume else None,
            progress=watch,
        )


def _replay(scenario: Scenario, options: argparse.Namespace) -> SimulationResult:
    from simulate import RecordedTrace, replay

    return replay(
        scenario,
        RecordedTrace.read(options.trace),
        processing_rate=options.processing_rate,
        recorded_robots=options.recorded_robots,
        replications=options.replications,
        seed=options.seed,
        engine=options.engine,
        confidence=options.confidence,
        warmup=options.warmup or 0.0,
        records=bool(options.records),
    )


def _coverage(scenario: Scenario, options: argparse.Namespace) -> int:
    from simulate import closed_form, coverage, is_birth_death

    if is_birth_death(scenario):
        truth, source = closed_form(scenario), "closed form"
    else:
        from analytic import solve

        solved = solve(scenario).measures
        truth, source = {name: solved[name] for name in SCALAR_MEASURES if solved.get(name) is not None}, "solved chain"
    with progress("coverage", quiet=options.json) as update:
        found = coverage(
            scenario,
            truth,
            experiments=options.coverage,
            replications=_given(options.replications, 20),
            pages=_given(options.pages, 2000),
            seed=options.seed,
            confidence=options.confidence,
            workers=options.workers,
            cluster=options.cluster,
            progress=update,
        )
    _answer(options, {**found.to_json(), "truth": source})
    if not options.json:
        simulate_tables.show_coverage(found, source)
    return 0 if found.agrees else 1


def _compare(scenario: Scenario, options: argparse.Namespace) -> int:
    from simulate import RecordedTrace, compare, select_best

    own = scenario.policy_in_force
    first = options.policy or "the scenario's own"
    policies = {first: own} | {text: arguments.read_policy(text) for text in options.compare}
    if options.best is not None:
        choice = select_best(
            scenario,
            policies,
            indifference=options.best,
            measure=(options.measure or ["cost"])[0],
            confidence=options.confidence,
            pages=_given(options.pages, 20_000),
            seed=options.seed,
            workers=_given(options.workers, 1),
            cluster=options.cluster,
        )
        _answer(options, choice.to_json())
        if not options.json:
            simulate_tables.show_choice(choice)
        return 0
    replayed: dict[str, Any] = {}
    if options.trace:
        replayed = {
            "trace": RecordedTrace.read(options.trace),
            "processing_rate": options.processing_rate,
            "recorded_robots": options.recorded_robots,
        }
    with progress("comparing", quiet=options.json) as update:
        found = compare(
            scenario,
            policies,
            pages=options.pages,
            time=options.time,
            replications=_given(options.replications, 20),
            seed=options.seed,
            confidence=options.confidence,
            workers=_given(options.workers, 1),
            cluster=options.cluster,
            progress=update,
            **replayed,
        )
    _answer(options, found.to_json())
    if not options.json:
        simulate_tables.show_comparison(found)
    return 0


def _timeline(scenario: Scenario, options: argparse.Namespace) -> int:
    from simulate import timeline
    from validate.report.timeline import timeline_figure

    between = arguments.numbers(options.between, "--between", float)
    if len(between) != 2:
        raise InputError(f"--between must be two moments, T0,T1; got {options.between!r}")
    events = timeline(scenario, begin=between[0], end=between[1], seed=options.seed)
    figure = timeline_figure(events, scenario.capacity, between[1])
    save(options.timeline, figure.svg)
    _answer(options, {"events": events.to_dict(orient="records"), "words": figure.alternative})
    if not options.json:
        console().print(figure.alternative, markup=False)
    return 0


def _answer(options: argparse.Namespace, answer: dict[str, Any]) -> None:
    if options.out:
        save(options.out, to_json(answer))
    if options.json:
        print_json(answer)


def _save_records(path: str, result: SimulationResult) -> None:
    from crawltwin.model.files import write_whole

    assert result.records is not None
    buffer = io.BytesIO()
    if path.endswith(".parquet"):
        result.records.to_parquet(buffer, index=False)
    else:
        result.records.to_csv(buffer, index=False)
    write_whole(path, buffer.getvalue())
    complain([f"wrote {len(result.records):,} records to {path}"])


@contextmanager
def _watching(options: argparse.Namespace) -> Iterator[Callable[[Progress], None]]:
    """Progress on standard error: replications, events a second, time left, the widest interval so far."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console(error=True),
        transient=True,
        disable=options.json,
    )
    task = bar.add_task("simulating", total=None)
    shown = False

    def watch(state: Progress) -> None:
        nonlocal shown
        if not shown and state.seconds > 1:
            bar.start()
            shown = True
        words = f"{state.done}/{state.planned} runs, {state.rate / 1e6:.2f} M events/s, {state.seconds_left:.0f} s left"
        if state.half_widths:
            worst = max(state.half_widths, key=lambda name: state.half_widths[name])
            words += f", ±{state.half_widths[worst]:.2%} {worst}"
        bar.update(task, completed=state.done, total=state.planned, description=words)

    try:
        yield watch
    finally:
        if shown:
            bar.stop()


def _given(value: int | None, otherwise: int) -> int:
    """What was asked for, 0 included: it is refused where it makes no sense."""
    return otherwise if value is None else value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number; got {text!r}") from None


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number; got {text!r}") from None
