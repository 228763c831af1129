"""A request for a simulation, checked as a whole: all its faults at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crawltwin import workers as work
from crawltwin.model import SCALAR_MEASURES, Scenario, checks
from crawltwin.model.errors import Faults
from crawltwin.store import Store
from simulate.intervals import Method
from simulate.plan import Length, Start, bins_for
from simulate.replications import Job, check_engine
from simulate.streams import check_seed

REPLICATIONS = 20
PAGES = 20_000
BUDGET = 60.0
QUANTILES = (0.5, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Order:
    """A checked request."""

    job: Job
    replications: int
    fixed_length: bool
    confidence: float
    precision: float | None
    aims: tuple[str, ...]
    budget: float
    warmup: float | None
    method: Method
    quantiles: tuple[float, ...]
    workers: int | None
    cluster: str | None
    store: Store | None
    by_batches: bool = False


def checked_order(
    scenario: Scenario, pages: Any, time: Any, replications: Any, seed: Any, engine: str, confidence: Any,
    precision: Any, measures: Sequence[str] | None, budget: Any, warmup: Any, start: Any, method: Any,
    quantiles: Sequence[float], records: bool, workers: Any, cluster: str | None, store: Store | None,
) -> Order:  # fmt: skip
    """The arguments of `simulate`, checked."""
    scenario.policy_in_force  # noqa: B018 - refuses a scenario whose policy is open
    faults = Faults()
    with faults.under(""):
        check_seed(seed)
    with faults.under(""):
        check_engine(engine)
    with faults.under(""):
        work.check_workers(workers)
    few = 1 if precision is None else 2
    count = (
        REPLICATIONS
        if replications is None
        else checks.integer(replications, "replications", faults, at_least=few, at_most=1_000_000)
    )
    checks.number(confidence, "confidence", faults, above=0)
    if isinstance(confidence, int | float) and confidence >= 1:
        faults.add("confidence", f"confidence must be below 1; got {confidence!r}", "0.95 is usual.")
    if precision is not None:
        checks.number(
            precision, "precision", faults, above=0,
            way_out="It is a relative half-width: 0.01 asks for intervals of one percent to each side.",
        )  # fmt: skip
    if budget is not None:
        checks.number(budget, "budget", faults, above=0, way_out="It is in seconds.")
    if warmup is not None:
        checks.number(warmup, "warmup", faults, at_least=0)
    if method not in ("jackknife", "delta"):
        faults.add("method", f"method must be jackknife or delta; got {method!r}")
    for p in quantiles:
        checks.number(p, "quantiles", faults, above=0, at_most=1 - 1e-9)
    for name in measures or ():
        if name not in SCALAR_MEASURES:
            faults.add("measures", f"measures must be names among {', '.join(SCALAR_MEASURES)}; got {name!r}")
    begin, length = Start(), Length(pages=PAGES)
    with faults.under(""):
        begin = Start.checked(start, scenario.top_level)
    with faults.under(""):
        default = PAGES if pages is None and time is None else pages
        length = Length(time=time, pages=default, bins=bins_for(scenario.top_level + 1))
    if records and store is not None:
        faults.add("records", "records must be off when a store is used; got both")
    faults.raise_if_any()
    assert count is not None
    return Order(
        job=Job(scenario, length, check_seed(seed), engine, begin, records),
        replications=count,
        fixed_length=pages is not None or time is not None,
        confidence=float(confidence),
        precision=precision,
        aims=tuple(measures) if measures else SCALAR_MEASURES,
        budget=BUDGET if budget is None else float(budget),
        warmup=warmup,
        method=method,
        quantiles=tuple(quantiles),
        workers=workers,
        cluster=cluster,
        store=store,
    )
