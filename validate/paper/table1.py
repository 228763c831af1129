"""Table 1: the best thresholds and cost of every set of robots."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from validate.paper.base import first_example
from validate.paper.cells import judge_number, judge_policy
from validate.paper.finding import Finding
from validate.paper.landscape import Costed, Landscape
from validate.paper.neighbours import Candidate
from validate.paper.source import PrintedTable, robots_of, table


def judge() -> tuple[Finding, ...]:
    """A finding a cell. Cost: milliseconds."""
    printed, landscape = table(1), Landscape.of(first_example())
    findings: list[Finding] = []
    for row, (robots, thresholds, _) in enumerate(printed.rows):
        used, cost = robots_of(robots), printed.number(row, "cost")
        best = landscape.best_of(used)
        if len(used) > 1:
            findings += judge_policy(printed.name, robots, robots, thresholds, cost, landscape, ("thresholds",))
        near, proof = _neighbours(printed, landscape, row), partial(_proof, landscape, best)
        findings.append(judge_number(printed.name, f"{robots}, cost", cost, best.cost, near, proof))
    return tuple(findings)


def _proof(landscape: Landscape, best: Costed) -> str:
    again = landscape.solved_again(best.robots, best.thresholds)
    return f"Ours is the cost of {best.words}; by another method it is {again:.4f}."


def _neighbours(printed: PrintedTable, landscape: Landscape, row: int) -> Iterator[Candidate]:
    others = sorted((other for other in range(len(printed.rows)) if other != row), key=lambda other: abs(other - row))
    for other in others:
        best = landscape.best_of(robots_of(printed.text(other, "robots")))
        near = {1: "the next row", -1: "the row above"}.get(other - row, "another row")
        kind = "row" if abs(other - row) == 1 else "other row"
        yield Candidate(kind, f"those of {near}, {printed.text(other, 'robots')} ({best.cost:.4f})", best.cost)
    for policy in landscape.every():
        yield Candidate("other policy", f"the cost of {policy.words} ({policy.cost:.4f})", policy.cost)
