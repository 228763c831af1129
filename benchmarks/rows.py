"""One measurement, and a table of them with the ratio to ours."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

OURS = "crawltwin"


@dataclass(frozen=True)
class Row:
    """What one contestant needed for, or made of, one case.

    `unit` is "s", "MB" or the like, where less is better, or a rate such as "events/s", where more is. A contestant
    whose name begins with "crawltwin" is ours; the first of them in a case is what the others are compared with.
    """

    case: str
    contestant: str
    value: float
    unit: str
    note: str = ""

    @property
    def more_is_better(self) -> bool:
        return self.unit.endswith("/s")


def with_ratios(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows as dictionaries, each with `ratio`: how many times better ours is (None without ours, or for ours)."""
    rows = list(rows)
    ours: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row.contestant.startswith(OURS):
            ours.setdefault((row.case, row.unit), row)
    table = []
    for row in rows:
        mine = ours.get((row.case, row.unit))
        ratio = None
        if mine is not None and mine is not row and row.value > 0 and mine.value > 0:
            ratio = mine.value / row.value if row.more_is_better else row.value / mine.value
        table.append({**asdict(row), "ratio": ratio})
    return table


def as_markdown(table: Iterable[dict[str, Any]]) -> str:
    """A Markdown table of what `with_ratios` gives."""
    lines = ["| case | contestant | value | unit | ours is better by | note |", "|---|---|---:|---|---:|---|"]
    for row in table:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g} x"
        lines.append(
            f"| {row['case']} | {row['contestant']} | {row['value']:.4g} | {row['unit']} | {ratio} | {row['note']} |"
        )
    return "\n".join(lines) + "\n"
