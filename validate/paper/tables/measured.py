r"""The measured crawler and Table 5, whose inputs are printed with two to four digits.

The printed D_0 and A do not fit together: their rows do not sum to zero. The true inputs lie in the box that rounding
allows, *and* on the plane where rows sum to zero. Seven numbers are free there: two entries of A directly, two through
the overlap of the ranges that A and D_0 leave them, one service weight and two service rates. The box is the unit cube
of these seven.

- **Interval**: the least and largest cost over the corners of the cube, for each printed policy. The cost is continuous
  and the cube is connected, so every value between is reached by inputs that round to the printed ones; the interval
  is certain to be allowed, and the full range may be a little wider.
- **Witness**: one point of the cube that comes closest to all printed costs at once (bounded least squares). If it
  meets them to the last digit, the table is reproduced by inputs that round to the printed ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from analytic.policy.tables import costs_of_tables, table_of
from crawltwin.model import BMAP, CostWeights, ScaledStream, Scenario, exponential, hyperexponential
from validate.paper.judging.cells import PrintedPolicy, judge_policy
from validate.paper.judging.finding import Finding, TableCell, TextPlace
from validate.paper.judging.landscape import Landscape
from validate.paper.printed.number import Printed
from validate.paper.printed.source import paper, robots_of, table, thresholds_of

Vector = npt.NDArray[np.float64]
FREE = ("A_11", "A_12", "A_21", "A_22", "first service weight", "first service rate", "second service rate")


@dataclass(frozen=True)
class Range:
    """What a printed number may have been before it was rounded, either way: one unit wide around it."""

    low: float
    high: float

    @classmethod
    def of(cls, text: str) -> Range:
        """From the printed text."""
        printed = Printed(text.lstrip("-"))
        half = float(printed.unit) / 2
        return cls(float(printed.value) - half, float(printed.value) + half)

    def meet(self, low: float, high: float) -> Range:
        """The common part with another range."""
        return Range(max(self.low, low), min(self.high, high))

    def at(self, t: float) -> float:
        """A point of the range, t in [0, 1]."""
        return self.low + (self.high - self.low) * t


@dataclass(frozen=True)
class Inputs:
    """A, service weight and rates of the measured crawler; D_0 follows from A."""

    A: tuple[tuple[float, float], tuple[float, float]]
    weight: float
    rates: tuple[float, float]

    def scenario(self) -> Scenario:
        """The system with these inputs."""
        given: Mapping[str, Any] = paper()["measured"]
        A, sizes = np.array(self.A), [float(text) for text in given["batch_sizes"]]
        stream = BMAP([np.diag(-A.sum(axis=1) * sum(sizes)), *[d * A for d in sizes]])
        return Scenario(
            title="measured crawler",
            capacity=given["capacity"],
            arrivals=ScaledStream(stream, given["robots"]),
            service=hyperexponential([self.weight, 1 - self.weight], list(self.rates)),
            obsolescence=exponential(1 / float(given["obsolescence_rate"])),
            cost=CostWeights(**given["cost"]),
        )


def from_A() -> Inputs:
    """A as printed, D_0 repaired."""
    given = paper()["measured"]
    (a, b), (c, d) = [[float(text) for text in row] for row in given["A"]]
    weight = float(given["service_weights"][0])
    return Inputs(((a, b), (c, d)), weight, (float(given["service_rates"][0]), float(given["service_rates"][1])))


def from_D0() -> Inputs:
    """D_0 as printed, the diagonal of A repaired."""
    given, base = paper()["measured"], from_A()
    (_, b), (c, _) = base.A
    first, second = -float(given["D_0"][0][0]), -float(given["D_0"][1][1])
    return Inputs(((first - b, b), (c, second - c)), base.weight, base.rates)


def in_box(t: Sequence[float] | Vector) -> Inputs:
    """The point of the box with coordinates t in [0, 1]^7: inputs that round to every printed one."""
    given = paper()["measured"]
    A, D0 = given["A"], given["D_0"]
    b, c = Range.of(A[0][1]).at(t[1]), Range.of(A[1][0]).at(t[2])
    out1, out2 = Range.of(D0[0][0]), Range.of(D0[1][1])
    a = Range.of(A[0][0]).meet(out1.low - b, out1.high - b).at(t[0])
    d = Range.of(A[1][1]).meet(out2.low - c, out2.high - c).at(t[3])
    first, second = (Range.of(text) for text in given["service_rates"])
    return Inputs(((a, b), (c, d)), Range.of(given["service_weights"][0]).at(t[4]), (first.at(t[5]), second.at(t[6])))


def row_sums() -> tuple[float, float]:
    """Row sums of the printed D_0 + A, which should be zero."""
    given = paper()["measured"]
    total = np.array([[float(x) for x in row] for row in given["D_0"]]) + np.array(
        [[float(x) for x in row] for row in given["A"]]
    )
    first, second = total.sum(axis=1).tolist()
    return first, second


def policies() -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """The different policies of Table 5, in its order."""
    rows = [(robots_of(row[0]), thresholds_of(row[1])) for row in table(5).rows]
    seen: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for robots, thresholds in rows:
        seen.setdefault(_levels(robots, thresholds), (robots, thresholds))
    return tuple(seen.values())


def costs(inputs: Inputs) -> Vector:
    """Cost of each of `policies`. Cost of the call: about 50 ms."""
    scenario = inputs.scenario()
    assert scenario.cost is not None
    tables = np.array([_levels(*policy) for policy in policies()], dtype=np.int64)
    return np.asarray(costs_of_tables(scenario, tables))


def printed_costs() -> Vector:
    """What Table 5 prints for each of `policies`."""
    rows = {_levels(robots_of(r), thresholds_of(j)): float(cost) for r, j, cost in table(5).rows}
    return np.array([rows[_levels(*policy)] for policy in policies()])


@dataclass(frozen=True)
class Box:
    """What the rounding of the inputs allows.

    Parameters
    ----------
    low, high : tuple of float
        The interval of each cost, in the order of `policies`.
    witness : Inputs
        The inputs in the box that come closest to the printed costs.
    witness_costs : tuple of float
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    witness: Inputs
    witness_costs: tuple[float, ...]


