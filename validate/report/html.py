"""The HTML face: one file, everything inside, no network."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

import jinja2
from markupsafe import Markup

from validate.report import inline
from validate.report.blocks import Figure, Report
from validate.report.draw import theme_variables, themed


def to_html(report: Report) -> str:
    """The whole page. Cost: a few milliseconds for each hundred rows."""
    script = _read("sort.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "inline": inline.to_html,
        "paragraphs": inline.paragraphs,
        "words": inline.plain,
        "picture": _picture,
    }
    environment.tests["kind"] = lambda block, kind: type(block).__name__ == kind
    style = _read("style.css").replace("/*light*/", theme_variables(dark=False))
    style = style.replace("/*dark*/", theme_variables(dark=True))
    return environment.get_template("report.html.j2").render(
        report=report,
        style=Markup(style),
        script=Markup(script),
        script_hash=digest,
    )


def _picture(figure: Figure) -> Markup:
    """The picture inside the page, with its words for those who do not see it."""
    label, words = f"{figure.name}-title", f"{figure.name}-words"
    head = Markup('<svg role="img" aria-labelledby="{} {}" ').format(label, words)
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
    return files("validate.report").joinpath("templates", name).read_text(encoding="utf-8")
