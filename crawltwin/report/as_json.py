"""The JSON face: the same content for programs. Times stand under "provenance" alone."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from crawltwin.report.blocks import Block, Figure, Points, Report, Section, Table

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
            "sources": dict(origin.sources),
            "settings": origin.settings,
            "commit": origin.commit,
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
    """The block's kind and its fields; a picture as the name of its file, a table as rows of values."""
    kind = {"kind": type(block).__name__.lower()}
    match block:
        case Figure():
            file = {"file": f"figures/{block.name}.svg", "data": dict(block.data)}
            return kind | {part: getattr(block, part) for part in ("name", "caption", "alternative")} | file
        case Table():
            heads = [{"name": column.name, "kind": column.kind} for column in block.columns]
            rows = [[_cell(cell.value, cell.shown) for cell in row] for row in block.rows]
            return kind | {"name": block.name, "caption": block.caption, "columns": heads, "rows": rows}
        case Points():
            return kind | {"items": list(block.items)}
        case _:
            return kind | {one.name: getattr(block, one.name) for one in fields(block)}


def _cell(value: Any, shown: str) -> Any:
    """The value alone where its text says no more, else both."""
    return value if shown == str(value) else {"value": value, "shown": shown}
