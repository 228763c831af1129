"""The report of the reproduction: what was printed, what we found, and the proofs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from crawltwin.pages.paper_pictures import pictures, rounding_picture
from crawltwin.report.blocks import Block, Cell, Column, Note, Points, Report, Section, Source, Table, Text, Tone
from crawltwin.report.provenance import gather
from validate.paper.figures.simulated_rows import CONFIDENCE, MARGIN
from validate.paper.judging.finding import Finding, TableCell
from validate.paper.printed.source import paper, table
from validate.paper.printed.systems import first_example
from validate.paper.reproduction import Reproduction
from validate.paper.tables.measured import from_A
from validate.paper.text.other_authors import ORIGINS

_TONES: Mapping[str, Tone] = {"reproduced": "good", "misprint": "bad", "not reproducible": "warn"}
_ABOUT = {
    1: "The best thresholds of each set of robots at K = 5.",
    2: "The capacity K varied; C* is the best of all policies, C_r the cost of r robots always, R the profit.",
    3: "The service made s times as fast.",
    4: "Obsolescence made s times as fast.",
    5: "The measured crawler, K = 20. Its inputs are printed rounded, so a number agrees when inputs that round to "
    "the printed ones give it.",
}


def paper_report(found: Reproduction, command: str, seconds: Mapping[str, float] | None = None) -> Report:
    """The report of a reproduction. Cost: about a second, most of it for the pictures."""
    figures = pictures(found)
    sections = [
        Section("Verdicts at a glance", _glance(found)),
        Section("What is misprinted, and why we know", _misprints(found)),
        *[Section(f"Table {number}", _table(found, number)) for number in _ABOUT],
        Section("Claims in the text", [_claims(found)]),
        Section(
            "The figures, redrawn",
            [Text(_ON_FIGURES), *figures, *_simulated(found, "Figure 3"), *_simulated(found, "Figure 4")],
        ),
        Section("Beyond the founding paper", _others(found)),
        Section("Every number", [_everything(found.findings)]),
    ]
    scenarios = {item.title: item for item in (first_example(), from_A().scenario())}
    return Report(
        title="The founding paper, reproduced",
        summary=_summary(found),
        sections=sections,
        provenance=gather(scenarios, [item.seed for item in found.simulated], seconds),
        command=command,
        unconfirmed=_unconfirmed(found),
        data=found.to_json(),
    )


_ON_FIGURES = (
    "The printed curves are not available to us as numbers; these are drawn from our own, and what the text says of "
    "each figure is checked among the claims."
)


def _summary(found: Reproduction) -> list[str]:
    counts = {verdict: len(found.of(verdict)) for verdict in _TONES}
    held = sum(claim.holds for claim in found.claims)
    worst = max(abs(item.witness - item.printed) for item in found.intervals)
    first = (
        f"Of {len(found.findings)} printed numbers, policies and formulas **{counts['reproduced']} are reproduced** "
        f"to within one unit of the last printed digit, **{counts['misprint']} are misprints** and "
        f"{counts['not reproducible']} cannot be reproduced."
    )
    second = (
        "The misprints were found by searching the neighbours of each number that disagrees: other rows, columns, "
        "thresholds and policies, wrong digits, lost signs; each has its proof below."
    )
    third = (
        "Table 5 disagrees by 0.2% with its inputs as printed, but inputs that round to the printed ones meet all of "
        f"it within {worst:.3f}."
    )
    fourth = (
        f"Of {len(found.claims)} claims in the text {held} hold; whether thresholds are enough, which the paper "
        "leaves open, is answered for its example: no other choice of robots by level is cheaper."
    )
    legs = (
        f"of {len(found.simulated)} main rows simulated as well "
        f"{sum(item.verdict == 'equivalent' for item in found.simulated)} are equivalent to the solved ones within "
        f"{100 * MARGIN:g}%"
        if found.simulated
        else "no row was simulated in this run (`--simulate` does that)"
    )
    fifth = (
        f"Every misprint was solved a second time by sparse elimination of the explicit chain; {legs}; "
        f"{len(found.others)} results of other authors for special cases agree."
    )
    return [first, second, third, fourth, fifth]


def _glance(found: Reproduction) -> list[Block]:
    groups: dict[str, list[Finding]] = defaultdict(list)
    for item in found.findings:
        groups[item.where if isinstance(item.place, TableCell) else "text and formulas"].append(item)
    rows = [
        (
            name,
            len(items),
            sum(item.verdict == "reproduced" for item in items),
            sum(item.verdict == "misprint" for item in items),
            sum(item.verdict == "not reproducible" for item in items),
            sum(item.how == "truncated" for item in items),
            sum(item.how == "rounded" for item in items),
        )
        for name, items in sorted(groups.items())
    ]
    heads: list[Column | str] = [
        "where",
        *[Column(name, "number") for name in ("printed", "reproduced", "misprints", "not reproducible")],
    ]
    heads += [Column("truncated only", "number"), Column("rounded only", "number")]
    return [
        Source(paper()["citation"], read="read whole, as its LaTeX source"),
        Text(
            "A number is **reproduced** when ours differs from it by less than one unit of its last printed digit. "
            "It is a **misprint** when it differs by more and the program explains where the printed digits come "
            "from, or shows that they cannot be. It is **not reproducible** when it differs and nothing explains it. "
            "The last two columns say how the author cut the digits: mostly by truncation."
        ),
        Table("Printed numbers by place and verdict", heads, rows, name="verdicts"),
    ]


def _misprints(found: Reproduction) -> list[Block]:
    wrong = [item for item in found.findings if item.verdict != "reproduced"]
    rows = [
        (item.where, Cell(item.how, item.how, _TONES[item.verdict]), item.what, item.printed, item.ours)
        for item in wrong
    ]
    proofs: dict[str, list[Finding]] = defaultdict(list)
    for item in wrong:
        proofs[item.words].append(item)
    points = [
        f"**{items[0].where}: {'; '.join(item.what for item in items)}.** {words}" for words, items in proofs.items()
    ]
    return [
        Table("What differs from the print", ["where", "kind", "what", "printed", "is"], rows, name="misprints"),
        Points(points),
    ]


def _table(found: Reproduction, number: int) -> list[Block]:
    by_cell = {
        item.place: item for item in found.findings if isinstance(item.place, TableCell) and item.place.table == number
    }
    items = list(by_cell.values())
    blocks: list[Block] = [Text(_ABOUT[number]), _printed_layout(number, by_cell)]
    wrong = [item for item in items if item.verdict != "reproduced"]
    if wrong:
        cells = "; ".join(f"{item.what}: printed {item.printed}, is {item.ours}" for item in wrong)
        blocks.append(Note(f"{len(wrong)} of {len(items)} cells differ. {cells}.", "bad"))
    else:
        blocks.append(Note(f"All {len(items)} cells are reproduced.", "good"))
    blocks += _simulated(found, f"Table {number}")
    if number == 5:
        blocks += [_rounding_table(found), rounding_picture(found.intervals)]
    return blocks


def _printed_layout(number: int, items: Mapping[TableCell, Finding]) -> Table:
    """The paper's own layout; each cell shows ours, and the print where it differs."""
    name = f"Table {number}"
    rows: dict[str, dict[str, Finding]] = defaultdict(dict)
    for cell, item in items.items():
        rows[cell.row][cell.column] = item
    order = table(number).columns
    columns = sorted({column for cells in rows.values() for column in cells}, key=order.index)
    heads = [Column("row"), *[Column(column, "number") for column in columns]]
    body = [[Cell(row), *[_cell(cells.get(column)) for column in columns]] for row, cells in rows.items()]
    return Table(f"{name}: ours, and the print in brackets where it differs", heads, body, name=f"{name}-cells")


