"""`crawltwin simulate`: the same crawler, event by event, with intervals."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawltwin.cli.options import (
    add_output,
    add_policy,
    add_scenario,
    add_settings,
    check_heeded,
    given,
    numbers,
    read_scenario,
    real,
    settings,
    whole,
)
from crawltwin.cli.output import hand_out, save, say
from crawltwin.cli.terminal.progress_line import progress
from crawltwin.model.errors import InputError

if TYPE_CHECKING:
    from crawltwin.model import Scenario
    from simulate import Progress, SimulationResult

EPILOG = """examples:
  crawltwin simulate paper.toml
  crawltwin simulate paper.toml --precision 0.01            until every interval is within one percent
  crawltwin simulate paper.toml --replications 1 --pages 1000000       one long run, batch means
  crawltwin simulate paper.toml --records pages.parquet     one record per page
  crawltwin simulate paper.toml --compare 4,1@1 --compare 3            policies on common random numbers
  crawltwin simulate paper.toml --compare 4,1@1 --compare 3 --best 0.5           the best one, within 0.5 of cost
  crawltwin simulate paper.toml --trace batches.csv         recorded batches in place of the robots
  crawltwin simulate paper.toml --rare --precision 0.05     the loss probability where losses are rare
  crawltwin simulate mm1k.toml --coverage 1000              do the intervals cover what they claim?

Ctrl-C prints what is known so far. Same scenario and seed: same numbers, whatever the number of workers.
"""

BETWEEN = "0,100"
ALWAYS = ("scenario", "policy")
WITH_TRACE = ("trace", "recorded_robots", "processing_rate")
_WORK = ("seed", "confidence", "workers", "cluster")
MODES = {
    "timeline": ("between", "seed"),
    "rare": ("replications", "pages", "precision", "resume", *_WORK),
    "coverage": ("replications", "pages", *_WORK),
    "best": ("compare", "measures", "pages", *_WORK),
    "compare": ("pages", "time", "replications", *_WORK),
    "trace": (*WITH_TRACE, "replications", "seed", "confidence", "engine", "warmup", "levels", "records"),
}
"""Each question but the usual one, the first that was asked, with the options that it heeds beside `ALWAYS`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from simulate.sample.settings import SimulationSettings

    add_scenario(parser)
    add_policy(parser)
    add_settings(parser, SimulationSettings)
    parser.add_argument("--resume", metavar="DIR", help="keep finished replications there, and go on from them")
    other = parser.add_argument_group("other questions")
    other.add_argument(
        "--trace",
        metavar="FILE",
        help="replay these batches (CSV or Parquet: time, pages, robot; or pages: time, bytes, batch)",
    )
    other.add_argument("--processing-rate", type=real, metavar="R", help="with --trace: bytes indexed per unit of time")
    other.add_argument("--recorded-robots", type=whole, metavar="N", help="with --trace: robots that made it")
    other.add_argument(
        "--compare", action="append", metavar="POLICY", help="compare this policy with the scenario's own; repeatable"
    )
    other.add_argument(
        "--best", type=real, metavar="D", help="with --compare: select the policy of least cost, up to a difference D"
    )
    other.add_argument(
        "--coverage", type=whole, metavar="N", help="repeat N times: how often do intervals hold the truth?"
    )
    other.add_argument(
        "--rare", action="store_true", help="the loss probability by splitting on the level, down to 1e-9 and below"
    )
    other.add_argument("--timeline", metavar="FILE.svg", help="draw level, robots and losses over a stretch of time")
    other.add_argument("--between", default=BETWEEN, metavar="T0,T1", help="that stretch (default 0,100)")
    show = parser.add_argument_group("output")
    show.add_argument("--levels", action="store_true", help="show the probability of each number of pages")
    show.add_argument("--records", metavar="FILE", help="write one record per page, .parquet or .csv")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Simulate and show."""
    _check_together(options)
    scenario = read_scenario(options.scenario, options.policy)
    if options.timeline:
        return _timeline(scenario, options)
    if options.rare:
        return _rare(scenario, options)
    if options.coverage is not None:
        return _coverage(scenario, options)
    if options.best is not None:
        return _select(scenario, options)
    if options.compare:
        return _compare(scenario, options)
    result = _replay(scenario, options) if options.trace else _simulate(scenario, options)
    if options.records:
        _save_records(options.records, result)

    def show() -> None:
        from crawltwin.cli.tables.simulate import show_result

        show_result(scenario, result, options.levels)

    hand_out(options, result.to_json(), show)
    return 0


def _check_together(options: argparse.Namespace) -> None:
    if options.records and Path(options.records).suffix not in (".parquet", ".csv"):
        raise InputError(f"--records must end in .parquet or .csv; got {options.records!r}")
    if options.best is not None and not options.compare:
        raise InputError("--best must come with the policies to choose from; got none. Add --compare POLICY")
    if options.timeline and not options.timeline.endswith(".svg"):
        raise InputError(f"--timeline must end in .svg; got {options.timeline!r}")
    mode = next((name for name in MODES if getattr(options, name) not in (None, False)), None)
    if mode is None:
        _check_plain(options)
        return
    heeded = {*ALWAYS, mode, *MODES[mode]}
    if mode == "compare" and options.trace:  # a trace has the length that it has
        heeded = {*heeded, *WITH_TRACE} - {"pages", "time", "replications"}
    check_heeded(options, add_arguments, f"--{mode}{' on a --trace' if 'trace' in heeded - {mode} else ''}", heeded)
    if mode == "best" and len(options.measures or ()) > 1:
        raise InputError(f"--measure must be one with --best; got {', '.join(options.measures)}")
    if mode == "rare" and options.pages is not None and options.precision is not None:
        raise InputError("--precision must be left out with --pages, which says how long to run; got both")


def _check_plain(options: argparse.Namespace) -> None:
    idle = [f"--{name.replace('_', '-')}" for name in WITH_TRACE[1:] if getattr(options, name) is not None]
    if idle:
        raise InputError(f"{' and '.join(idle)} must come with --trace FILE; got none")
    if options.between != BETWEEN:
        raise InputError("--between must come with --timeline FILE.svg; got none")


def _simulate(scenario: Scenario, options: argparse.Namespace) -> SimulationResult:
    from crawltwin.work.store import Store
    from simulate import SimulationSettings, simulate

    with progress("simulating", options, after=1.0) as update:
        return simulate(
            scenario,
            settings(options, SimulationSettings, records=bool(options.records)),
            store=Store(options.resume) if options.resume else None,
            progress=lambda state: update(state.done, state.planned, _in_words(state)),
        )


def _chosen(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Those of the settings named that were given on the command line."""
    from simulate import SimulationSettings

    return {name: value for name, value in given(options, SimulationSettings).items() if name in names}


