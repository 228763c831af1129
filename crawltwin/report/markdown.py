"""The Markdown face: the same words and tables; pictures lie beside it."""

from __future__ import annotations

from collections.abc import Iterable

from crawltwin.report.blocks import Block, Code, Figure, Note, Points, Report, Section, Source, Table, Text
from crawltwin.report.inline import paragraphs, to_markdown


def to_markdown_text(report: Report) -> str:
    """The report as Markdown with pipe tables."""
    lines = [f"# {to_markdown(report.title)}", "", "## Summary", ""]
    lines += [f"- {to_markdown(sentence)}" for sentence in report.summary]
    lines += ["", "Made again with:", "", "```", report.command, "```", ""]
    for section in report.sections:
        lines += _section(section, 2)
    lines += ["## What we could not confirm", ""]
    lines += [f"- {to_markdown(sentence)}" for sentence in report.unconfirmed] or ["Everything above was confirmed."]
    lines += ["", "## Provenance", ""]
    origin = report.provenance
    lines += [f"- {name} {version}" for name, version in origin.versions.items()]
    lines += [f"- platform: {origin.platform}"]
    lines += [f"- seeds: {', '.join(map(str, origin.seeds)) or 'nothing random in this report'}"]
    lines += [f"- scenario {to_markdown(title)}: `{digest}`" for title, digest in origin.scenarios.items()]
    lines += [f"- {to_markdown(name)}: sha256 `{digest}`" for name, digest in origin.sources.items()]
    lines += [f"- commit {origin.commit}"] if origin.commit else []
    lines += ["- settings:", "", "```", origin.settings.strip(), "```", ""] if origin.settings else []
    lines += [f"- time, {name}: {value}" for name, value in origin.times.items()]
    return "\n".join(lines) + "\n"


def _section(section: Section, depth: int) -> Iterable[str]:
    yield f"{'#' * depth} {to_markdown(section.title)}"
    yield ""
    for block in section.blocks:
        yield from _block(block)
        yield ""
    for inner in section.sections:
        yield from _section(inner, depth + 1)


def _block(block: Block) -> Iterable[str]:
    match block:
        case Text(text):
            yield "\n\n".join(to_markdown(part) for part in paragraphs(text))
        case Points(items, ordered):
            for index, item in enumerate(items, start=1):
                yield f"{f'{index}.' if ordered else '-'} {to_markdown(item)}"
        case Note(text, _):
            yield "> " + "\n>\n> ".join(to_markdown(part) for part in paragraphs(text))
        case Code(text, _):
            yield f"```\n{text.strip(chr(10))}\n```"
        case Source(citation, url, read):
            yield (
                f"Source: {to_markdown(citation)}"
                + (f" <{url}>" if url else "")
                + (f" ({to_markdown(read)})" if read else "")
            )
        case Figure(name, _, caption, alternative, _):
            yield f"![{to_markdown(alternative)}](figures/{name}.svg)"
            yield ""
            yield f"*{to_markdown(caption)}*"
        case Table():
            yield from _table(block)


def _table(table: Table) -> Iterable[str]:
    yield f"**{to_markdown(table.caption)}**"
    yield ""
    yield "| " + " | ".join(to_markdown(column.name) for column in table.columns) + " |"
    yield "|" + "|".join("---:" if column.kind == "number" else "---" for column in table.columns) + "|"
    for row in table.rows:
        yield "| " + " | ".join(to_markdown(cell.shown) for cell in row) + " |"
