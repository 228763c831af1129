"""All faces of a report by their file names."""

from __future__ import annotations

from collections.abc import Mapping

from crawltwin.report.as_json import to_json
from crawltwin.report.blocks import Report
from crawltwin.report.html import to_html
from crawltwin.report.markdown import to_markdown_text


def render(report: Report) -> Mapping[str, str]:
    """Every file of the report by its name inside the directory, the page last."""
    made = {f"figures/{figure.name}.svg": figure.svg for figure in report.figures}
    return made | {
        "report.json": to_json(report),
        "report.md": to_markdown_text(report),
        "report.html": to_html(report),
    }
