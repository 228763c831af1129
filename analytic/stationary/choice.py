"""`solve`: choose a method, solve, and return every measure with its proof.

The phase types are lumped first. With one obsolescence phase (or none) the banded elimination is exact, linear in the
capacity and keeps the digits of small probabilities. With several, the paper's block algorithm serves while the levels
are small, the matrix-free solver while the state vector fits, and ordered windows with extrapolation beyond. A method's
module is loaded when the method is used.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from analytic.chain.sizes import MAX_STATES
from analytic.chain.summary import Summary, basic_measures, mode_probabilities
from analytic.chain.tagged import TaggedChain, start_weights
from analytic.sojourn.explicit import SojournTimes
from analytic.sojourn.law import SojournLaw
from analytic.stationary.explicit import has_small_levels
from analytic.stationary.methods import METHODS
from analytic.stationary.solution import Progress, Solution, SolverReport
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import ConvergenceError, InputError
from crawltwin.model.measures import FATE_SHARES, MEASURES
from crawltwin.model.rates import Rates, cost_error
from crawltwin.model.scenario import Scenario, takes_scenario

EXACT_STATES = 6_000_000
"""Largest chain that `auto` solves exactly with several obsolescence phases: about half a minute and 300 MB."""


@dataclass(frozen=True)
class Solved:
    """What a method hands back before measures are taken."""

    summary: Summary
    sojourn: SojournLaw
    states: int
    residual: float
    measures: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, Any] = field(default_factory=dict)
    relative_error: float = 0.0
    notes: tuple[str, ...] = ()


@takes_scenario
def solve(scenario: Scenario, method: str = "auto", *, progress: Progress | None = None) -> Solution:
    """Stationary measures of a scenario under its policy.

    Parameters
    ----------
    scenario : Scenario
        With a policy, unless the arrivals know a single number of robots.
    method : {"auto", "direct", "block", "qbd", "banded", "matrix-free", "window"}
        `direct`: sparse LU of the explicit generator. `block`: the paper's section 3. `qbd`: its section 6, single
        arrivals. `banded`: one obsolescence phase, linear in the capacity. `matrix-free`: exact, no generator stored.
        `window`: order kept for the oldest pages only, extrapolated, with an error estimate for every measure.
    progress : callable, optional
        Called with a word and the fraction done, by the two last methods.

    Returns
    -------
    Solution

    Notes
    -----
    Cost: `banded` about 10 microseconds per level; the explicit methods grow with the square of the widest level,
    W M R^(K-1) states.
    """
    began = time.perf_counter()
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    chain = Chain.of(scenario)
    chosen, why = _choose(chain) if method == "auto" else (method, "asked for")
    if chosen == "banded":
        solved = _banded(chain)
    elif chosen == "matrix-free":
        solved = _matrix_free(chain, progress)
    elif chosen == "window":
        solved = _window(chain, progress)
    else:
        solved = _explicit(chain, chosen)
    return assemble(chain, solved, chosen, why, began)


def solve_by_windows(scenario: Scenario, max_states: int) -> Solution:
    """As `solve` with method `window`, on windows of at most so many states; the errors are what is left then."""
    began, chain = time.perf_counter(), Chain.of(scenario)
    why = f"windows of at most {count(max_states)} states asked for"
    return assemble(chain, _window(chain, None, max_states), "window", why, began)


def assemble(chain: Chain, solved: Solved, method: str, why: str, began: float) -> Solution:
    """All measures from what a method found."""
    scenario = chain.scenario
    measures: dict[str, Any] = {"mean_fetches": None} | basic_measures(chain, solved.summary)
    measures["level_distribution"] = solved.summary.level_distribution.tolist()
    measures.update(solved.measures)
    served, obsolete = solved.sojourn.moment(1, "served"), solved.sojourn.moment(1, "obsolete")
    measures["mean_sojourn"] = measures["mean_pages"] / measures["arrival_rate"]
    measures["mean_sojourn_served"] = served
    measures["mean_sojourn_obsolete"] = obsolete
    if scenario.cost is not None:
        known = served is not None or not scenario.cost.response
        measures["cost"] = float(Rates.from_measures(measures).cost(scenario.cost)) if known else None
    broken = [name for name in MEASURES if name in measures and not _finite(measures[name])]
    if broken:
        raise ConvergenceError(
            f"{', '.join(broken)} came out as no number: the rates lie too many orders of magnitude apart for floating "
            "point. Choose a unit of time in which they are nearer to one"
        )
    errors = dict(solved.errors)
    if errors and scenario.cost is not None and served is not None:
        errors["cost"] = cost_error(measures, errors, scenario.cost)
    estimate = max(_identities(measures, solved.sojourn), solved.relative_error)
    balance = abs(sum(measures[name] for name in FATE_SHARES) - 1.0)
    seconds = time.perf_counter() - began
    report = SolverReport(method, solved.states, solved.residual, estimate, balance, seconds, why)
    return Solution(
        scenario=scenario,
        measures={name: measures[name] for name in MEASURES if name in measures},
        mode_probabilities=mode_probabilities(chain, solved.summary),
        solver=report,
        sojourn=solved.sojourn,
        errors=errors,
        notes=(*_notes(chain), *solved.notes),
    )


def _finite(value: Any) -> bool:
    return value is None or bool(np.isfinite(value).all())


def _choose(chain: Chain) -> tuple[str, str]:
    if chain.obsolescence_phases == 1:
        return "banded", "one obsolescence phase: elimination in a band, linear in the capacity"
    if has_small_levels(chain):
        return "block", "small levels: the paper's block algorithm, which never subtracts"
    if chain.states <= EXACT_STATES:
        return "matrix-free", f"{chain.obsolescence_phases} obsolescence phases: exact sweeps over levels, no generator"
    return "window", f"{count(chain.states)} states do not fit: order kept for the oldest pages only, extrapolated"


def _banded(chain: Chain) -> Solved:
    from analytic.stationary.banded import banded_residual, solve_banded

    summary = solve_banded(chain)
    tagged = TaggedChain.of(chain, start_weights(chain, summary, None))
    return Solved(summary, SojournTimes(tagged), chain.states, banded_residual(chain, summary))


def _matrix_free(chain: Chain, progress: Progress | None) -> Solved:
    from analytic.sojourn.levels import LevelSojournTimes
    from analytic.stationary.matrix_free import solve_matrix_free

    found = solve_matrix_free(chain, progress=progress)
    return Solved(
        found.summary,
        LevelSojournTimes(chain, found),
        found.states,
        found.residual,
        notes=(f"{found.sweeps} sweeps",),
    )


def _window(chain: Chain, progress: Progress | None, max_states: int | None = None) -> Solved:
    from analytic.stationary.window import MAX_STATES as DEFAULT
    from analytic.stationary.window import solve_window

    found = solve_window(chain, max_states=max_states or DEFAULT, progress=progress)
    notes = [
        f"windows of {found.windows[0]} to {found.windows[-1]} ordered pages"
        + (": the last forgets nothing, so the answer is exact" if found.exact else ", every measure extrapolated")
    ]
    if not found.reached:
        notes.append("the tolerance was not reached: a wider window does not fit; see the error of each measure")
    return Solved(
        found.summary,
        found.sojourn,
        found.states,
        found.residual,
        measures={name: _listed(value) for name, value in found.measures.items()},
        errors={name: _listed(value) for name, value in found.errors.items()},
        relative_error=found.relative_error,
        notes=tuple(notes),
    )


def _listed(value: float | FloatArray) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _explicit(chain: Chain, method: str) -> Solved:
    from analytic.stationary import block, direct

    generator = Generator.of(chain, max_states=MAX_STATES)
    error = 0.0
    if method == "direct":
        p, error = direct.solve_direct(generator)
    else:
        p = (block.stationary_qbd if method == "qbd" else block.stationary_block)(generator)
    residual = float(np.abs(p @ generator.matrix).max() / np.abs(generator.matrix.diagonal()).max())
    summary = generator.summarise(p)
    tagged = TaggedChain.of(chain, start_weights(chain, summary, generator.split(p)))
    return Solved(summary, SojournTimes(tagged), chain.states, residual, relative_error=error)


def _identities(measures: dict[str, Any], sojourn: SojournLaw) -> float:
    """Largest disagreement among identities that hold exactly and that no method imposes."""
    checks = [abs(sum(measures[name] for name in FATE_SHARES) - 1.0)]
    everyone = sojourn.moment(1, "all")
    if everyone is not None and measures["mean_sojourn"] > 0:
        checks.append(abs(everyone / measures["mean_sojourn"] - 1.0))
    if measures["success_probability"] > 0:
        checks.append(abs(sojourn.probability("served") / measures["success_probability"] - 1.0))
    return float(max(checks))


def _notes(chain: Chain) -> tuple[str, ...]:
    notes = []
    for name, given, used in (
        ("service", chain.scenario.service, chain.service),
        ("obsolescence", chain.scenario.obsolescence, chain.obsolescence),
    ):
        if given is not None and used is not None and used.order < given.order:
            law = "an exponential distribution" if used.order == 1 else f"{used.order} phases"
            notes.append(f"the {name} time's {given.order} phases were lumped exactly to {law} of mean {used.mean:.6g}")
    if chain.obsolescence is None:
        notes.append("pages never become obsolete: no obsolescence time is given")
    return tuple(notes)
