"""Which pictures each result has. The report's own pictures serve wherever there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from crawltwin.model.errors import InputError
from crawltwin.report import Figure

_HERE, _FIT = "crawltwin.pages.notebook.painters", "crawltwin.pages.fit_pictures"
PICTURES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Solution": {"levels": (_HERE, "solved_levels"), "sojourn": (_HERE, "sojourn_tails")},
    "SimulationResult": {"levels": (_HERE, "simulated_levels"), "intervals": (_HERE, "relative_intervals")},
    "CrossCheck": {"intervals": (_HERE, "differences_in_margins")},
    "Optimum": {"cost": (_HERE, "cost_over_threshold")},
    "ParetoFront": {"front": (_HERE, "front_of_two")},
    "Sensitivity": {"elasticities": (_HERE, "elasticities")},
    "Transient": {"approach": (_HERE, "approach_over_time")},
    "PollingCost": {"cost": (_HERE, "cost_over_distance")},
    "Completion": {"distribution": (_HERE, "time_distribution")},
    "AbsorptionTime": {"distribution": (_HERE, "time_distribution")},
    "Comparison": {"intervals": (_HERE, "policies_apart")},
    "Coverage": {"intervals": (_HERE, "coverage_shares")},
    "Calibration": {"scores": ("crawltwin.pages.calibration", "calibration_figure")},
    "Sweep": {"best": (_HERE, "sweep_map")},
    "FitResult": {
        "distribution": (_FIT, "gap_distribution"),
        "correlations": (_FIT, "correlations"),
        "dispersion": (_FIT, "dispersion"),
        "gaps": (_FIT, "gaps_over_time"),
        "rate": (_FIT, "rate_over_time"),
    },
    "Plan": {
        "levels": (_HERE, "plan_levels"),
        "cost": (_HERE, "plan_cost"),
        "doubt": (_HERE, "plan_doubt"),
        "backlog": (_HERE, "plan_backlog"),
    },
}
"""Name of a result's class -> name of a picture -> where the function is that makes it. The first is the usual one."""


def picture_of(result: object, name: str | None, options: Mapping[str, Any]) -> Figure:
    """The picture of that name, or the usual one."""
    known = PICTURES[type(result).__name__]
    chosen = next(iter(known)) if name is None else name
    if chosen not in known:
        raise InputError(f"picture must be one of {', '.join(known)}; got {name!r}")
    module, function = known[chosen]
    make: Callable[..., Figure] = getattr(import_module(module), function)
    try:
        return make(result, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise InputError(f"options must be what the picture {chosen!r} asks for; got {', '.join(options)}") from error
