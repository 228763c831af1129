"""The three marks inside a sentence, taken apart once for all outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from markupsafe import Markup

_MARKS = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*(?!\*)|\[([^\]]+)\]\((https?://[^\s)]+|[\w-]+\.html)\)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")


class Piece(NamedTuple):
    """A stretch of a sentence."""

    kind: Literal["plain", "code", "strong", "link"]
    text: str
    url: str = ""


def pieces(sentence: str) -> Iterator[Piece]:
    """Take a sentence apart.

    Examples
    --------
    >>> [piece.kind for piece in pieces("run `crawltwin` **now**")]
    ['plain', 'code', 'plain', 'strong']
    """
    end = 0
    for found in _MARKS.finditer(sentence):
        if found.start() > end:
            yield Piece("plain", sentence[end : found.start()])
        code, strong, label, url = found.groups()
        if code is not None:
            yield Piece("code", code)
        elif strong is not None:
            yield Piece("strong", strong)
        else:
            yield Piece("link", label, url)
        end = found.end()
    if end < len(sentence):
        yield Piece("plain", sentence[end:])


def to_html(sentence: str) -> Markup:
    """Escaped HTML."""
    wrap = {
        "plain": Markup("{}"),
        "code": Markup("<code>{}</code>"),
        "strong": Markup("<strong>{}</strong>"),
    }
    return Markup("").join(
        Markup('<a href="{}" rel="noreferrer">{}</a>').format(piece.url, piece.text)
        if piece.kind == "link"
        else wrap[piece.kind].format(unbroken(piece.text))
        for piece in pieces(sentence)
    )


def unbroken(text: str) -> Markup:
    """Escaped HTML in which no line ends inside an option, as browsers would end one behind its dashes.

    Examples
    --------
    >>> unbroken("give --service-mean")
    Markup('give <span class="whole">--service-mean</span>')
    """
    found, end = Markup(""), 0
    for option in _OPTION.finditer(text):
        found += text[end : option.start()] + Markup('<span class="whole">{}</span>').format(option.group())
        end = option.end()
    return found + text[end:]


def to_markdown(sentence: str) -> str:
    """Markdown with the special letters of plain text escaped."""
    wrap = {"code": "`{}`", "strong": "**{}**"}
    return "".join(
        f"[{_quote(piece.text)}]({piece.url})"
        if piece.kind == "link"
        else _quote(piece.text)
        if piece.kind == "plain"
        else wrap[piece.kind].format(piece.text if piece.kind == "code" else piece.text.replace("*", r"\*"))
        for piece in pieces(sentence)
    )


def paragraphs(text: str) -> list[str]:
    """Split at empty lines; line ends inside a paragraph become spaces."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]


def plain(sentence: str) -> str:
    """The words alone."""
    return "".join(piece.text for piece in pieces(sentence))


def _quote(text: str) -> str:
    return _MARKDOWN_SPECIAL.sub(r"\\\1", text)
