"""The JSON face: the same content for programs. Times stand under "provenance" alone."""

from __future__ import annotations

import json
from typing import Any

from validate.report.blocks import Block, Code, Figure, Note, Points, Report, Section, Source, Table, Text

FORMAT = 1
"""Version of the shape written here."""


def to_mapping(report: Report) -> dict[str, Any]:
    """Plain dictionaries, lists and numbers."""
    origin = report.provenance
    return {
        "format": FORMAT,
        "title": report.title,
        "command": report.command,
        "summary": list(report.summary),
        "sections": [_section(section) for section in report.sections],
        "unconfirmed": list(report.unconfirmed),
        "data": dict(report.data),
        "provenance": {
            "versions": dict(origin.versions),
            "platform": origin.platform,
            "scenarios": dict(origin.scenarios),
            "seeds": list(origin.seeds),
            "times": dict(origin.times),
        },
    }


def to_json(report: Report) -> str:
    """JSON text; a number that is not finite is an error, not an extension of the format."""
    return json.dumps(to_mapping(report), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _section(section: Section) -> dict[str, Any]:
    return {
        "title": section.title,
        "blocks": [_block(block) for block in section.blocks],
        "sections": [_section(inner) for inner in section.sections],
    }


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"kind": "text", "text": text}
        case Points(items, _):
            return {"kind": "points", "items": list(items)}
        case Note(text, tone):
            return {"kind": "note", "text": text, "tone": tone}
        case Code(text, label):
            return {"kind": "code", "text": text, "label": label}
        case Source(citation, url, read):
            return {"kind": "source", "citation": citation, "url": url, "read": read}
        case Figure(name, _, caption, alternative, data):
            return {
                "kind": "figure",
                "name": name,
                "file": f"figures/{name}.svg",
                "caption": caption,
                "alternative": alternative,
                "data": dict(data),
            }
        case Table(caption, columns, rows, name):
            return {
                "kind": "table",
                "name": name,
                "caption": caption,
                "columns": [{"name": column.name, "kind": column.kind} for column in columns],
                "rows": [[_cell(cell.value, cell.shown) for cell in row] for row in rows],
            }


def _cell(value: Any, shown: str) -> Any:
    """The value alone where its text says no more, else both."""
    return value if shown == str(value) else {"value": value, "shown": shown}
