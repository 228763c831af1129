"""The HTML face: one file, everything inside, no network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from crawltwin.report import inline
from crawltwin.report.blocks import Figure, Report
from crawltwin.report.drawing import theme_variables, themed


def to_html(report: Report) -> str:
    """The whole page. Cost: a few milliseconds for each hundred rows."""
    return fill_page("report.html.j2", script="sort.js", styles=["style.css"], report=report)


def fill_page(template: str, *, script: str, styles: Sequence[str], **values: Any) -> str:
    """A page from a template of this room, with its script and styles inside and the script's digest in its policy."""
    code = _read(script)
    style = "".join(map(_read, styles)).replace("/*light*/", theme_variables(dark=False))
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "inline": inline.to_html,
        "unbroken": inline.unbroken,
        "paragraphs": inline.paragraphs,
        "words": inline.plain,
        "picture": _picture,
    }
    environment.tests["kind"] = lambda block, kind: type(block).__name__ == kind
    return environment.get_template(template).render(
        style=Markup(style.replace("/*dark*/", theme_variables(dark=True))),
        script=Markup(code),
        script_hash=base64.b64encode(hashlib.sha256(code.encode()).digest()).decode(),
        **values,
    )


def _picture(figure: Figure) -> Markup:
    """The picture inside the page, with its words for those who do not see it."""
    label, words = f"{figure.name}-title", f"{figure.name}-words"
    head = Markup('<svg class="drawn" role="img" aria-labelledby="{} {}" ').format(label, words)
    inner = Markup('<title id="{}">{}</title><desc id="{}">{}</desc>').format(
        label,
        inline.plain(figure.caption),
        words,
        inline.plain(figure.alternative),
    )
    svg = themed(figure.svg)
    # The page gives the width; the viewBox keeps the proportions.
    svg = re.sub(r"^<svg [^>]*?>", lambda found: _without_size(found.group(0)), svg, count=1)
    return Markup(svg.replace("<svg ", head, 1).replace(">", ">" + inner, 1))


def _without_size(tag: str) -> str:
    return re.sub(r'\s(?:width|height)="[^"]*"', "", tag)


def _read(name: str) -> str:
    return files("crawltwin.report").joinpath("templates", name).read_text(encoding="utf-8")