def _cell(item: Finding | None) -> Cell:
    if item is None:
        return Cell(None)
    value = item.value if item.value is not None else item.ours
    if item.verdict == "reproduced":
        return Cell(value, item.ours)
    return Cell(value, f"{item.ours} [{item.printed}]", _TONES[item.verdict])


def _rounding_table(found: Reproduction) -> Table:
    heads = ["robots", "thresholds"]
    numbers = ["printed", "A as printed", "least", "largest", "one point of the box"]
    rows = [
        (
            ",".join(map(str, item.robots)),
            ",".join(map(str, item.thresholds)) or "--",
            item.printed,
            Cell(item.as_printed, f"{item.as_printed:.2f}"),
            Cell(item.low, f"{item.low:.2f}"),
            Cell(item.high, f"{item.high:.2f}"),
            Cell(item.witness, f"{item.witness:.4f}"),
        )
        for item in found.intervals
    ]
    return Table(
        "Table 5: what the rounding of the inputs allows",
        [*heads, *[Column(name, "number") for name in numbers]],
        rows,
        name="table-5-intervals",
    )


def _claims(found: Reproduction) -> Table:
    rows = [
        (
            claim.place,
            Cell("holds" if claim.holds else "does not hold", tone="good" if claim.holds else "bad"),
            claim.says,
            claim.words,
        )
        for claim in found.claims
    ]
    return Table("What the text says, put to the test", ["where", "verdict", "the paper says", "our numbers"], rows)


