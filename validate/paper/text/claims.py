"""The claims in the text, each put to the test by the numbers it speaks of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import brentq

from analytic import solve
from analytic.policy.tables import costs_of_tables, sorted_tables
from crawltwin.model import ThresholdPolicy
from validate.paper.figures.curves import PairCosts, figure4
from validate.paper.judging.landscape import Landscape
from validate.paper.printed.source import paper, table
from validate.paper.printed.systems import (
    first_example,
    with_capacity,
    with_obsolescence_scaled,
    with_service_scaled,
    with_service_variance,
)
from validate.paper.tables.measured import Inputs, costs, from_A, from_D0, in_box, policies


@dataclass(frozen=True)
class Claim:
    """A claim, whether it holds, and the numbers that say so."""

    name: str
    place: str
    says: str
    holds: bool
    words: str


def names() -> tuple[str, ...]:
    """The names of all claims, in the order of the paper."""
    return tuple(item["name"] for item in paper()["claims"])


def on_figure_4(name: str) -> bool:
    """Whether a claim is about the costs behind Figure 4."""
    return name in _ON_FIGURE_4


def check_claim(name: str, at: Mapping[float, PairCosts]) -> Claim:
    """Put one claim to the test; `at` holds the costs behind Figure 4, which two claims are about."""
    item = next(item for item in paper()["claims"] if item["name"] == name)
    holds, words = _ON_FIGURE_4[name](at) if name in _ON_FIGURE_4 else _CHECKS[name]()
    return Claim(name, item["place"], item["says"], bool(holds), words)


def _best_fixed() -> tuple[bool, str]:
    fixed = Landscape.of(first_example()).fixed
    best = min(fixed, key=lambda robots: fixed[robots])
    return best == 3, "Costs of 1, 2, 3, 4 robots: " + ", ".join(f"{cost:.3f}" for cost in fixed.values()) + "."


def _two_modes() -> tuple[bool, str]:
    best = Landscape.of(first_example()).best
    return best.policy.short == "3,1@2", f"The best of all is {best.policy.phrase}: {best.cost:.4f}."


def _profit() -> tuple[bool, str]:
    profit = Landscape.of(first_example()).profit
    return profit > 28, f"{profit:.3f}%."


def _modes_by_capacity() -> tuple[bool, str]:
    sizes = [int(row[0]) for row in table(2).rows]
    used = {capacity: Landscape.of(with_capacity(capacity)).best.robots for capacity in sizes}
    return set(used.values()) == {(3, 1)}, f"Best set of robots at K = {', '.join(map(str, used))}: 3,1 each time."


def _large_capacities() -> tuple[bool, str]:
    at30 = Landscape.of(with_capacity(30))
    policies_at = [(at30.best.robots, at30.best.thresholds), *[((r,), ()) for r in at30.fixed]]

    def cost(capacity: int, policy: tuple[tuple[int, ...], tuple[int, ...]]) -> float:
        value = solve(with_capacity(capacity).replace(policy=ThresholdPolicy(*policy))).measures["cost"]
        assert isinstance(value, float)
        return value

    change = {policy: cost(100, policy) / cost(30, policy) - 1 for policy in policies_at}
    worst = max(change, key=lambda policy: abs(change[policy]))
    return abs(change[worst]) < 0.02, (
        f"From K = 30 to K = 100 the optimal cost changes by {100 * change[policies_at[0]]:.4f}%; the largest change "
        f"of a column is {100 * change[worst]:.2f}% ({ThresholdPolicy(*worst).phrase})."
    )


def _no_control() -> tuple[bool, str]:
    def gain(factor: float) -> float:
        found = Landscape.of(with_service_scaled(factor))
        return min(item.cost for item in found.optimum.policies if len(item.robots) > 1) - min(found.fixed.values())

    crossing = float(brentq(gain, 13, 15, xtol=1e-4))
    later = {factor: gain(factor) for factor in (15, 20, 30, 100)}
    return all(value > 0 for value in later.values()), (
        f"Control stops paying at s = {crossing:.3f}. At s = 15, 20, 30 and 100 the best policy with several numbers "
        f"of robots costs {', '.join(f'{value:.2f}' for value in later.values())} more than the best fixed number."
    )


def _modes_by_obsolescence() -> tuple[bool, str]:
    factors = [float(row[0]) for row in table(4).rows]
    used = {Landscape.of(with_obsolescence_scaled(factor)).best.robots for factor in factors}
    return used == {
        (3, 1)
    }, f"The best set of robots is {', '.join(str(item) for item in used)} in all {len(factors)} rows."


def _exponential() -> tuple[bool, str]:
    service = with_service_variance(1.521).service
    first, second = (-service.subgenerator.diagonal()).tolist()
    return abs(service.scv - 1) < 1e-3, (
        f"The rates are {first:.4f} and {second:.4f}, the squared coefficient of variation is {service.scv:.6f}; it is "
        f"1 at first rate {1 / service.mean:.5f}."
    )


def _modes_by_service_variance() -> tuple[bool, str]:
    def difference(rate: float) -> float:
        found = Landscape.of(with_service_variance(rate))
        return found.best_of((3, 1)).cost - found.best_of((4, 1)).cost

    crossing = float(brentq(difference, 1.6, 9, xtol=1e-6))
    variance = with_service_variance(crossing).service.variance
    rates = paper()["variances"]["service_rates"]
    wins = {rate: "1,3" if difference(rate) < 0 else "1,4" for rate in rates}
    right = all((wins[rate] == "1,4") == (rate > 4) for rate in rates)
    return right and abs(crossing - 4) < 0.5, (
        f"The costs of the two pairs cross at first rate {crossing:.3f} (variance {variance:.3f}); at the "
        "printed rates " + ", ".join(f"{rate:g}: {pair}" for rate, pair in wins.items()) + "."
    )


def _two_modes_by_service_variance() -> tuple[bool, str]:
    rates = paper()["variances"]["service_rates"]
    best = {rate: Landscape.of(with_service_variance(rate)).best for rate in rates}

    def gain(rate: float) -> float:
        found = Landscape.of(with_service_variance(rate))
        # A set of three may skip a number and tie with a pair: compare the three that win with the best pair before.
        return found.best_of((4, 3, 1)).cost - found.best_of((3, 1)).cost

    crossing = float(brentq(gain, 3, 4, xtol=1e-6))
    return all(len(item.robots) <= 2 for item in best.values()), (
        f"From first rate {crossing:.3f} on three numbers of robots are cheaper than any two. The best of all: "
        + "; ".join(f"{rate:g}: {item.policy.phrase}, {item.cost:.2f}" for rate, item in best.items())
        + ". Printed Figure 3 compares pairs only."
    )


def _modes_by_obsolescence_variance(at: Mapping[float, PairCosts]) -> tuple[bool, str]:
    best = {rate: min(costs, key=lambda pair: min(costs[pair])) for rate, costs in at.items()}
    return set(best.values()) == {(3, 1)}, "Best pair of robots by first rate: " + ", ".join(
        f"{rate:g}: {pair[1]},{pair[0]}" for rate, pair in best.items()
    ) + "."


def _threshold_falls(at: Mapping[float, PairCosts]) -> tuple[bool, str]:
    best = {curve.parameter: curve.best for curve in figure4(at)}
    values = list(best.values())
    holds = values[0] == 2 and values[-1] == 0 and values == sorted(values, reverse=True)
    return holds, "Best thresholds by first rate: " + ", ".join(f"{rate:g}: {j}" for rate, j in best.items()) + "."


def _measured_optimum() -> tuple[bool, str]:
    found = {name: Landscape.of(inputs.scenario()) for name, inputs in _measured_variants().items()}
    best = {name: item.best_of((4, 3, 2, 1)).thresholds for name, item in found.items()}
    return set(best.values()) == {(2, 2, 2)}, "Best thresholds of four modes: " + "; ".join(
        f"{name}: {thresholds}" for name, thresholds in best.items()
    ) + "."


def _measured_profit() -> tuple[bool, str]:
    names = [ThresholdPolicy(*policy).phrase for policy in policies()]
    always, best = names.index(ThresholdPolicy((4,), ()).phrase), names.index(ThresholdPolicy((4, 1), (2,)).phrase)
    profit = {name: 100 * (1 - costs(item)[best] / costs(item)[always]) for name, item in _measured_variants().items()}
    return min(profit.values()) > 9, "; ".join(f"{name}: {value:.2f}%" for name, value in profit.items()) + "."


def _measured_variants() -> Mapping[str, Inputs]:
    return {"A as printed": from_A(), "D_0 as printed": from_D0(), "middle of the rounding": in_box([0.5] * 7)}


def _more_robots() -> tuple[bool, str]:
    example = first_example()
    assert example.cost is not None
    terms: dict[str, list[float]] = {"loss": [], "obsolescence": [], "response": [], "starvation": []}
    for robots in example.arrivals.robot_numbers:
        m = solve(example.replace(policy=ThresholdPolicy([robots]))).measures
        terms["loss"].append(example.cost.loss * m["arrival_rate"] * m["loss_probability"])
        terms["obsolescence"].append(example.cost.obsolescence * m["arrival_rate"] * m["obsolescence_probability"])
        terms["response"].append(example.cost.response * m["mean_sojourn_served"])
        terms["starvation"].append(example.cost.starvation * m["starvation_probability"])
    rising = all(np.all(np.diff(terms[name]) > 0) for name in ("loss", "obsolescence", "response"))
    falling = bool(np.all(np.diff(terms["starvation"]) < 0))
    return rising and falling, "In the paper's own example, with 1, 2, 3, 4 robots always: " + "; ".join(
        f"{name} {', '.join(f'{value:.2f}' for value in values)}" for name, values in terms.items()
    ) + ". The fourth robot lowers obsolescence and doubles starvation, because four robots deliver in batches of four."


def _thresholds_suffice() -> tuple[bool, str]:
    example = first_example()
    assert example.cost is not None
    every = np.array(list(product(example.arrivals.robot_numbers, repeat=example.capacity + 1)), dtype=np.int64)
    tables = sorted_tables(every)
    values = costs_of_tables(example, tables)
    best = tables[int(np.argmin(values))].tolist()
    threshold = Landscape.of(example).best
    return float(values.min()) > threshold.cost - 1e-9, (
        f"Of all {len(tables):,} ways to choose the number of robots by the level, the best is {best} by level, cost "
        f"{values.min():.4f}; the best threshold policy is {threshold.policy.phrase}, cost {threshold.cost:.4f}."
    )


_CHECKS: Mapping[str, Callable[[], tuple[bool, str]]] = {
    "best fixed number": _best_fixed,
    "two modes suffice": _two_modes,
    "profit of the first example": _profit,
    "modes at every capacity": _modes_by_capacity,
    "large capacities": _large_capacities,
    "no control for fast service": _no_control,
    "modes at every obsolescence time": _modes_by_obsolescence,
    "exponential service": _exponential,
    "modes change with the service variance": _modes_by_service_variance,
    "two modes at every service variance": _two_modes_by_service_variance,
    "measured optimum": _measured_optimum,
    "measured profit": _measured_profit,
    "more robots cost more but starve less": _more_robots,
    "thresholds are enough": _thresholds_suffice,
}

_ON_FIGURE_4: Mapping[str, Callable[[Mapping[float, PairCosts]], tuple[bool, str]]] = {
    "modes with obsolescence variance": _modes_by_obsolescence_variance,
    "threshold falls with obsolescence variance": _threshold_falls,
}
