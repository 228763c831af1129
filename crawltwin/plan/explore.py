"""What the page to explore shows: the measures and the backlog of every policy that was evaluated."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import numpy.typing as npt

import crawltwin
from analytic import Optimum
from analytic.policy_table import PolicyTables
from analytic.rewards import measures_of_rates
from analytic.tables import single_clock, table_of
from crawltwin.model import CostWeights, LevelPolicy
from crawltwin.model.checks import FloatArray
from crawltwin.plan.uncertainty import short_table
from validate.report.explore import ExploredPolicy, explore_html

MOST = 6_000
"""Policies on the page; the cheapest ones where more were evaluated, and then the page says so."""


def explore_page(optimum: Optimum) -> str:
    """The page as one self-contained text. Cost: one more evaluation of every policy, for the level distributions."""
    scenario = optimum.scenario
    assert scenario.cost is not None
    chosen = np.sort(np.argsort(optimum.costs, kind="stable")[:MOST])
    tables, rates = optimum.tables[chosen], optimum.rates[chosen]
    own = np.array(table_of(optimum.best.robots, optimum.best.thresholds, scenario.capacity))
    plan = int(np.flatnonzero((tables == own).all(axis=1))[0])
    measures = measures_of_rates(rates)
    columns = (
        rates[:, 1],
        rates[:, 2],
        measures["loss_probability"],
        measures["obsolescence_probability"],
        measures["mean_sojourn_served"],
        measures["mean_active_robots"],
        measures["starvation_probability"],
        measures["mean_pages"],
        measures["arrival_rate"],
    )
    levels = _levels(optimum, tables)
    policies = [
        ExploredPolicy(
            short_table(row),
            LevelPolicy(row).in_words(scenario.capacity),
            row,
            [float(column[index]) if np.isfinite(column[index]) else None for column in columns],
            None if levels is None else levels[index].tolist(),
        )
        for index, row in enumerate(tables.tolist())
    ]
    every = f"all {len(optimum.tables):,}" if len(tables) == len(optimum.tables) else f"the {len(tables):,} cheapest"
    return explore_html(
        f"Explore: {scenario.title or 'a crawler'}",
        policies,
        {field.name: getattr(scenario.cost, field.name) for field in fields(CostWeights)},
        plan,
        f"Solved by crawltwin {crawltwin.__version__}: {every} evaluated threshold policies ({optimum.method}), "
        "scenario "
        f"{scenario.content_hash[:12]}.",
    )


def _levels(optimum: Optimum, tables: npt.NDArray[np.int64]) -> FloatArray | None:
    """Level distributions, where the shared recursion can give them; else the page does without."""
    if not single_clock(optimum.scenario):
        return None
    return PolicyTables(optimum.scenario).level_distributions(tables)