def _in_words(state: Progress) -> str:
    """Replications, events per second, the widest interval so far."""
    words = f"{state.done} of {state.planned} runs, {state.rate / 1e6:.2f} M events/s"
    if state.half_widths:
        worst = max(state.half_widths, key=lambda name: state.half_widths[name])
        words += f", ±{state.half_widths[worst]:.2%} {worst}"
    return words


def _replay(scenario: Scenario, options: argparse.Namespace) -> SimulationResult:
    from simulate import RecordedTrace, replay

    return replay(
        scenario,
        RecordedTrace.read(options.trace),
        processing_rate=options.processing_rate,
        recorded_robots=options.recorded_robots,
        records=bool(options.records),
        **_chosen(options, *MODES["trace"]),
    )


def _rare(scenario: Scenario, options: argparse.Namespace) -> int:
    from crawltwin.work.store import Store
    from simulate import rare_loss

    with progress("splitting", options, after=1.0) as update:
        found = rare_loss(
            scenario,
            **_chosen(options, *MODES["rare"]),
            store=Store(options.resume) if options.resume else None,
            progress=update,
        )

    def show() -> None:
        from crawltwin.cli.tables.simulate import show_rare_loss

        show_rare_loss(found)

    hand_out(options, found.to_json(), show)
    return 0


def _coverage(scenario: Scenario, options: argparse.Namespace) -> int:
    from simulate import closed_form, coverage, is_birth_death

    if is_birth_death(scenario):
        truth, source = closed_form(scenario), "closed form"
    else:
        from analytic import solve
        from crawltwin.model import SCALAR_MEASURES

        solved = solve(scenario).measures
        truth, source = {name: solved[name] for name in SCALAR_MEASURES if solved.get(name) is not None}, "solved chain"
    with progress("coverage", options) as update:
        found = coverage(
            scenario,
            truth,
            experiments=options.coverage,
            **_chosen(options, *MODES["coverage"]),
            progress=update,
        )

    def show() -> None:
        from crawltwin.cli.tables.simulate import show_coverage

        show_coverage(found, source)

    hand_out(options, {**found.to_json(), "truth": source}, show)
    return 0 if found.agrees else 1


def _policies(scenario: Scenario, options: argparse.Namespace) -> dict[str, Any]:
    from crawltwin.model import ThresholdPolicy

    own = options.policy or "the scenario's own"
    others = {text: ThresholdPolicy.from_text(text, "--compare") for text in options.compare}
    return {own: scenario.policy_in_force} | others


def _select(scenario: Scenario, options: argparse.Namespace) -> int:
    from simulate import select_best

    choice = select_best(
        scenario,
        _policies(scenario, options),
        indifference=options.best,
        measure=(options.measures or ["cost"])[0],
        **_chosen(options, "pages", *_WORK),
    )

    def show() -> None:
        from crawltwin.cli.tables.simulate import show_choice

        show_choice(choice)

    hand_out(options, choice.to_json(), show)
    return 0


def _compare(scenario: Scenario, options: argparse.Namespace) -> int:
    from simulate import RecordedTrace, compare

    replayed: dict[str, Any] = {}
    if options.trace:
        replayed = {
            "trace": RecordedTrace.read(options.trace),
            "processing_rate": options.processing_rate,
            "recorded_robots": options.recorded_robots,
        }
    with progress("comparing", options) as update:
        found = compare(
            scenario,
            _policies(scenario, options),
            **_chosen(options, *MODES["compare"]),
            progress=update,
            **replayed,
        )

    def show() -> None:
        from crawltwin.cli.tables.simulate import show_comparison

        show_comparison(found)

    hand_out(options, found.to_json(), show)
    return 0


def _timeline(scenario: Scenario, options: argparse.Namespace) -> int:
    from crawltwin.pages.timeline import timeline_figure
    from simulate import timeline

    between = numbers(options.between, "--between", float)
    if len(between) != 2:
        raise InputError(f"--between must be two moments, T0,T1; got {options.between!r}")
    events = timeline(scenario, begin=between[0], end=between[1], **_chosen(options, "seed"))
    figure = timeline_figure(events, scenario.capacity, between[1])
    save(options.timeline, figure.svg)
    answer = {"events": events.to_dict(orient="records"), "words": figure.alternative}
    hand_out(options, answer, lambda: say(figure.alternative))
    return 0


def _save_records(path: str, result: SimulationResult) -> None:
    assert result.records is not None
    buffer = io.BytesIO()
    if path.endswith(".parquet"):
        result.records.to_parquet(buffer, index=False)
    else:
        result.records.to_csv(buffer, index=False)
    save(path, buffer.getvalue())
