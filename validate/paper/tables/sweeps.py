"""Tables 2, 3 and 4: one parameter varied, the best policy against every fixed number of robots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from crawltwin.model import Scenario
from validate.paper.judging.cells import PrintedPolicy, judge_number, judge_policy
from validate.paper.judging.finding import Finding, TableCell
from validate.paper.judging.landscape import Landscape
from validate.paper.judging.neighbours import NearbyValue
from validate.paper.printed.source import PrintedTable, robots_of, table
from validate.paper.printed.systems import with_capacity, with_obsolescence_scaled, with_service_scaled

_BEST = "C*"
_FIXED = {"C_1": 1, "C_2": 2, "C_3": 3, "C_4": 4}
"""Columns of costs: of the best policy, and of a fixed number of robots."""
_COSTS = (_BEST, *_FIXED)
_ROW_BELOW = "row below"


@dataclass(frozen=True)
class VariedTable:
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
    VariedTable(2, "K", lambda value: with_capacity(int(value))),
    VariedTable(3, "s", with_service_scaled, mean="b_1"),
    VariedTable(4, "s", with_obsolescence_scaled, mean="g_1"),
)


def findings(sweep: VariedTable) -> tuple[Finding, ...]:
    """One finding per cell, then the columns that slipped as a whole. Cost: under a second per table."""
    printed = sweep.printed
    landscapes = [Landscape.of(sweep.scenario(row)) for row in range(len(printed.rows))]
    found: list[Finding] = []
    for row, landscape in enumerate(landscapes):
        name = f"{sweep.parameter} = {printed.text(row, sweep.parameter)}"
        if sweep.mean:
            ours = _mean(sweep, landscape.scenario)
            cell = TableCell(sweep.number, name, sweep.mean)
            found.append(judge_number(cell, printed.number(row, sweep.mean), ours))
        found += _policy(sweep, row, name, landscape)
        for column in _COSTS:
            ours = _value(landscape, column)
            proof = partial(_proof, printed, row, column, landscape)
            number = printed.number(row, column)
            near = _neighbours(printed, landscapes, row, column)
            found.append(judge_number(TableCell(sweep.number, name, column), number, ours, near, proof))
        found.append(_profit(sweep, row, name, landscape))
    return tuple(_slipped(found))


def _policy(sweep: VariedTable, row: int, name: str, landscape: Landscape) -> tuple[Finding, ...]:
    printed = sweep.printed
    given = "robots" in printed.columns
    # Tables 2 and 4 say in the text that one and three robots are meant throughout.
    robots = printed.text(row, "robots") if given else "1,3"
    policy = PrintedPolicy(
        robots,
        printed.text(row, "j*"),
        printed.number(row, _BEST),
        TableCell(sweep.number, name, "j*"),
        TableCell(sweep.number, name, "robots") if given else None,
    )
    return judge_policy(policy, landscape)


def _profit(sweep: VariedTable, row: int, name: str, landscape: Landscape) -> Finding:
    """R agrees with our costs, or with the rounded costs in its own row, from which it may have been computed."""
    printed, cell = sweep.printed, TableCell(sweep.number, name, "R")
    number = printed.number(row, "R")
    from_row = 100 * (1 - _as_float(printed, row, _BEST) / _cheapest(printed, row))
    ours = judge_number(cell, number, landscape.profit)
    if ours.verdict == "reproduced" or not number.agreement(from_row):
        return judge_number(
            cell,
            number,
            landscape.profit,
            [NearbyValue("no control", "no profit at all", 0.0)],
            lambda: f"The costs printed in the same row give {from_row:.2f} too.",
        )
    return replace(ours, verdict="reproduced", how="from the printed costs", words="")


def _value(landscape: Landscape, column: str) -> float:
    return landscape.best.cost if column == _BEST else landscape.fixed[_FIXED[column]]


def _mean(sweep: VariedTable, scenario: Scenario) -> float:
    if sweep.mean == "b_1":
        return scenario.service.mean
    assert scenario.obsolescence is not None
    return scenario.obsolescence.mean


def _proof(printed: PrintedTable, row: int, column: str, landscape: Landscape) -> str:
    best = landscape.best
    robots, thresholds = (best.robots, best.thresholds) if column == _BEST else ((_FIXED[column],), ())
    words = f"By another method ours is {landscape.solved_again(robots, thresholds):.4f}."
    return words + _consistency(printed, row, column, _value(landscape, column))


def _consistency(printed: PrintedTable, row: int, column: str, ours: float) -> str:
    """Whether the profit printed in the row belongs to our value or to the printed one."""
    if column != _BEST:
        return ""
    profit = printed.number(row, "R")
    cheapest = _cheapest(printed, row)
    from_ours, from_print = 100 * (1 - ours / cheapest), 100 * (1 - _as_float(printed, row, column) / cheapest)
    return (
        f" The profit printed in the row, {profit.text}%, is that of our value ({max(from_ours, 0.0):.2f}%), not of "
        f"the printed one ({from_print:.2f}%)."
        if profit.agreement(max(from_ours, 0.0)) and not profit.agreement(from_print)
        else ""
    )


def _neighbours(printed: PrintedTable, landscapes: list[Landscape], row: int, column: str) -> Iterator[NearbyValue]:
    parameter = printed.columns[0]
    for step, kind in ((1, _ROW_BELOW), (-1, "row above")):
        if 0 <= row + step < len(landscapes):
            value = _value(landscapes[row + step], column)
            label = f"{parameter} = {printed.text(row + step, parameter)}"
            yield NearbyValue(kind, f"those of {label} ({value:.4f})", value, next_row=True)
    for other in _COSTS:
        if other != column:
            value = _value(landscapes[row], other)
            yield NearbyValue("other column", f"those of {other} ({value:.4f})", value)
    here = landscapes[row]
    said = robots_of(printed.text(row, "robots")) if "robots" in printed.columns else (3, 1)
    for one in sorted(here.every(), key=lambda item: (item.robots != said, len(item.robots))):
        yield NearbyValue("other policy", f"the cost of {one.policy.phrase} ({one.cost:.4f})", one.cost)


def _slipped(found: list[Finding]) -> Iterator[Finding]:
    """Where several cells of a column, one below the other, hold the next row's values, say that the column slipped."""
    moved = defaultdict(list)
    for item in found:
        if item.how == _ROW_BELOW and isinstance(item.place, TableCell):
            moved[item.place.column].append(item.place.row)
    for item in found:
        rows = moved[item.place.column] if isinstance(item.place, TableCell) else []
        if item.how == _ROW_BELOW and len(rows) > 1:
            words = f"{item.words} The column slipped by one row at {'; '.join(rows)}."
            item = replace(item, how="column slipped by a row", words=words)
        yield item


def _cheapest(printed: PrintedTable, row: int) -> float:
    """The printed cost of the best fixed number of robots."""
    return min(_as_float(printed, row, column) for column in _FIXED)


def _as_float(printed: PrintedTable, row: int, column: str) -> float:
    return float(printed.text(row, column))