def _simulated(found: Reproduction, where: str) -> list[Block]:
    """The cross-checked rows of one table or figure, if there are any."""
    tones: Mapping[str, Tone] = {"equivalent": "good", "different": "bad", "inconclusive": "warn"}
    rows = [
        (
            item.what,
            item.policy,
            Cell(item.verdict, tone=tones[item.verdict]),
            Cell(item.solved, f"{item.solved:.4f}"),
            Cell(item.value, f"{item.value:.4f}"),
            Cell(item.low, f"{item.low:.4f}"),
            Cell(item.high, f"{item.high:.4f}"),
            Cell(item.pages, f"{item.pages:,}"),
        )
        for item in found.simulated
        if item.where == where
    ]
    if not rows:
        return []
    numbers = [Column(name, "number") for name in ("cost solved", "simulated", "low", "high")]
    caption = (
        f"{where}, main rows simulated: the cost with its bounds, and the verdict on the cost and every term of it "
        f"({100 * MARGIN:g}% margin, {100 * CONFIDENCE:g}% confidence)"
    )
    heads: list[Column | str] = ["row", "policy", "verdict", *numbers, Column("pages", "number")]
    return [Table(caption, heads, rows, name=f"{where}-simulated")]


def _others(found: Reproduction) -> list[Block]:
    rows = [
        (item.where, Cell(item.verdict, tone=_TONES[item.verdict]), item.what, item.printed, item.ours, item.how)
        for item in found.others
    ]
    heads = ["whose", "verdict", "what", "published or by their formula", "ours", "how"]
    return [
        Text(
            "Special cases of the model that others have solved: their printed numbers or their formulas, evaluated "
            "here independently of our solver. What was read of each source is said with it."
        ),
        Table("Results of other authors", heads, rows),
        *[Source(f"**{item.name}.** {item.citation}", item.url, item.read) for item in ORIGINS.values()],
    ]


def _everything(findings: Iterable[Finding]) -> Table:
    rows = [
        (
            item.where,
            Cell(item.verdict, tone=_TONES[item.verdict]),
            item.what,
            item.printed,
            item.ours,
            item.how,
        )
        for item in findings
    ]
    return Table("All printed numbers", ["where", "verdict", "what", "printed", "ours", "how"], rows)


def _unconfirmed(found: Reproduction) -> list[str]:
    lines = [f"{item.where}, {item.what}: {item.words}" for item in found.of("not reproducible")]
    lines += [f"{claim.place}: “{claim.says}” {claim.words}" for claim in found.claims if not claim.holds]
    return [
        *lines,
        (
            "The curves of the printed figures: we have the text only, so the redrawn figures were not compared "
            "point by point."
        ),
        (
            "The lag correlations of the measured trace: the trace is not published. What is proven is that the "
            "fitted MAP of order two cannot have them; that a factor of ten was lost is the simplest explanation, "
            "not a certainty."
        ),
        (
            "The unrounded inputs of Table 5: seven numbers were fitted to ten costs, so that they meet the table "
            "shows that it can be met, not that these were the inputs; they miss the printed mean and variance of "
            "the gaps."
        ),
    ]
