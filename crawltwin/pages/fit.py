"""The report of a fit: what was read and cut, the rivals, the choice, and how good it is, with pictures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from crawltwin.pages.crosscheck import VERDICT_TONES
from crawltwin.pages.fit_pictures import (
    correlations,
    counts_over_time,
    dispersion,
    gap_distribution,
    gaps_over_time,
    losses_by_load,
    pace_picture,
    rate_over_time,
)
from crawltwin.plan.wording import in_percent, in_time, number_words, with_interval
from crawltwin.report import (
    COLOURS,
    Block,
    Cell,
    Column,
    Note,
    Points,
    Report,
    Section,
    Table,
    Text,
    Tone,
    draw,
    gather,
    style_axes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from crawltwin.model.interval import Interval
    from fitting import FitResult
    from fitting.trace.cleaning import Cleaning
    from validate.logs.losses import LossAgreement

_TONE: dict[str, Tone] = {"good": "good", "fair": "warn", "poor": "bad"}


def fit_report(
    result: FitResult,
    command: str = "",
    replayed: LossAgreement | None = None,
    sources: Mapping[str, str] | None = None,
) -> Report:
    """All of a fit on one page.

    Parameters
    ----------
    result : FitResult
        From `fitting.fit`.
    command : str
        How to make it again; made from the log's name by default.
    replayed : LossAgreement, optional
        Losses of the replayed trace and of the model.
    sources : mapping, optional
        Files of the log with their digests.

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
            f"Delivered: {with_interval(rate.value, rate.low, rate.high, kind='rate')} (95% in brackets).",
            *map(_sentence, result.goodness.words),
        ],
        sections=[
            Section("What was read", _read(result)),
            *_trace_sections(result),
            Section("Models side by side", _models(result)),
            *([Section("Robots", robots)] if (robots := _robots(result)) else []),
            Section("How good the fit is", _goodness(result)),
            *([Section("Replayed through a buffer", _replayed(replayed))] if replayed is not None else []),
        ],
        provenance=gather([result.scenario()], seeds=[result.seed], sources=sources),
        command=command or f"crawltwin fit {_name(result)}",
        unconfirmed=[*map(_sentence, [*result.warnings, *_not_agreed(replayed)])],
    )


def _trace_sections(result: FitResult) -> list[Section]:
    if not result.counted:
        return [Section("Cleaning", _cleaning(result)), Section("Batches", _batches(result))]
    return [
        Section("What counts cannot tell", [Points([*map(_sentence, result.cannot_tell)])]),
        Section("Pages in each interval", _counts(result)),
    ]


def _counts(result: FitResult) -> list[Block]:
    cleaning = result.cleaning
    text = f"{_pauses(cleaning)}."
    blocks: list[Block] = [Text(text), counts_over_time(result)]
    if result.stationarity.words:
        blocks.append(Note(" ".join(_sentence(words) for words in result.stationarity.words), "warn"))
    return blocks


def _name(result: FitResult) -> str:
    first = result.log.files[0].replace("\\", "/").rsplit("/", 1)[-1] if result.log.files else "a log"
    more = len(result.log.files) - 1
    return _plain(first) + (f" and {more} more" if more > 0 else "")


def _sentence(clause: str) -> str:
    """A clause about a log as a sentence."""
    return _plain(clause[:1].upper() + clause[1:]).rstrip(".") + "."


def _plain(text: str) -> str:
    """Text of a log as words without marks: what looks like markup must not become markup."""
    return "".join(" " if char in "`*[]" else char for char in text)