@cache
def box() -> Box:
    """Corners and witness. Cost: about 15 s on one core, 250 evaluations."""
    corners = list(product((0.0, 1.0), repeat=len(FREE)))
    at = np.array([costs(in_box(corner)) for corner in corners])
    found = least_squares(
        _distance, [0.5] * len(FREE), bounds=(0, 1), xtol=1e-12, ftol=1e-10, diff_step=[1e-4] * len(FREE), max_nfev=12
    )
    # Four digits are plenty, and the same on every machine.
    witness = in_box(np.round(found.x, 4))
    low, high = at.min(axis=0).tolist(), at.max(axis=0).tolist()
    return Box(tuple(low), tuple(high), witness, tuple(costs(witness).tolist()))


def _distance(t: Vector) -> Vector:
    return costs(in_box(t)) - printed_costs()


def findings() -> tuple[Finding, ...]:
    """The rows of Table 5, and the matrices that do not fit together."""
    printed, found = table(5), box()
    order = {_levels(*policy): index for index, policy in enumerate(policies())}
    landscape = Landscape.of(found.witness.scenario())
    plain = costs(from_A())
    results = [_matrices(found)]
    for row, (robots, thresholds, text) in enumerate(printed.rows):
        used = robots_of(robots)
        index = order[_levels(used, thresholds_of(thresholds))]
        cost = printed.number(row, "cost")
        if len(used) > 1:
            cell = TableCell(5, robots, "thresholds")
            results += judge_policy(PrintedPolicy(robots, thresholds, cost, cell), landscape)
        low, high, met = found.low[index], found.high[index], found.witness_costs[index]
        inside, how = low <= float(text) <= high, cost.agreement(met)
        words = (
            f"With A as printed it is {plain[index]:.2f}; the rounding of the inputs allows {low:.2f} to {high:.2f}, "
            f"which {'holds' if inside else 'does not hold'} the printed value. One set of inputs that rounds to every "
            f"printed one gives {met:.4f} here and meets all of the table."
        )
        results.append(
            Finding(
                TableCell(5, robots, "cost"),
                text,
                f"{met:.4f}",
                "reproduced" if inside and how else "not reproducible",
                "within the rounding of the inputs" if inside and how else "outside the rounding of the inputs",
                words,
                met,
            )
        )
    return tuple(results)


def _matrices(found: Box) -> Finding:
    first, second = row_sums()
    sides = [np.abs(costs(inputs) / printed_costs() - 1).max() for inputs in (from_A(), from_D0())]
    (a, b), (c, d) = found.witness.A
    given, gaps = paper()["measured"], found.witness.scenario().arrivals.mode(1)
    worst = np.abs(np.array(found.witness_costs) - printed_costs()).max()
    return Finding(
        TextPlace("section 7, measured data", "D_0 and A of the measured crawler"),
        "D_0 = diag(-0.0038, -0.0066), A = (0.0037, 6.58e-5; 1.3e-4, 0.0064)",
        f"A = ({a:.6f}, {b:.4g}; {c:.4g}, {d:.6f}), D_0 from its row sums",
        "misprint",
        "rounded inputs",
        f"The rows of D_0 + A sum to {first:.3g} and {second:.3g}, not to 0: the entries were rounded. With either "
        f"side repaired from the other, Table 5 is met to {100 * sides[0]:.2f}% (A kept) or {100 * sides[1]:.2f}% (D_0 "
        "kept). But inputs exist that round to every printed one, have row sums zero and meet all costs of Table 5 "
        f"within {worst:.4f}: those given here, with service weight {found.witness.weight:.5f} and service rates "
        f"{found.witness.rates[0]:.6f} and {found.witness.rates[1]:.5f}. This is weak evidence: {len(FREE)} numbers "
        f"were fitted to {len(found.low)} costs, some lie at the edge of their rounding, and the mean gap "
        f"{1 / gaps.batch_rate:.2f} and variance {gaps.interval_variance:.0f} they give are not the printed "
        f"{given['gap_mean']} and {given['gap_variance']}.",
    )


def _levels(robots: tuple[int, ...], thresholds: tuple[int, ...]) -> tuple[int, ...]:
    return table_of(robots, thresholds, paper()["measured"]["capacity"])
