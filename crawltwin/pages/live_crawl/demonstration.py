"""The page of the demonstration: predicted against measured, the crawls over time, and what was saved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crawltwin.live.demo.demonstration import Course, Demonstration
from crawltwin.live.demo.predictions import BAR, Judged
from crawltwin.live.demo.settings import WEIGHTS
from crawltwin.pages.crosscheck import VERDICT_TONES, pages_missing
from crawltwin.plan.wording import kind_of, with_interval
from crawltwin.report import (
    COLOURS,
    Cell,
    Column,
    Figure,
    Points,
    Report,
    Section,
    Table,
    Text,
    draw,
    gather,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ("o", "s", "^")


def live_report(found: Demonstration, command: str) -> Report:
    """Everything that `crawltwin live demo` found."""
    settings, saved = found.settings, found.saved
    verdicts = [one for judged in found.judged for one in judged.verdicts]
    bar = "lie" if found.within_bar else "do **not** all lie"
    summary = [
        f"Five policies were predicted from one crawl and then obeyed by a real crawler: **{found.verdict}**.",
        (
            f"Under thresholds, mean pages, stale share and active robots {bar} in their measured intervals or within "
            f"{settings.margin:.0%} of them."
        ),
        (
            f"{found.recommended.phrase.capitalize()} cost {saved['recommended']:.3g} where "
            f"{found.first.prediction.policy.phrase} cost {saved['always']:.3g}, both measured."
        ),
    ]
    return Report(
        "A crawler that obeys, predicted beforehand",
        summary,
        [_predictions(found), _times(found), _cost(found), _model(found), _everything(found)],
        gather(
            {"fitted crawl": found.fitted.scenario(found.recommended, WEIGHTS)},
            seeds=[settings.seed],
            seconds={"demonstration": found.seconds},
            libraries=("scrapy",),
        ),
        command,
        [
            f"{one.comparison.part}: {one.comparison.measure.replace('_', ' ')}: {one.needs}"
            for one in verdicts
            if one.word != "equivalent"
        ],
        found.to_json(),
    )


def _predictions(found: Demonstration) -> Section:
    settings = found.settings
    rows = [
        (
            one.prediction.policy.short,
            name.replace("_", " "),
            _word(one, name),
            _amount(name, one.prediction.values[name]),
            _seen(one, name, settings.confidence),
            Cell(
                *(("yes", "", "good") if one.within(name, settings.margin, settings.confidence) else ("no", "", "bad"))
            ),
        )
        for one in found.judged
        for name in BAR
    ]
    heads: list[Column | str] = [
        "policy",
        "measure",
        "verdict",
        Column("predicted", "number"),
        Column(f"measured ({settings.confidence:.0%})", "number"),
        f"in the interval or within {settings.margin:.0%}",
    ]
    return Section(
        "Predicted against measured",
        [
            Text(
                "The predictions were made after the first crawl and before the others. Intervals are from batch "
                "means; verdicts count the doubt of the prediction, which comes from the length of the first one, "
                "too. Where an interval would begin below 0, it is shown from 0."
            ),
            Text(
                "A policy `4,1@3` runs 4 robots while at most 3 pages are in the system and 1 above; `4,1@5/1` runs 4 "
                "again when 1 page is left; `4,1@3:0.5` looks at the backlog every 0.5 s on average only."
            ),
            Table("Pages, stale share and active robots under each policy", heads, rows, name="bar"),
            _ratio_figure(found),
        ],
    )


def _ratio_figure(found: Demonstration) -> Figure:
    confidence = found.settings.confidence

    def paint(axes: Axes) -> None:
        for index, name in enumerate(BAR):
            for place, one in enumerate(found.judged):
                predicted, seen = one.prediction.values[name], one.measured.interval(name, confidence)
                if predicted > 0:
                    x = place + 0.2 * (index - 1)
                    low = max(0.0, seen.low)
                    reach = [[(seen.value - low) / predicted], [(seen.high - seen.value) / predicted]]
                    label = name.replace("_", " ") if place == 0 else None
                    axes.errorbar(
                        [x], [seen.value / predicted], reach, color=COLOURS[index], marker=MARKERS[index], label=label
                    )
        axes.axhline(1.0, color=COLOURS[3], linewidth=1, marker="")
        axes.set_xticks(range(len(found.judged)), [one.prediction.policy.short for one in found.judged])
        style_axes(axes, "policy", "measured / predicted")

    ratios = [
        one.prediction.values[n] / one.measured.values[n]
        for one in found.judged
        for n in BAR
        if one.measured.values[n] > 0
    ]
    worst = max((abs(ratio - 1) for ratio in ratios), default=0.0)
    return draw(
        "predicted-measured",
        paint,
        f"Measured over predicted with {confidence:.0%} intervals; one is a perfect prediction.",
        f"{len(ratios)} ratios of measured to predicted values; the worst prediction is off by {worst:.0%}.",
    )


def _times(found: Demonstration) -> Section:
    own = next(k for k, one in enumerate(found.judged, start=1) if one.prediction.policy == found.recommended)
    figures = [
        _course_figure(found.courses[0], found, "always"),
        _course_figure(found.courses[own], found, "recommended"),
    ]
    return Section("Backlog and robots over time", figures)


def _course_figure(course: Course, found: Demonstration, name: str) -> Figure:
    def paint(axes: Axes) -> None:
        axes.step(course.seconds, course.level, where="post", color=COLOURS[0], marker="", label="pages in the system")
        axes.step(course.seconds, course.robots, where="post", color=COLOURS[1], marker="", label="robots wanted")
        axes.set_ylim(0, found.settings.capacity + 1)
        style_axes(axes, "seconds", "number")

    mean = sum(course.level) / len(course.level)
    return draw(
        f"course-{name}",
        paint,
        f"The crawl under {course.policy}: pages that wait or are being indexed, and robots wanted.",
        f"Between 0 and {max(course.level)} pages are in the system, {mean:.1f} on average.",
        height=3.0,
    )


def _cost(found: Demonstration) -> Section:
    confidence = found.settings.confidence
    rows = [
        (
            one.prediction.policy.short,
            _amount("cost", one.prediction.values["cost"]),
            _seen(one, "cost", confidence),
        )
        for one in (found.first, *found.judged)
    ]
    measured = Column(f"measured ({confidence:.0%})", "number")
    heads: list[Column | str] = ["policy", Column("predicted", "number"), measured]
    return Section("What was saved", [Text(f"Weights: {WEIGHTS.words}."), Table("Cost", heads, rows, name="cost")])


def _model(found: Demonstration) -> Section:
    fitted, calibration = found.fitted, found.calibration
    return Section(
        "The model, and how it was fitted",
        [
            Points(
                [
                    f"{fitted.pages:,} pages of the first crawl; load {fitted.load:.2f}.",
                    (
                        f"Fetch: mean {fitted.fetch.mean:.3g} s in the normal spell, {fitted.methods['fetch']}. "
                        + (
                            f"A robot pauses {1000 * fitted.pause:.0f} ms between two fetches, which counts into "
                            "the fetch."
                            if fitted.pause > 0
                            else "No pause of a robot between two fetches can be told."
                        )
                    ),
                    (
                        f"Indexing: mean {fitted.service.mean:.3g} s, {fitted.methods['service']}. The work "
                        f"itself took {1000 * calibration.work:.0f} ms per page; the rest is waited for."
                    ),
                    "Lifetime: "
                    + (
                        f"mean {fitted.lifetime.mean:.3g} s, {fitted.methods['lifetime']}."
                        if fitted.lifetime is not None
                        else "no page went stale."
                    ),
                    (
                        f"Processes waiting per core of this machine at the end: {found.busy:.2g}. Above one, other "
                        "work slows the crawl down in ways that no model of the crawl knows."
                    ),
                ]
            )
        ],
    )


def _everything(found: Demonstration) -> Section:
    rows = [
        (
            one.prediction.policy.short,
            verdict.comparison.measure.replace("_", " "),
            Cell(verdict.word, tone=VERDICT_TONES[verdict.word]),
            _amount(verdict.comparison.measure, verdict.comparison.solved, verdict.comparison.solved_error),
            _amount(verdict.comparison.measure, verdict.comparison.simulated, low=verdict.low, high=verdict.high),
            pages_missing(verdict),
        )
        for one in found.judged
        for verdict in one.verdicts
    ]
    numbers = ("predicted (less and plus its doubt)", "measured (low to high)", "pages missing")
    heads: list[Column | str] = ["policy", "measure", "verdict", *[Column(name, "number") for name in numbers]]
    words = (
        f"Low and high are one-sided bounds at {found.settings.confidence:.0%}, as the verdicts need them: the "
        "interval between them is narrower than the one above."
    )
    return Section(
        "Every measure", [Text(words), Table("Every measure of every policy", heads, rows, name="everything")]
    )


def _seen(one: Judged, name: str, confidence: float) -> Cell:
    seen = one.measured.interval(name, confidence)
    return _amount(name, one.measured.values[name], low=seen.low, high=seen.high)


def _amount(name: str, value: float, error: float = 0.0, low: float = math.nan, high: float = math.nan) -> Cell:
    """A measure in its unit, rounded to its doubt; no measure is below 0, so no interval begins there."""
    if not math.isfinite(value):
        return Cell(None)
    if error > 0:
        low, high = value - error, value + error
    return Cell(value, with_interval(value, max(0.0, low) if math.isfinite(low) else low, high, kind=kind_of(name)))


def _word(one: Judged, name: str) -> Cell:
    found = next((verdict for verdict in one.verdicts if verdict.comparison.measure == name), None)
    return Cell("not judged") if found is None else Cell(found.word, tone=VERDICT_TONES[found.word])
