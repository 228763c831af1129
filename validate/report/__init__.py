"""Reports: one value, three faces. Build a `Report` of frozen blocks; `write` makes HTML, Markdown, JSON."""

from validate.report.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Figure,
    Note,
    Points,
    Report,
    Section,
    Source,
    Table,
    Text,
)
from validate.report.draw import COLOURS, draw, style_axes
from validate.report.provenance import Provenance, gather
from validate.report.write import render, write

__all__ = [
    "COLOURS",
    "Block",
    "Cell",
    "Code",
    "Column",
    "Figure",
    "Note",
    "Points",
    "Provenance",
    "Report",
    "Section",
    "Source",
    "Table",
    "Text",
    "draw",
    "gather",
    "render",
    "style_axes",
    "write",
]
