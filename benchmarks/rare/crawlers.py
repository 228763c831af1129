"""Crawlers that lose a page in ten thousand to a billion: what the rare-event estimator is measured on."""

from __future__ import annotations

from dataclasses import replace

from crawltwin.model import (
    BMAP,
    ModeMatrices,
    Scenario,
    ThresholdPolicy,
    erlang,
    examples,
    exponential,
    hyperexponential,
)


def queue(load: float, capacity: int) -> Scenario:
    """M/M/1/K."""
    return Scenario(capacity, ModeMatrices({1: BMAP.poisson(load)}), exponential(1.0))


def rare_crawlers() -> dict[str, Scenario]:
    """By name: closed forms, batches, phase-type clocks, a memory, polling, fetches, spells, several indexers."""
    batches = BMAP([[[-0.3]], [[0.15]], [[0.1]], [[0.05]]])
    bursts = BMAP([[[-2.2, 0.2], [0.05, -0.25]], [[2.0, 0.0], [0.0, 0.2]]])
    hysteresis, fetching, indexers = (examples.load(name) for name in ("hysteresis", "fetching", "indexers"))
    control = ThresholdPolicy([2, 1], [3], resume=[1])
    return {
        "M/M/1, load 0.5": queue(0.5, 28),
        "M/M/1, load 0.8": queue(0.8, 60),
        "M/M/1, load 0.3": queue(0.3, 10),
        "batches": Scenario(26, ModeMatrices({1: batches}), exponential(1.0), exponential(20.0)),
        "bursts": Scenario(40, ModeMatrices({1: bursts}), exponential(0.35)),
        "phase-type clocks": Scenario(
            8, ModeMatrices({1: BMAP.poisson(0.4)}), erlang(2, 1.0), hyperexponential([0.3, 0.7], [0.05, 0.5])
        ),
        "hysteresis": replace(hysteresis, service=exponential(0.12), capacity=9, policy=control),
        "polling": replace(
            hysteresis, service=exponential(0.12), capacity=12, policy=ThresholdPolicy([2, 1], [3], check_every=1.0)
        ),
        "fetching": replace(
            fetching,
            service=exponential(0.15),
            capacity=10,
            policy=ThresholdPolicy([2, 1], [2]),
            arrivals=replace(fetching.arrivals, spells=None),
        ),
        "spells": replace(fetching, service=exponential(0.15), capacity=10, policy=ThresholdPolicy([2, 1], [2])),
        "indexers": replace(indexers, indexers=3, capacity=14, service=exponential(0.25), policy=ThresholdPolicy([1])),
    }