def _read(result: FitResult) -> list[Block]:
    log = result.log
    account = log.account()
    rows: list[tuple[str, Cell]] = [
        ("format", Cell(f"{log.format} ({'found' if log.detected else 'given'})")),
        ("intervals" if result.counted else "rows", Cell(account["rows"])),
        ("delivered pages", Cell(account["deliveries"])),
        *((f"dropped: {reason}", Cell(count)) for reason, count in account["dropped"].items()),
        ("other lines", Cell(log.other_lines)),
        ("broken lines", Cell(account["broken"])),
        ("out of order", Cell(account["out_of_order"])),
        ("interval, s" if result.counted else "clock's step, s", Cell(account["resolution"])),
    ]
    blocks: list[Block] = [Table("Account of the log", ["what", Column("value")], rows)]
    if account["broken_lines"]:
        blocks.append(Points([f"Broken line: {_plain(line)}" for line in account["broken_lines"]]))
    if log.notes:
        blocks.append(Points([*map(_sentence, log.notes)]))
    return blocks


def _cleaning(result: FitResult) -> list[Block]:
    cleaning = result.cleaning
    used = [stretch for stretch in cleaning.stretches if stretch.used]
    known = math.isfinite(cleaning.limit)
    rule = f"Gaps above {in_time(cleaning.limit)} are pauses (rule: {cleaning.rule}). " if known else ""
    text = f"{rule}{_pauses(cleaning)}; {len(used)} of {len(cleaning.stretches)} stretches are used."
    rows = [
        (index, Cell(s.begin, in_time(s.begin)), Cell(s.end, in_time(s.end)), s.pages, "yes" if s.used else "no")
        for index, s in enumerate(cleaning.stretches[:50], start=1)
    ]
    columns = [Column("stretch", "number"), Column("from", "number"), Column("to", "number")]
    blocks: list[Block] = [
        Text(text),
        gaps_over_time(result),
        Table("Stretches", [*columns, Column("pages", "number"), "used"], rows),
        rate_over_time(result),
    ]
    if result.season is not None and result.season.pace is not None:
        blocks += [Note(f"Time of day: {result.season.in_words()}."), pace_picture(result.season)]
    if result.stationarity.words:
        blocks.append(Note(" ".join(_sentence(words) for words in result.stationarity.words), "warn"))
    return blocks


def _pauses(cleaning: Cleaning) -> str:
    """How much was cut, as a clause."""
    if not cleaning.pauses:
        return "No pause was cut"
    each = "1 pause was" if cleaning.pauses == 1 else f"{cleaning.pauses} pauses were"
    return f"{each} cut, {in_time(cleaning.paused_seconds)} in all"


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

    rows: list[tuple[Cell, ...]] = [
        (
            Cell(row["limit"], f"{row['limit']:.3g}"),
            Cell(int(row["batches"])),
            *(_cell(row[name], 4) for name in ("mean_batch", "mean_gap", "scv", "lag1")),
        )
        for row in result.sensitivity
    ]
    names = ("limit, s", "batches", "mean batch", "mean gap, s", "variation", "lag-1 correlation")
    return [
        Text(
            f"Gaps up to {result.batches.limit:.4g} s join pages (rule: {result.batches.rule}). "
            f"{result.batch_test.words[0].upper()}{result.batch_test.words[1:]}."
        ),
        draw(
            "batch-sizes",
            paint,
            "Shares of batch sizes.",
            f"Bars of batch sizes from 1 to {shown}, the first {shares[0]:.3g}.",
        ),
        Table(
            "What other limits would give (variation: squared coefficient of variation of the gaps)",
            [Column(name, "number") for name in names],
            rows,
        ),
    ]


