"""Reports and what belongs beside them, written into a directory: whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from crawltwin.model.errors import InputError
from crawltwin.model.files import write_whole
from crawltwin.report import Report, render


def write_report(report: Report, directory: str | Path, beside: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Write report.html, report.md, report.json and figures/*.svg, and further files beside them.

    Everything is made in memory before the first file is touched, each file replaces its old version in one
    step, and the page comes last: a page that is there is whole.

    Parameters
    ----------
    report : Report
    directory : path
        Made where it does not exist.
    beside : mapping, optional
        Further files by their name.

    Returns
    -------
    tuple of Path
        The files, the page last.
    """
    return write_files({**(beside or {}), **render(report)}, directory)


def write_files(files: Mapping[str, str], directory: str | Path) -> tuple[Path, ...]:
    """Write files by their names inside a directory, which is made where it does not exist."""
    target = Path(directory)
    try:
        for name in files:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the report's directory must be writable; got {error.strerror} for {str(target)!r}") from None
    for name, content in files.items():
        write_whole(target / name, content)
    return tuple(target / name for name in files)
