"""Table 1: the best thresholds and cost of every set of robots."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from analytic import PolicyCost
from validate.paper.judging.cells import PrintedPolicy, judge_number, judge_policy
from validate.paper.judging.finding import Finding, TableCell
from validate.paper.judging.landscape import Landscape
from validate.paper.judging.neighbours import NearbyValue
from validate.paper.printed.source import PrintedTable, robots_of, table
from validate.paper.printed.systems import first_example


def findings() -> tuple[Finding, ...]:
    """One finding per cell. Cost: milliseconds."""
    printed, landscape = table(1), Landscape.of(first_example())
    found: list[Finding] = []
    for row, (robots, thresholds, _) in enumerate(printed.rows):
        used, cost = robots_of(robots), printed.number(row, "cost")
        best = landscape.best_of(used)
        if len(used) > 1:
            cell = TableCell(1, robots, "thresholds")
            found += judge_policy(PrintedPolicy(robots, thresholds, cost, cell), landscape)
        near, proof = _neighbours(printed, landscape, row), partial(_proof, landscape, best)
        found.append(judge_number(TableCell(1, robots, "cost"), cost, best.cost, near, proof))
    return tuple(found)


def _proof(landscape: Landscape, best: PolicyCost) -> str:
    again = landscape.solved_again(best.robots, best.thresholds)
    return f"Ours is the cost of {best.policy.phrase}; by another method it is {again:.4f}."


def _neighbours(printed: PrintedTable, landscape: Landscape, row: int) -> Iterator[NearbyValue]:
    others = sorted((other for other in range(len(printed.rows)) if other != row), key=lambda other: abs(other - row))
    for other in others:
        best = landscape.best_of(robots_of(printed.text(other, "robots")))
        near = {1: "the next row", -1: "the row above"}.get(other - row, "another row")
        adjacent = abs(other - row) == 1
        words = f"those of {near}, {printed.text(other, 'robots')} ({best.cost:.4f})"
        yield NearbyValue("row" if adjacent else "other row", words, best.cost, next_row=adjacent)
    for one in landscape.every():
        yield NearbyValue("other policy", f"the cost of {one.policy.phrase} ({one.cost:.4f})", one.cost)
