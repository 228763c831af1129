"""What is decided before the first page is simulated: measures, margins, confidence, power, budget, seed.

A verdict whose margins were chosen after the numbers were seen is worth nothing, so the plan is a value: it is made
first, checked, printed with the result and has a content hash.

Margins. Rates, times, numbers of pages or robots and costs have a relative margin. A probability has the larger of the
relative margin and an absolute one, a tenth of it by default: at 0.5% a loss probability of 0.3 may be off by 0.0015,
one of 0.02 by 0.0005. The rate of switches has the larger of the relative margin and the absolute one times the
arrival rate: it is settled as switches per page. A purely relative margin on a rare event would ask for a run of any
length to settle what nobody needs to know; whoever does sets the absolute margin to 0.

A loss probability below its own absolute margin would be called equivalent even to 0. It is not counted: it is found by
splitting on the level (`simulate.rare_loss`) and has a relative margin of its own, 5% or that of the others where it is
larger. So it is where there is no absolute margin and counting to the relative one would take more than the budget; its
margin is then that of the others. With a given number of pages everything is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from crawltwin.model import MEASURES, InputError, checks
from crawltwin.model.errors import Faults
from crawltwin.model.measures import PROBABILITIES
from crawltwin.model.settings import setting
from crawltwin.model.value import Value
from simulate.engine.streams import check_seed
from simulate.sample.settings import ENGINES

DISTRIBUTIONS = ("mode_probabilities", "sojourn_distribution", "sojourn_quantiles")
"""What is compared beside the registry's measures."""
COMPARED: tuple[str, ...] = (*MEASURES, *DISTRIBUTIONS)
"""Every name that a plan may list."""
ABSOLUTE_SHARE = 0.1
"""The absolute margin of probabilities, as a share of the relative one, where none is given."""


@dataclass(frozen=True, eq=False)
class ValidationPlan(Value):
    """The declared plan of a cross-check.

    Parameters
    ----------
    margin : float
        Relative margin of equivalence.
    absolute_margin : float, optional
        Margin of probabilities below `absolute_margin / margin`; a tenth of `margin` by default.
    rare_margin : float
        Relative margin of a loss probability that is too rare to be counted; 0 counts it nevertheless.
    confidence : float
        Of each claim of equivalence, of "all are equivalent", and of the family of claims of difference.
    power : float
        Chance that a sound measure comes out as equivalent; sets the length of the run.
    budget : int
        Pages at most, the pilot included.
    pages : int, optional
        Exactly this length and no pilot, in place of a planned length; more only where the warm-up needs it.
    seed : int
        Of everything random.
    replications : int
        Independent runs that the standard errors rest on.
    engine : {"compiled", "simpy"}
        Which engine simulates.
    quantiles : tuple of float
        Of the sojourn times of served and of obsolete pages.
    points : tuple of float
        Where their distribution functions are compared: at the solved quantiles of these orders.
    measures : tuple of str
        What is compared; every measure of the registry and the distributions by default.

    Examples
    --------
    >>> plan = ValidationPlan()
    >>> plan.margin_of("mean_pages", 2.0), plan.margin_of("loss_probability", 0.01)
    (0.01, 0.0005)
    """

    margin: float = setting(0.005, help="relative margin; with --trace 0.1 is the default")
    absolute_margin: float | None = setting(
        None, help="margin of small probabilities", default_words="a tenth of --margin"
    )
    rare_margin: float = setting(
        0.05, help="relative margin of a loss too rare to be counted, found by splitting; 0: counted nevertheless"
    )
    confidence: float = setting(0.99, help="of every claim; with --trace 0.95 is the default")
    power: float = setting(0.99, help="chance that a sound number is found equivalent")
    budget: int = setting(2_000_000_000, help="pages at most")
    pages: int | None = setting(None, help="exactly this length, in place of a planned one")
    seed: int = setting(1, help="seed of everything random")
    replications: int = setting(100, help="independent runs; 50 with --random")
    engine: str = setting("compiled", help="which engine simulates", choices=ENGINES)
    quantiles: tuple[float, ...] = (0.5, 0.9, 0.99)
    points: tuple[float, ...] = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
    measures: tuple[str, ...] = COMPARED

    def __post_init__(self) -> None:
        faults = Faults()
        margin = checks.number(self.margin, "margin", faults, above=0, at_most=1)
        if self.absolute_margin is None:
            if margin is not None:
                object.__setattr__(self, "absolute_margin", ABSOLUTE_SHARE * margin)
        else:
            checks.number(self.absolute_margin, "absolute_margin", faults, at_least=0, at_most=1)
        checks.number(self.rare_margin, "rare_margin", faults, at_least=0, at_most=1)
        for name in ("confidence", "power"):
            value = checks.number(getattr(self, name), name, faults, above=0)
            if value is not None and not value < 1:
                faults.add(name, f"{name} must be less than 1; got {value:g}", "0.99 is usual.")
        checks.integer(self.budget, "budget", faults, at_least=1000, way_out="It counts pages.")
        if self.pages is not None:
            checks.integer(self.pages, "pages", faults, at_least=1000)
        checks.integer(
            self.replications, "replications", faults, at_least=10, way_out="Fewer give no usable standard error."
        )
        with faults.under("seed"):
            check_seed(self.seed)
        if self.engine not in ENGINES:
            faults.add("engine", f"engine must be one of {', '.join(ENGINES)}; got {self.engine!r}")
        for name in ("quantiles", "points"):
            for index, order in enumerate(_tuple(self, name)):
                found = checks.number(order, f"{name}[{index}]", faults, above=0)
                if found is not None and not found < 1:
                    faults.add(f"{name}[{index}]", f"{name} must be between 0 and 1; got {found:g}")
        for index, name in enumerate(_tuple(self, "measures")):
            if name not in COMPARED:
                known = ", ".join(COMPARED)
                faults.add(f"measures[{index}]", f"measures must be among {known}; got {name!r}")
        faults.raise_if_any()

    def margin_of(self, measure: str, solved: float, arrival_rate: float = 0.0) -> float:
        """The margin for one solved value of a measure; `arrival_rate` serves that of the rate of switches."""
        if measure not in COMPARED:
            raise InputError(f"measure must be among {', '.join(COMPARED)}; got {measure!r}")
        relative = self.margin * abs(solved)
        assert self.absolute_margin is not None
        if measure in PROBABILITIES:
            return max(relative, self.absolute_margin)
        return max(relative, self.absolute_margin * arrival_rate) if measure == "switch_rate" else relative

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def _tuple(plan: ValidationPlan, name: str) -> tuple[Any, ...]:
    """A field as a tuple, whatever sequence was given."""
    given: Sequence[Any] = getattr(plan, name)
    if isinstance(given, str):
        raise InputError(f"{name} must be a list; got {given!r}")
    object.__setattr__(plan, name, tuple(given))
    return tuple(given)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
