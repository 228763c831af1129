"""Queues whose measures can be written down, in plain arithmetic that keeps the type of its input.

Given floats the answers are floats, given Fractions they are exact, given mpf they have all its digits. Only sums,
products and quotients of positive numbers occur, so small probabilities keep their digits.

All answers use the names of the contract; pages lost count zero in `mean_sojourn` (equation 16).
"""

from collections.abc import Sequence
from typing import Any

Measures = dict[str, Any]


def mm1k(arrival_rate: Any, service_rate: Any, capacity: int) -> Measures:
    """M/M/1/K: p_i proportional to rho^i."""
    return mm1k_reneging(arrival_rate, service_rate, 0 * arrival_rate, capacity)


def mm1k_reneging(arrival_rate: Any, service_rate: Any, obsolescence_rate: Any, capacity: int) -> Measures:
    """M/M/1/K where each waiting page, but not the one in service, leaves at the rate of obsolescence."""
    return exponential_queue([arrival_rate] * (capacity + 1), service_rate, obsolescence_rate)


def exponential_queue(arrival_rates: Sequence[Any], service_rate: Any, obsolescence_rate: Any) -> Measures:
    """A birth-and-death queue with its own Poisson rate at each level 0..K, which is how a policy acts.

    Level i + 1 goes down at s + i theta, with s the service and theta the obsolescence rate. A page that finds
    i >= 1 others moves up at rate s + (j-1) theta while j are before it and leaves at rate theta, so it is served
    with probability s / (s + i theta) and becomes obsolete while j are before it with probability
    theta / (s + i theta), the same for each j = 1..i; the stages last 1 / (s + j theta) on average whatever ends them.
    """
    s, theta, capacity = service_rate, obsolescence_rate, len(arrival_rates) - 1
    weights = [s / s]
    for i in range(capacity):
        weights.append(weights[-1] * arrival_rates[i] / (s + i * theta))
    p = _normalised(weights)

    served_time = obsolete_time = served = obsolete = 0 * s
    for i in range(capacity):
        stages = [s + j * theta for j in range(1, i + 1)]
        flow = p[i] * arrival_rates[i]
        served += flow * s / (s + i * theta)
        served_time += flow * s / (s + i * theta) * (1 / s + sum(1 / stage for stage in stages))
        obsolete += flow * i * theta / (s + i * theta)
        obsolete_time += flow * theta / (s + i * theta) * sum(j / stage for j, stage in enumerate(stages, 1))
    measures = _measures(p, arrival_rates, obsolete)
    measures["mean_sojourn_served"] = served_time / served
    measures["mean_sojourn_obsolete"] = obsolete_time / obsolete if obsolete else None
    return measures


def hyperexponential_queue(
    arrival_rates: Sequence[Any], service_rate: Any, weights: Sequence[Any], rates: Sequence[Any]
) -> Measures:
    """The same queue with hyperexponential obsolescence: each waiting page has a class r with its own rate mu_r.

    First come, first served. With pages of classes c_1..c_n waiting, oldest first,

        p(c_1..c_n) = p(level 1) prod_j lambda(j) g(c_j) / (s + mu(c_1) + ... + mu(c_j)),

    lambda(j) being the arrival rate with j pages in the system. The last factor depends on the classes only through
    their counts, so the sum W over all orders of given counts n obeys

        W(n) = lambda(|n|) / (s + n . mu) * sum_r g_r W(n - e_r),      W(0) = 1.

    Cost: as many steps as there are count vectors, 5,050 for K = 100 and two classes.
    """
    s, capacity = service_rate, len(arrival_rates) - 1
    classes = range(len(weights))
    p_empty, p_one = s / s, arrival_rates[0] / s
    level_weights = [p_empty]
    stale_weights = [0 * s]
    current = {(0,) * len(weights): s / s}
    for waiting in range(capacity):
        if waiting:
            following: dict[tuple[int, ...], Any] = {}
            for counts, weight in current.items():
                for r in classes:
                    more = (*counts[:r], counts[r] + 1, *counts[r + 1 :])
                    following[more] = following.get(more, 0) + weights[r] * weight
            current = {
                counts: arrival_rates[waiting] * weight / (s + _dot(counts, rates))
                for counts, weight in following.items()
            }
        level_weights.append(p_one * sum(current.values()))
        stale_weights.append(p_one * sum(weight * _dot(counts, rates) for counts, weight in current.items()))
    total = sum(level_weights)
    return _measures(_normalised(level_weights), arrival_rates, sum(stale_weights) / total)


def _dot(counts: Sequence[int], rates: Sequence[Any]) -> Any:
    return sum(count * rate for count, rate in zip(counts, rates))


def _normalised(weights: Sequence[Any]) -> list[Any]:
    total = sum(weights)
    return [weight / total for weight in weights]


def _measures(p: Sequence[Any], arrival_rates: Sequence[Any], obsolescence_rate: Any) -> Measures:
    """What follows from the level distribution and the flow of pages that become obsolete."""
    rate = sum(level * arrivals for level, arrivals in zip(p, arrival_rates))
    mean_pages = sum(i * level for i, level in enumerate(p))
    accepted = sum(level * arrivals for level, arrivals in zip(p[:-1], arrival_rates))
    return {
        "arrival_rate": rate,
        "loss_probability": p[-1] * arrival_rates[-1] / rate,
        "obsolescence_probability": obsolescence_rate / rate,
        "success_probability": (accepted - obsolescence_rate) / rate,
        "starvation_probability": p[0],
        "mean_pages": mean_pages,
        "mean_sojourn": mean_pages / rate,
        "level_distribution": list(p),
    }
