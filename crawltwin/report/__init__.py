"""Reports: one value, three faces. Build a `Report` of frozen blocks; `render` makes HTML, Markdown, JSON."""

from crawltwin.report.blocks import (
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
    Tone,
)
from crawltwin.report.drawing import COLOURS, draw, style_axes
from crawltwin.report.provenance import Provenance, gather
from crawltwin.report.rendering import render

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
    "Tone",
    "draw",
    "gather",
    "render",
    "style_axes",
]
