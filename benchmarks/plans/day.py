"""The saving of a policy for each part of the day: is the truth in its interval? The crawler of news, many seeds."""

from pathlib import Path
from typing import Any

import numpy as np

from analytic.policy.memory.evaluator import rates_of_levels
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import Rates
from crawltwin.plan.day import demo_day
from crawltwin.plan.day.schedule import DayPlan
from crawltwin.plan.decide import Plan, plan
from crawltwin.plan.settings import PlanSettings
from fitting import FitOptions

DAYS = 3
OPTIONS = FitOptions(methods=("poisson", "renewal"), repetitions=40, refits=0)
SETTINGS = PlanSettings(
    robots=demo_day.ROBOTS,
    capacity=demo_day.CAPACITY,
    processing_rate=demo_day.PROCESSING_RATE,
    obsolescence_mean=demo_day.OBSOLESCENCE_MEAN,
    cost=demo_day.COST,
    what_if=False,
    margin=0.3,
    budget=200_000,
    redraws=40,
)


def busy_seconds(begin: float, end: float) -> float:
    """Seconds of a part of the day in which the crawler is busy; a part may go on over midnight."""
    pieces = [(begin, end)] if begin < end else [(begin, demo_day.DAY), (0.0, end)]
    return sum(max(0.0, min(b, demo_day.BUSY[1]) - max(a, demo_day.BUSY[0])) for a, b in pieces)


def true_cost(day: DayPlan, tables: Any) -> float:
    """Cost over the day of a table for each part, in the truth; parts as stationary, as the plan takes them."""
    every: FloatArray | float = 0.0
    for part, table in zip(day.parts, tables, strict=True):
        length = (part.end - part.begin) % demo_day.DAY or demo_day.DAY
        busy = busy_seconds(part.begin, part.end)
        for scenario, seconds in zip(demo_day.true_scenarios(), (busy, length - busy), strict=True):
            every = every + seconds / demo_day.DAY * rates_of_levels(scenario, np.asarray(table)[None])[0]
    return float(Rates.from_table(np.asarray(every)).cost(demo_day.COST))


def saving(seed: int, folder: Path, days: int = DAYS) -> dict[str, Any]:
    """What the plan tells of the saving, and what it is."""
    log = folder / f"day-{seed}.log"
    log.write_text(demo_day.day_log(seed, days))
    found = plan(log, SETTINGS, options=OPTIONS)
    row: dict[str, Any] = {"seed": seed, "days": days}
    if not isinstance(found, Plan) or found.day is None:
        return row
    told, single = found.day.saving, [found.day.tables[-1]] * len(found.day.parts)
    truth = 1 - true_cost(found.day, found.day.tables[:-1]) / true_cost(found.day, single)
    parts = [(part.begin / 3600, part.end / 3600) for part in found.day.parts]
    return {**row, "truth": truth, "value": told.value, "low": told.low, "high": told.high, "parts": parts,
            "word": found.verdict.word}  # fmt: skip
