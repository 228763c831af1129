"""What people see of a fit: the cleaned trace, the rival models, the verdict."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from crawltwin.cli.output import number, say, show_notes, show_table
from crawltwin.plan.wording import number_words, with_interval

if TYPE_CHECKING:
    from fitting import FitResult
    from validate.logs.losses import LossAgreement

STYLES = {"good": "bold green", "fair": "bold yellow", "poor": "bold red"}


_SHOWN = (
    "page_rate", "interval", "mean_count", "count_dispersion", "mean_gap", "scv", "mean_batch", "correlation_1",
    "correlation_10",
)  # fmt: skip
SIZES_SHOWN = 10
_OF_GAPS = ("mean_gap", "scv", "mean_batch")
"""What a log of counts does not tell."""


def show_fit(result: FitResult, replayed: LossAgreement | None, assumed: list[str]) -> None:
    """The trace, the models of its gaps, batches, sizes, the verdict and what is only assumed."""
    answer = result.to_json()
    _trace(answer["trace"], result.counted, result.paused_share)
    _candidates(result)
    if result.counted:
        show_notes(result.cannot_tell, "Counts cannot tell", "")
    sizes = ", ".join(_batch_sizes(answer["batch_sizes"]))
    if result.season is not None and result.season.found:
        say(f"Time of day: {result.season.in_words()}.", style="bold")
    if not result.counted:
        say(f"Batch sizes {sizes}; {result.batch_test.words}.")
    for name, fit in (("Content size (bytes)", result.sizes), ("Time until stale (s)", result.obsolescence)):
        if fit is not None:
            law = fit.distribution
            say(f"{name}: {law.order} phases, mean {law.mean:.6g}, scv {law.scv:.4g} ({fit.method}).")
    if result.robots is not None:
        say("Robots: " + "; ".join(result.robots.words) + ".")
    if result.named is not None:
        say("Named robots: " + "; ".join(result.named.words) + ".")
    if result.evidence.known:
        say(f"Other numbers of robots: {result.evidence.words}.")
    if result.modes is not None:
        say(f"Robots: {'; '.join(result.modes.words)}.")
    say(f"Verdict: {result.goodness.verdict} fit", style=STYLES[result.goodness.verdict])
    say(*(f"  - {words}" for words in result.goodness.words))
    show_notes((*(note for note in result.warnings if note not in result.goodness.words), *assumed))
    if replayed is not None:
        say(f"Replayed through a buffer: {replayed.words}.")


def _batch_sizes(shares: list[float]) -> list[str]:
    """Shares of the batches by their pages: sizes up to `SIZES_SHOWN` one by one, larger ones in one entry."""
    shown = [f"{k}: {p:.3g}" for k, p in enumerate(shares[:SIZES_SHOWN], start=1) if p > 0]
    larger = [k for k, p in enumerate(shares, start=1) if p > 0 and k > SIZES_SHOWN]
    if larger:
        span = f"{larger[0]}" if len(larger) == 1 else f"{larger[0]} to {larger[-1]}"
        shown.append(f"{span}: {sum(shares[SIZES_SHOWN:]):.3g}")
    return shown


def _candidates(result: FitResult) -> None:
    rows = [
        (
            ("> " if one is result.chosen else "  ") + one.name,
            str(one.order),
            str(one.parameters),
            number(one.log_likelihood / len(result.batches.segments), 6),
            number(one.held_out, 6),
            f"{one.bic:.0f}",
            f"{one.seconds:.1f}" if one.converged else f"{one.seconds:.1f}, not at rest",
        )
        for one in sorted(result.candidates, key=lambda candidate: candidate.bic)
    ]
    one, what = ("interval", "counts") if result.counted else ("gap", "gaps between batches")
    headings = ("model", ">phases", ">numbers", f">log-lik. per {one}", ">held out", ">BIC", ">s")
    show_table(f"models of the {what}", headings, rows, bold=0)
    if result.counted:
        show_notes((f"{c.name}: {note}" for c in result.candidates for note in c.notes), "Note", "")


def _trace(trace: dict[str, Any], counted: bool, paused_share: float) -> None:
    how = "found" if trace["detected"] else "given"
    say(f"{', '.join(trace['files'])}: {trace['format']} ({how})", style="bold")
    dropped = ", ".join(f"{count} {reason}" for reason, count in trace["dropped"].items()) or "none"
    cleaning, batching = trace["cleaning"], trace["batching"]
    limit = "no limit" if cleaning["limit"] is None else f"gaps above {cleaning['limit']:.4g} s"
    found = len(cleaning["stretches"])
    stretches = "1 stretch" if found == 1 else f"{found} stretches"
    paused = f" ({paused_share:.0%} of the time)" if cleaning["pauses"] else ""
    used = sum(1 for stretch in cleaning["stretches"] if stretch["used"])
    what = "intervals" if counted else "rows"
    batches = f"Batches ({batching['rule']}): gaps up to {batching['limit']:.4g} s join pages"
    say(
        f"{trace['rows']} {what}, {trace['deliveries']} delivered pages; dropped: {dropped}; {trace['broken']} broken "
        f"lines, {trace['out_of_order']} out of order, clock of {trace['resolution']:g} s",
        f"Pauses ({cleaning['rule']}, {limit}): {cleaning['pauses']} cut{paused}, {stretches}, "
        f"{used} used; squared coefficient of variation {number(cleaning['scv_before'], 4)} before, "
        f"{number(cleaning['scv_after'], 4)} after",
        *(() if counted else (batches,)),
    )
    rows = [
        (words, with_interval(*(_known(trace["moments"][name][key]) for key in ("value", "low", "high")), kind=kind))
        for name in _SHOWN
        for words, kind in [number_words(name)]
        if name in trace["moments"] and (name not in _OF_GAPS or not counted)
    ]
    show_table("", ("of the trace", ">value (95%)"), rows)


def _known(value: float | None) -> float:
    return math.nan if value is None else value
