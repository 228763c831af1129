"""The rows of judged plans as tables."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

BAD = 0.05
"""Cost above the best policy from which on a plan was badly wrong."""
WORDS = ("TRUSTED", "PROVISIONAL", "NOT TRUSTED", "no plan")
Rows = Sequence[dict[str, Any]]


def holds(one: dict[str, Any]) -> bool:
    """Whether an interval holds the truth, up to rounding."""
    room = 1e-9 * abs(one["truth"])
    return bool(one["low"] - room <= one["truth"] <= one["high"] + room)


def moves(one: dict[str, Any]) -> bool:
    """Whether a number is in doubt at all: the robots that run today are a given number."""
    return bool(one["high"] - one["low"] > 1e-9 * abs(one["high"]))


def held(intervals: Iterable[dict[str, Any]]) -> float:
    """Share of the intervals that hold the truth."""
    return float(np.mean([holds(one) for one in intervals if moves(one)]))


def coverage(rows: Rows, by: Callable[[dict[str, Any], dict[str, Any]], str], head: str) -> list[str]:
    """Intervals that hold the truth, by what `by` says of a plan and of an interval."""
    groups: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for row in rows:
        for one in row["intervals"]:
            if moves(one):
                groups.setdefault(by(row, one), []).append((row, one))
    lines = [f"| {head} | plans | intervals | hold the truth |", "|---|---:|---:|---:|"]
    for name, every in groups.items():
        plans = len({(row["kind"], row["seed"]) for row, _ in every})
        lines.append(f"| {name} | {plans} | {len(every)} | {held(one for _, one in every):.1%} |")
    return lines


def verdicts(rows: Rows) -> list[str]:
    """What each verdict was worth."""
    lines = [
        f"| verdict | plans | weights: above the best | most | above {BAD:.0%} | limits: kept | broken | by a tenth |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for word in WORDS:
        own = [row for row in rows if row["word"] == word]
        regret = np.array([row["regret"] for row in own if "regret" in row])
        kept = [max(row["broken"].values()) for row in own if row.get("kept")]
        costs = f"{regret.mean():.2%} | {regret.max():.2%} | {(regret > BAD).sum()}" if regret.size else "- | - | -"
        over = f"{sum(one > 0 for one in kept)} | {sum(one > 0.1 for one in kept)}"
        lines.append(f"| {word} | {len(own)} | {costs} | {len(kept)} | {over} |")
    return lines


def replays(rows: Rows) -> list[str]:
    """What the replay said of deliveries, losses and stale pages, by kind of crawler."""
    lines = ["| crawlers | replayed | contradicted the model |", "|---|---:|---:|"]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [set(row["replay"].values()) for row in rows if row["kind"] == kind and row["replay"]]
        lines.append(f"| {kind} | {len(own)} | {sum('different' in words for words in own)} |")
    return lines


def of_days(rows: Rows) -> list[str]:
    """Savings of a schedule: told and true."""
    known = [row for row in rows if "truth" in row]
    if not known:
        return []
    off = [row["value"] - row["truth"] for row in known]
    width = [row["high"] - row["low"] for row in known]
    return [
        "| logs | a cycle was told | the saving's interval holds the truth | told less true, mean | width, mean |",
        "|---:|---:|---:|---:|---:|",
        f"| {len(rows)} | {len(known)} | {sum(map(holds, known))} | {np.mean(off):+.2%} | {np.mean(width):.2%} |",
    ]


def every_table(rows: Rows) -> str:
    """All of them as Markdown."""
    plans, days = [row for row in rows if "kind" in row], [row for row in rows if "days" in row]
    blocks = [
        coverage(plans, lambda row, _: row["kind"], "crawlers"),
        coverage(plans, lambda _, one: one["measure"], "measure"),
        coverage(plans, lambda row, _: row["word"], "verdict"),
        verdicts(plans),
        replays(plans),
        of_days(days),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)