def _cell(value: float, digits: int = 6) -> Cell:
    return Cell(value, f"{value:.{digits}g}") if math.isfinite(value) else Cell(None)


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
    one, what = ("interval", "counts") if result.counted else ("gap", "gaps")
    names = ("phases", "numbers", f"log-likelihood per {one}", "held out", "AIC", "BIC")

    def paint(axes: Axes) -> None:
        places = np.arange(len(ranked))[::-1]
        axes.barh(places, [c.bic - ranked[0].bic + 1 for c in ranked], color=COLOURS[0])
        axes.set_yticks(places, [c.name for c in ranked])
        axes.set_xscale("log")
        style_axes(axes, "BIC above the best, plus 1", "")

    blocks: list[Block] = [
        Table(f"Models of the {what}", ["model", *[Column(name, "number") for name in names], "at rest"], rows),
        draw(
            "models",
            paint,
            f"{ranked[0].name} has the smallest BIC.",
            "Bars of the BIC of each model above the best one, on a logarithmic scale.",
            height=0.8 + 0.36 * len(ranked),
        ),
    ]
    notes = [f"{c.name}: {_plain(note)}." for c in ranked for note in c.notes] + [
        _plain(w) + "." for w in result.failed
    ]
    if notes:
        blocks.append(Points(notes))
    return blocks


def _robots(result: FitResult) -> list[Block]:
    """What the log tells of its robots, and the models of those that it names side by side."""
    words = [words for told in (result.robots, result.named) if told is not None for words in told.words]
    if not words:
        return []
    blocks: list[Block] = [Points([*map(_sentence, words)])]
    named = result.named
    if named is not None and named.held_out:
        rows = [
            (
                Cell(name, tone="good" if name == named.kind else "plain"),
                _cell(value),
                *map(_cell, named.gains.get(name, (math.nan, math.nan))),
            )
            for name, value in named.held_out.items()
        ]
        names = ("held out per delivery", "gain over pooled", "standard error")
        blocks.append(Table("Models of the named robots", ["model", *[Column(one, "number") for one in names]], rows))
    return blocks


def _goodness(result: FitResult) -> list[Block]:
    good = result.goodness
    rows = [
        ("distance of the residuals from uniform", _cell(good.ks_distance, 3), _cell(good.ks_p, 2)),
        ("largest correlation of the residuals", _cell(good.residual_correlation, 3), _cell(good.ljung_box_p, 2)),
    ]
    return [
        Note(f"{good.verdict.capitalize()} fit: {'; '.join(_plain(w) for w in good.words)}.", _TONE[good.verdict]),
        *([] if result.counted else [gap_distribution(result)]),
        correlations(result),
        dispersion(result),
        Table("Tests of the residuals", ["what", Column("size", "number"), Column("p", "number")], rows),
        _intervals("Numbers of the trace", "block bootstrap", result.numbers),
        _intervals("Numbers of the fitted process", "refits", result.model_numbers),
    ]


def _intervals(caption: str, how: str, numbers: Mapping[str, Interval]) -> Table:
    """Numbers with their intervals, and how those were found; only the numbers where there is none."""
    known = any(math.isfinite(one.high - one.low) for one in numbers.values())
    return Table(
        f"{caption}, intervals by {how}" if known else f"{caption}, without intervals",
        ["number", Column("value (95%)" if known else "value", "number")],
        [
            (words, Cell(one.value, with_interval(one.value, one.low, one.high, kind=kind)))
            for name, one in numbers.items()
            for words, kind in [number_words(name)]
            if math.isfinite(one.value)
        ],
    )


def _not_agreed(check: LossAgreement | None) -> list[str]:
    """What the replayed losses leave open, or deny."""
    return [] if check is None or check.verdict == "equivalent" else [check.words]


def _replayed(check: LossAgreement) -> list[Block]:
    rows = [
        (
            Cell(row.load),
            Cell(row.verdict, tone=VERDICT_TONES[row.verdict]),
            Cell(row.replayed, with_interval(row.replayed, row.low, row.high, kind="share")),
            *(Cell(value, in_percent(value)) for value in (row.solved, row.poisson)),
        )
        for row in check.rows
    ]
    numbers = [Column(name, "number") for name in ("lost by the trace (95%)", "by the model", "by a Poisson stream")]
    return [
        Note(check.words[0].upper() + check.words[1:] + ".", VERDICT_TONES[check.verdict]),
        losses_by_load(check),
        Table("Losses of trace and model", [Column("load", "number"), "verdict", *numbers], rows),
    ]
