"""The report of a fit: what was read and cut, the rivals, the choice, and how good it is, with pictures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fitting.goodness import survival_of
from validate.report.blocks import Block, Cell, Column, Figure, Note, Points, Report, Section, Table, Text, Tone
from validate.report.draw import COLOURS, FAINT, draw, style_axes
from validate.report.provenance import gather

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fitting import FitResult
    from validate.fit_replay import ReplayCheck

POINTS = 3000
"""Points that a picture of the whole trace shows at most."""
_TONE: dict[str, Tone] = {"good": "good", "fair": "warn", "poor": "bad"}


def fit_report(result: FitResult, command: str = "", replayed: ReplayCheck | None = None) -> Report:
    """All of a fit on one page.

    Parameters
    ----------
    result : FitResult
        From `fitting.fit`.
    command : str
        How to make it again; made from the log's name by default.
    replayed : ReplayCheck, optional
        Losses of the replayed trace and of the model.

    Notes
    -----
    Cost: about a second for seven pictures.
    """
    words = result.goodness.verdict
    rate = result.numbers["page_rate"]
    return Report(
        title=f"Fit of {_name(result)}",
        summary=[
            f"**{words.capitalize()} fit**: {result.chosen.name}, {result.process.phases} phases.",
            f"{rate.value:.4g} pages a second (95% from {rate.low:.4g} to {rate.high:.4g}).",
            *[_plain(words) for words in result.goodness.words],
        ],
        sections=[
            Section("What was read", _read(result)),
            Section("Cleaning", _cleaning(result)),
            Section("Batches", _batches(result)),
            Section("Models side by side", _models(result)),
            Section("How good the fit is", _goodness(result)),
            *([Section("Replayed through a buffer", _replayed(replayed))] if replayed is not None else []),
        ],
        provenance=gather([result.scenario()], seeds=[result.seed]),
        command=command or f"crawltwin fit {_name(result)}",
        unconfirmed=[_plain(words) for words in result.warnings],
    )


def _name(result: FitResult) -> str:
    first = result.log.files[0].replace("\\", "/").rsplit("/", 1)[-1] if result.log.files else "a log"
    more = len(result.log.files) - 1
    return _plain(first) + (f" and {more} more" if more > 0 else "")


def _plain(text: str) -> str:
    """Text of a log as words without marks: what looks like markup must not become markup."""
    return "".join(" " if char in "`*[]" else char for char in text)


def _read(result: FitResult) -> list[Block]:
    log = result.log
    rows: list[tuple[str, Cell]] = [
        ("format", Cell(f"{log.format} ({'found' if log.detected else 'given'})")),
        ("rows", Cell(log.rows)),
        ("delivered pages", Cell(len(log))),
        *((f"dropped: {reason}", Cell(count)) for reason, count in log.dropped.items()),
        ("other lines", Cell(log.other_lines)),
        ("broken lines", Cell(log.broken)),
        ("out of order", Cell(log.out_of_order)),
        ("clock's step, s", Cell(log.resolution)),
    ]
    blocks: list[Block] = [Table("Account of the log", ["what", Column("value")], rows)]
    if log.broken_shown:
        blocks.append(Points([f"Broken line: {_plain(line)}" for line in log.broken_shown]))
    if log.notes:
        blocks.append(Points([_plain(note) for note in log.notes]))
    return blocks


def _thinned(x: Any, y: Any) -> tuple[Any, Any]:
    """At most `POINTS` points: the largest and the smallest of every bin, so that no pause is lost."""
    if len(x) <= POINTS:
        return x, y
    bins = np.array_split(np.arange(len(x)), POINTS // 2)
    kept = np.unique([index for part in bins for index in (part[np.argmin(y[part])], part[np.argmax(y[part])])])
    return x[kept], y[kept]


def _cleaning(result: FitResult) -> list[Block]:
    cleaning = result.cleaning
    used = [stretch for stretch in cleaning.stretches if stretch.used]
    known = math.isfinite(cleaning.limit)
    rule = f"Rule {cleaning.rule}: gaps above {cleaning.limit:.4g} s are pauses. " if known else ""
    text = rule + (
        f"{cleaning.pauses} pauses of {cleaning.paused_seconds:.4g} s in all were cut; {len(used)} of "
        f"{len(cleaning.stretches)} stretches are used."
    )
    rows = [
        (index, s.begin, s.end, s.pages, "yes" if s.used else "no")
        for index, s in enumerate(cleaning.stretches[:50], start=1)
    ]
    columns = [Column("stretch", "number"), Column("from, s", "number"), Column("to, s", "number")]
    blocks: list[Block] = [
        Text(text),
        _gaps_over_time(result),
        Table("Stretches", [*columns, Column("pages", "number"), "used"], rows),
        _rate_over_time(result),
    ]
    if result.stationarity.words:
        blocks.append(Note(" ".join(_plain(words) for words in result.stationarity.words), "warn"))
    return blocks


def _gaps_over_time(result: FitResult) -> Figure:
    seconds = result.log.seconds
    gaps = np.diff(seconds)
    floor = max(result.log.resolution / 2, 1e-9)
    x, y = _thinned(seconds[1:], np.maximum(gaps, floor))

    def paint(axes: Axes) -> None:
        axes.plot(x, y, ".", markersize=2, color=COLOURS[0], label="gap")
        if math.isfinite(result.cleaning.limit) and result.cleaning.limit < gaps.max() * 1e3:
            axes.axhline(result.cleaning.limit, color=COLOURS[1], marker="", label="pause limit")
        for stretch in result.cleaning.stretches[1:200]:
            axes.axvline(stretch.begin, color=FAINT, linewidth=0.8, marker="", linestyle="--")
        axes.set_yscale("log")
        style_axes(axes, "seconds since the first page", "gap, s")

    return draw(
        "gaps-over-time",
        paint,
        f"Gaps between pages over time, with {result.cleaning.pauses} cuts (dashed).",
        f"Points of gaps from {y.min():.3g} to {y.max():.3g} seconds over {seconds[-1]:.4g} seconds.",
    )


def _rate_over_time(result: FitResult) -> Figure:
    data = result.batches.segments
    windows = max(2, min(120, len(data) // 20))
    width = len(data) // windows
    means = data.gaps[: windows * width].reshape(windows, width).mean(axis=1)
    points = result.stationarity.change_points

    def paint(axes: Axes) -> None:
        axes.plot(np.arange(windows) * width, means, color=COLOURS[0], markersize=2, label=f"mean of {width} gaps")
        borders = [0, *points, len(data)]
        for index, level in enumerate(result.stationarity.levels):
            axes.plot(
                borders[index : index + 2],
                [level, level],
                color=COLOURS[1],
                marker="",
                linewidth=2,
                label="level" if index == 0 else "",
            )
        style_axes(axes, "gap number, pauses left out", "mean gap, s")
        axes.set_ylim(bottom=0)

    found = f"{len(points)} changes of level" if points else "no change of level"
    return draw(
        "mean-gap-over-time",
        paint,
        f"The mean gap along the trace: {found}.",
        f"A curve of the mean of {width} gaps at a time, between {means.min():.3g} and {means.max():.3g} seconds.",
    )


def _batches(result: FitResult) -> list[Block]:
    shares = result.batches.probabilities
    shown = min(shares.size, 20)

    def paint(axes: Axes) -> None:
        sizes = np.arange(1, shown + 1)
        axes.bar(sizes, shares[:shown], color=COLOURS[0], label="trace")
        model = np.zeros(shown)
        own = result.process.batch_sizes[:shown]
        model[: own.size] = own
        axes.plot(sizes, model, "D", color=COLOURS[1], linestyle="", label="model")
        style_axes(axes, "pages in a batch", "share", whole_x=True)

    rows = [
        (row["limit"], int(row["batches"]), row["mean_batch"], row["mean_gap"], _cell(row["scv"]), _cell(row["lag1"]))
        for row in result.sensitivity
    ]
    names = ("limit, s", "batches", "mean batch", "mean gap, s", "scv", "lag-1 correlation")
    return [
        Text(
            f"Rule {result.batches.rule}: gaps up to {result.batches.limit:.4g} s join pages. "
            f"{result.batch_test.words[0].upper()}{result.batch_test.words[1:]}."
        ),
        draw(
            "batch-sizes",
            paint,
            "Shares of batch sizes.",
            f"Bars of batch sizes from 1 to {shown}, the first {shares[0]:.3g}.",
        ),
        Table("What other limits would give", [Column(name, "number") for name in names], rows),
    ]


def _cell(value: float) -> Cell:
    return Cell(value if math.isfinite(value) else None)


def _models(result: FitResult) -> list[Block]:
    ranked = sorted(result.candidates, key=lambda c: c.bic)
    gaps = len(result.batches.segments)
    rows = [
        (
            Cell(c.name, tone="good" if c is result.chosen else "plain"),
            c.order,
            c.parameters,
            c.log_likelihood / gaps,
            _cell(c.held_out),
            c.aic,
            c.bic,
            "yes" if c.converged else "no",
        )
        for c in ranked
    ]
    names = ("phases", "numbers", "log-likelihood a gap", "held out", "AIC", "BIC")

    def paint(axes: Axes) -> None:
        places = np.arange(len(ranked))[::-1]
        axes.barh(places, [c.bic - ranked[0].bic + 1 for c in ranked], color=COLOURS[0])
        axes.set_yticks(places, [c.name for c in ranked])
        axes.set_xscale("log")
        style_axes(axes, "BIC above the best, plus 1", "")

    blocks: list[Block] = [
        Table("Models of the gaps", ["model", *[Column(name, "number") for name in names], "at rest"], rows),
        draw(
            "models",
            paint,
            f"{ranked[0].name} has the smallest BIC.",
            "Bars of the BIC of each model above the best one, on a logarithmic scale.",
            size=(6.4, 0.8 + 0.4 * len(ranked)),
        ),
    ]
    notes = [f"{c.name}: {_plain(note)}." for c in ranked for note in c.notes] + [
        _plain(w) + "." for w in result.failed
    ]
    if notes:
        blocks.append(Points(notes))
    return blocks


def _goodness(result: FitResult) -> list[Block]:
    good = result.goodness
    rows = [
        ("distance of the residuals from uniform", good.ks_distance, good.ks_p),
        ("largest correlation of the residuals", good.residual_correlation, good.ljung_box_p),
    ]
    numbers = [
        (name.replace("_", " "), _cell(value.value), _cell(value.low), _cell(value.high))
        for name, value in result.numbers.items()
    ]
    columns: list[Column | str] = [
        "number",
        Column("value", "number"),
        Column("95% from", "number"),
        Column("to", "number"),
    ]
    return [
        Note(f"{good.verdict.capitalize()} fit: {'; '.join(_plain(w) for w in good.words)}.", _TONE[good.verdict]),
        _distribution(result),
        _correlations(result),
        _dispersion(result),
        Table("Tests of the residuals", ["what", Column("size", "number"), Column("p", "number")], rows),
        Table("Numbers of the trace, intervals by block bootstrap", columns, numbers),
        Table(
            "Numbers of the fitted process, intervals by refits",
            columns,
            [
                (name.replace("_", " "), _cell(v.value), _cell(v.low), _cell(v.high))
                for name, v in result.model_numbers.items()
            ],
        ),
    ]


def _distribution(result: FitResult) -> Figure:
    gaps = np.sort(result.batches.segments.gaps)
    above = 1 - (np.arange(gaps.size) + 0.5) / gaps.size
    kept = np.unique(
        np.concatenate(
            [
                np.linspace(0, gaps.size - 1, min(400, gaps.size)),
                gaps.size - 1 - np.geomspace(1, gaps.size, 200) + 1,
            ]
        )
        .astype(np.int64)
        .clip(0, gaps.size - 1)
    )
    grid = np.geomspace(gaps[0], gaps[-1], 200)
    survival = np.maximum(survival_of(result.chosen.model, grid), 1e-12)

    def paint(axes: Axes) -> None:
        axes.plot(gaps[kept], above[kept], ".", markersize=3, color=COLOURS[0], label="trace")
        axes.plot(grid, survival, color=COLOURS[1], marker="", label="model")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.2 / gaps.size)
        style_axes(axes, "gap, s", "share of longer gaps")

    return draw(
        "gap-distribution",
        paint,
        "Share of gaps that are longer, trace and model.",
        "Two falling curves on logarithmic scales, one of the trace and one of the model.",
    )


def _correlations(result: FitResult) -> Figure:
    good = result.goodness
    n = len(result.batches.segments)
    # Bartlett's band for a process with the model's own correlations: 1.96 sqrt((1 + 2 sum rho^2)/n) at each lag.
    before = np.concatenate([[0.0], np.cumsum(good.model_correlations**2)[:-1]])
    band = 1.96 * np.sqrt((1 + 2 * before) / n)

    def paint(axes: Axes) -> None:
        axes.fill_between(
            good.lags,
            good.model_correlations - band,
            good.model_correlations + band,
            color=COLOURS[1],
            alpha=0.2,
            linewidth=0,
            label="95% band of the model",
        )
        axes.plot(good.lags, good.trace_correlations, ".", markersize=4, color=COLOURS[0], label="trace")
        axes.plot(good.lags, good.model_correlations, color=COLOURS[1], marker="", label="model")
        axes.axhline(0, color=FAINT, linewidth=0.8, marker="")
        style_axes(axes, "lag", "correlation of gaps", whole_x=True)

    first = good.trace_correlations[0]
    return draw(
        "correlations",
        paint,
        f"Correlations of the gaps to lag {int(good.lags[-1])}, trace and model.",
        f"Points of the trace starting at {first:.3g} and a curve of the model starting at "
        f"{good.model_correlations[0]:.3g}.",
        data={"lag": good.lags.tolist(), "model": good.model_correlations.tolist()},
    )


def _dispersion(result: FitResult) -> Figure:
    good = result.goodness

    def paint(axes: Axes) -> None:
        axes.plot(good.horizons, good.trace_idc, "o", linestyle="", color=COLOURS[0], label="counts, trace")
        axes.plot(good.horizons, good.model_idc, color=COLOURS[0], marker="", label="counts, model")
        scale = good.horizons[0]
        axes.plot(good.spans * scale, good.trace_idi, "s", linestyle="", color=COLOURS[1], label="intervals, trace")
        axes.plot(good.spans * scale, good.model_idi, color=COLOURS[1], marker="", label="intervals, model")
        axes.set_xscale("log")
        axes.set_yscale("log")
        style_axes(axes, "seconds (for intervals: number of gaps times their mean)", "index of dispersion")

    return draw(
        "dispersion",
        paint,
        "Burstiness over longer and longer times: indices of dispersion for counts and intervals.",
        "Points of the trace and curves of the model over time on logarithmic scales.",
    )


def _replayed(check: ReplayCheck) -> list[Block]:
    rows = [(row.load, row.replayed, row.low, row.high, row.solved, row.poisson, row.verdict) for row in check.rows]
    names = ("load", "trace", "95% from", "to", "model", "Poisson")
    loads = [row.load for row in check.rows]

    def paint(axes: Axes) -> None:
        spread = [[row.replayed - row.low for row in check.rows], [row.high - row.replayed for row in check.rows]]
        axes.errorbar(
            loads, [row.replayed for row in check.rows], np.maximum(spread, 0), fmt="o", capsize=4, label="trace"
        )
        axes.plot(loads, [row.solved for row in check.rows], label="model")
        axes.plot(loads, [row.poisson for row in check.rows], label="Poisson stream")
        style_axes(axes, "load of the indexer", "share of pages lost")
        axes.set_ylim(bottom=0)

    tone: dict[str, Tone] = {"equivalent": "good", "inconclusive": "warn", "different": "bad"}
    return [
        Note(check.words[0].upper() + check.words[1:] + ".", tone[check.verdict]),
        draw(
            "replay",
            paint,
            f"Losses with {check.capacity} places: the recorded trace, the fitted model, a Poisson stream.",
            "Points of the trace with intervals, a curve of the model near them and one of a Poisson stream below.",
        ),
        Table("Losses of trace and model", [*[Column(name, "number") for name in names], "verdict"], rows),
    ]
