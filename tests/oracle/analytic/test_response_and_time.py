"""Derivatives, variances and transients of crawlers with every feature, from the explored chain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from analytic import asymptotic_variance, passage, sensitivity, solve, transient
from crawltwin.model import PhaseType, Scenario, ThresholdPolicy, erlang, exponential
from crawltwin.model.arrivals.fetching import FetchingRobots
from tests.oracle.whole_crawler import Explored
from tests.random_crawlers import random_crawler


def fetching_crawlers(seeds):
    return [seed for seed in seeds if random_crawler(seed).arrivals.kind == "fetching"]


def quicker(law, factor):
    return None if law is None else PhaseType(law.initial, law.subgenerator * factor)


def faster(scenario: Scenario, clock: str, factor: float) -> Scenario:
    """All rates of one clock times a factor."""
    robots = scenario.arrivals
    if clock == "service":
        return scenario.replace(service=quicker(scenario.service, factor))
    if clock == "obsolescence":
        return scenario.replace(obsolescence=quicker(scenario.obsolescence, factor))
    if clock == "control":
        every = scenario.policy.check_every / factor
        policy = scenario.policy
        return scenario.replace(policy=ThresholdPolicy(policy.robots, policy.thresholds, policy.resume, every))
    spells = robots.spells
    if spells is not None:
        spells = replace(spells, generator=spells.generator * factor)
    return scenario.replace(
        arrivals=replace(
            robots, fetch=quicker(robots.fetch, factor), start_up=quicker(robots.start_up, factor), spells=spells
        )
    )


@pytest.mark.parametrize("seed", fetching_crawlers(range(30)))
def test_derivatives(seed):
    scenario = random_crawler(seed, capacity=4, clock=1 + seed % 2)
    found, step = sensitivity(scenario), 1e-4
    parameters = ["arrival", "service", "obsolescence", *(["control"] if scenario.policy.check_every else [])]
    assert found.to_json()["parameters"] == parameters
    for clock in parameters:
        high, low = (solve(faster(scenario, clock, np.exp(sign * step))).measures for sign in (1, -1))
        for measure, slopes in found.derivatives.items():
            if slopes is not None:
                expected = (high[measure] - low[measure]) / (2 * step)
                size = 1e-6 * max(abs(high[measure]), 1.0)
                assert slopes[clock] == pytest.approx(expected, rel=1e-5, abs=size), (measure, clock)


@pytest.mark.parametrize("seed", range(16))
def test_variances(seed):
    """Time averages by the deviation matrix, counts by the formula of marked point processes."""
    scenario = random_crawler(seed, capacity=4, clock=1 + seed % 2)
    explored, found = Explored.of(scenario), asymptotic_variance(scenario)
    p, n = explored.stationary(), len(explored.states)
    deviation = np.linalg.inv(np.outer(np.ones(n), p) - explored.generator) - np.outer(np.ones(n), p)
    level = np.array([len(service) + len(waiting) for _, _, service, waiting in explored.states])
    busy = np.array([len(service) for _, _, service, _ in explored.states])
    robots = np.array([scenario.policy.robots[mode] for mode, _, _, _ in explored.states])
    averages = {"mean_pages": level, "mean_active_robots": robots}
    averages["starvation_probability"] = 1 - busy / scenario.indexers
    if scenario.arrivals.kind == "fetching":
        averages["mean_fetches"] = np.array([len(state[1]) for _, state, _, _ in explored.states])
    for name, f in averages.items():
        expected = 2 * (p * f) @ deviation @ f
        assert found.variances[name] == pytest.approx(expected, rel=1e-8, abs=1e-10), name
    switches = explored.marked("switches")
    rate = float(p @ switches.sum(axis=1))
    expected = rate + 2 * p @ switches @ deviation @ switches.sum(axis=1)
    assert found.values["switch_rate"] == pytest.approx(rate, rel=1e-9, abs=1e-12)
    assert found.variances["switch_rate"] == pytest.approx(expected, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("every", [0.0, 0.7])
@pytest.mark.parametrize("start_up", [None, exponential(0.4)])
def test_transients_and_first_passage(every, start_up):
    scenario = Scenario(
        capacity=6,
        arrivals=FetchingRobots(3, exponential(0.7), (0.8, 0.2), start_up),
        service=erlang(2, 0.9),
        obsolescence=erlang(2, 1.5),
        policy=ThresholdPolicy([3, 1], [3], resume=[1], check_every=every),
        indexers=2,
    )
    explored = Explored.of(scenario)
    first = explored.states[0, (0, (0, 0, 0)), (), ()]
    found = transient(scenario, [0.5, 2.0])
    for time, at in zip(found.times, found.at, strict=True):
        p = expm(explored.generator * time)[first]
        expected = explored.measures(p)
        for name, value in at.items():
            assert value == pytest.approx(expected[name], rel=1e-9, abs=1e-12), (name, time)
    low = [k for (_, _, service, waiting), k in explored.states.items() if len(service) + len(waiting) <= 4]
    inside = explored.generator[np.ix_(low, low)]
    mean = np.linalg.solve(-inside, np.ones(len(low)))[low.index(first)]
    assert passage(scenario, 4).mean == pytest.approx(mean, rel=1e-9)
    assert passage(scenario, 4).survival(1.0) == pytest.approx(expm(inside)[low.index(first)].sum(), rel=1e-9)
