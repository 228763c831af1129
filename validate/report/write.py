"""All faces of a report into a directory: whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from crawltwin.model.errors import InputError
from crawltwin.model.files import write_whole
from validate.report.as_json import to_json
from validate.report.blocks import Report
from validate.report.html import to_html
from validate.report.markdown import to_markdown_text


def render(report: Report) -> Mapping[str, str]:
    """Every file of the report by its name inside the directory."""
    made = {f"figures/{figure.name}.svg": figure.svg for figure in report.figures}
    return made | {
        "report.json": to_json(report),
        "report.md": to_markdown_text(report),
        "report.html": to_html(report),
    }


def write(report: Report, directory: str | Path) -> tuple[Path, ...]:
    """Write report.html, report.md, report.json and figures/*.svg.

    Everything is made in memory before the first file is touched, each file replaces its old version in one
    step, and the page comes last: a page that is there is whole.

    Parameters
    ----------
    report : Report
    directory : path
        Made where it does not exist.

    Returns
    -------
    tuple of Path
        The files, the page last.
    """
    made, target = render(report), Path(directory)
    try:
        for name in made:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the report's directory must be writable; got {error.strerror} for {str(target)!r}") from None
    for name, content in made.items():
        write_whole(target / name, content)
    return tuple(target / name for name in made)
