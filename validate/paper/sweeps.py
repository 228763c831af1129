"""Tables 2, 3 and 4: one parameter varied, the best policy against every fixed number of robots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from crawltwin.model import Scenario
from validate.paper.base import with_capacity, with_obsolescence_scaled, with_service_scaled
from validate.paper.cells import judge_number, judge_policy
from validate.paper.finding import Finding
from validate.paper.landscape import Landscape
from validate.paper.neighbours import Candidate
from validate.paper.source import PrintedTable, robots_of, table

_COSTS = ("C*", "C_1", "C_2", "C_3", "C_4")


@dataclass(frozen=True)
class Sweep:
    """What a table varies."""

    number: int
    parameter: str
    build: Callable[[float], Scenario]
    mean: str = ""

    @property
    def printed(self) -> PrintedTable:
        """The table as printed."""
        return table(self.number)

    def scenario(self, row: int) -> Scenario:
        """The system of one row."""
        return self.build(float(self.printed.text(row, self.parameter)))


SWEEPS = (
    Sweep(2, "K", lambda value: with_capacity(int(value))),
    Sweep(3, "s", with_service_scaled, mean="b_1"),
    Sweep(4, "s", with_obsolescence_scaled, mean="g_1"),
)


def judge(sweep: Sweep) -> tuple[Finding, ...]:
    """A finding a cell, then the columns that slipped as a whole. Cost: under a second a table."""
    printed = sweep.printed
    landscapes = [Landscape.of(sweep.scenario(row)) for row in range(len(printed.rows))]
    findings: list[Finding] = []
    for row, landscape in enumerate(landscapes):
        name = f"{sweep.parameter} = {printed.text(row, sweep.parameter)}"
        if sweep.mean:
            ours = _mean(sweep, landscape.scenario)
            findings.append(judge_number(printed.name, f"{name}, {sweep.mean}", printed.number(row, sweep.mean), ours))
        findings += _policy(sweep, row, name, landscape)
        for column in _COSTS:
            ours = _value(landscape, column)
            proof = partial(_proof, printed, row, column, landscape)
            number = printed.number(row, column)
            near = _neighbours(printed, landscapes, row, column)
            findings.append(judge_number(printed.name, f"{name}, {column}", number, ours, near, proof))
        findings.append(_profit(printed, row, name, landscape))
    return tuple(_slipped(findings))


def _policy(sweep: Sweep, row: int, name: str, landscape: Landscape) -> tuple[Finding, ...]:
    printed = sweep.printed
    given = "robots" in printed.columns
    # Tables 2 and 4 say in the text that one and three robots are meant throughout.
    robots = printed.text(row, "robots") if given else "1,3"
    cells = ("robots", "thresholds") if given else ("thresholds",)
    found = judge_policy(
        printed.name, name, robots, printed.text(row, "j*"), printed.number(row, "C*"), landscape, cells
    )
    return tuple(replace(item, what=item.what.replace("thresholds", "j*")) for item in found)


def _profit(printed: PrintedTable, row: int, name: str, landscape: Landscape) -> Finding:
    """R agrees with our costs, or with the rounded costs in its own row, from which it may have been computed."""
    number = printed.number(row, "R")
    from_row = 100 * (1 - _as_float(printed, row, "C*") / min(_as_float(printed, row, f"C_{r}") for r in range(1, 5)))
    ours = judge_number(printed.name, f"{name}, R", number, landscape.profit)
    if ours.verdict == "reproduced" or not number.agreement(from_row):
        return judge_number(
            printed.name,
            f"{name}, R",
            number,
            landscape.profit,
            [Candidate("no control", "no profit at all", 0.0)],
            lambda: f"The costs printed in the same row give {from_row:.2f} too.",
        )
    return replace(ours, verdict="reproduced", how="from the printed costs", words="")


def _value(landscape: Landscape, column: str) -> float:
    return landscape.best.cost if column == "C*" else landscape.fixed[int(column[2:])]


def _mean(sweep: Sweep, scenario: Scenario) -> float:
    if sweep.mean == "b_1":
        return scenario.service.mean
    assert scenario.obsolescence is not None
    return scenario.obsolescence.mean


def _proof(printed: PrintedTable, row: int, column: str, landscape: Landscape) -> str:
    best = landscape.best
    robots, thresholds = (best.robots, best.thresholds) if column == "C*" else ((int(column[2:]),), ())
    words = f"By another method ours is {landscape.solved_again(robots, thresholds):.4f}."
    return words + _consistency(printed, row, column, _value(landscape, column))


def _consistency(printed: PrintedTable, row: int, column: str, ours: float) -> str:
    """Whether the profit printed in the row belongs to our value or to the printed one."""
    if column != "C*":
        return ""
    profit = printed.number(row, "R")
    cheapest = min(_as_float(printed, row, f"C_{r}") for r in range(1, 5))
    from_ours, from_print = 100 * (1 - ours / cheapest), 100 * (1 - _as_float(printed, row, column) / cheapest)
    return (
        f" The profit printed in the row, {profit.text}%, is that of our value ({max(from_ours, 0.0):.2f}%), "
        "not of the "
        f"printed one ({from_print:.2f}%)."
        if profit.agreement(max(from_ours, 0.0)) and not profit.agreement(from_print)
        else ""
    )


def _neighbours(printed: PrintedTable, landscapes: list[Landscape], row: int, column: str) -> Iterator[Candidate]:
    parameter = printed.columns[0]
    for step, kind in ((1, "row below"), (-1, "row above")):
        if 0 <= row + step < len(landscapes):
            value = _value(landscapes[row + step], column)
            label = f"{parameter} = {printed.text(row + step, parameter)}"
            yield Candidate(kind, f"those of {label} ({value:.4f})", value)
    for other in _COSTS:
        if other != column:
            value = _value(landscapes[row], other)
            yield Candidate("other column", f"those of {other} ({value:.4f})", value)
    here = landscapes[row]
    said = robots_of(printed.text(row, "robots")) if "robots" in printed.columns else (3, 1)
    for policy in sorted(here.every(), key=lambda item: (item.robots != said, len(item.robots))):
        yield Candidate("other policy", f"the cost of {policy.words} ({policy.cost:.4f})", policy.cost)


def _slipped(findings: list[Finding]) -> Iterator[Finding]:
    """Where several cells of a column, one below the other, hold the next row's values, say that the column slipped."""
    for finding in findings:
        column = finding.what.rpartition(", ")[2]
        moved = [
            item.what.rpartition(", ")[0]
            for item in findings
            if item.how == "row below" and item.what.endswith(f", {column}")
        ]
        if finding.how == "row below" and len(moved) > 1:
            words = f"{finding.words} The column slipped by one row at {'; '.join(moved)}."
            finding = replace(finding, how="column slipped by a row", words=words)
        yield finding


def _as_float(printed: PrintedTable, row: int, column: str) -> float:
    return float(printed.text(row, column))
