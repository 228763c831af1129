"""The numbers printed in the text, each computed anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from validate.paper.judging.cells import judge_number
from validate.paper.judging.finding import Finding, TextPlace
from validate.paper.judging.landscape import Landscape
from validate.paper.printed.number import Printed
from validate.paper.printed.source import paper
from validate.paper.printed.systems import first_example, two_branches
from validate.paper.tables.measured import Range, from_A


def findings() -> tuple[Finding, ...]:
    """One finding per number. Cost: milliseconds."""
    values = _values()
    results = []
    for item in paper()["numbers"]:
        printed = Printed(item["printed"])
        if item["name"] == "measured: mean batch size":
            results.append(_mean_batch(item["place"], printed))
        elif item["name"] in values:
            results.append(judge_number(TextPlace(item["place"], item["name"]), printed, values[item["name"]]()))
    return tuple(results)


def _values() -> Mapping[str, Callable[[], float]]:
    example, measured, landscape = first_example(), from_A().scenario(), Landscape.of(first_example())
    clock, service = example.obsolescence, measured.service
    assert clock is not None
    values: dict[str, Callable[[], float]] = {
        "mean service time": lambda: example.service.mean,
        "mean time until obsolescence": lambda: clock.mean,
        "optimal cost": lambda: landscape.best.cost,
        "least first rate of service": lambda: paper()["variances"]["weights"][0] / example.service.mean,
        "measured: mean service time": lambda: service.mean,
        "measured: squared coefficient of variation of service": lambda: service.scv,
    }
    for rate in (1.521, 9.0, 4.0):
        values[f"service variance at first rate {rate:g}"] = partial(_variance, rate, example.service.mean)
    for rate in (0.2, 7.0):
        values[f"obsolescence variance at first rate {rate:g}"] = partial(_variance, rate, clock.mean)
    for robots in range(1, 5):
        label = f"{robots} robot{'s' if robots > 1 else ''}"
        mode, real = example.arrivals.mode(robots), measured.arrivals.mode(robots)
        values[f"page rate, {label}"] = partial(getattr, mode, "page_rate")
        values[f"batch rate, {label}"] = partial(getattr, mode, "batch_rate")
        values[f"correlation, {label}"] = mode.correlation
        values[f"cost, {label} always"] = partial(landscape.fixed.__getitem__, robots)
        values[f"measured: page rate, {label}"] = partial(getattr, real, "page_rate")
    return values


def _variance(rate: float, mean: float) -> float:
    return two_branches(rate, mean).variance


def _mean_batch(place: str, printed: Printed) -> Finding:
    """Sixteen digits are printed, the probabilities with seven to eleven: an interval is what they allow."""
    texts = paper()["measured"]["batch_sizes"]
    ours = sum(size * float(text) for size, text in enumerate(texts, start=1))
    ranges = [Range.of(text) for text in texts]
    low = sum(size * item.low for size, item in enumerate(ranges, start=1))
    high = sum(size * item.high for size, item in enumerate(ranges, start=1))
    inside = low <= float(printed.value) <= high
    return Finding(
        TextPlace(place, "measured: mean batch size"),
        printed.text,
        f"{ours:.10f}",
        "reproduced" if inside else "not reproducible",
        "within the rounding of the inputs" if inside else "outside the rounding of the inputs",
        f"The printed probabilities give {ours:.10f}; before they were rounded it was between {low:.10f} and "
        f"{high:.10f}.",
        ours,
    )
