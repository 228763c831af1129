"""Real indexing for the demonstration: text, words and near-duplicate fingerprint of a page into SQLite's FTS5.

What a small search engine does with a page: take the text out of the HTML, count its words, compute a fingerprint of
its overlapping word triples (to find near duplicates), and add it to a full-text index in one transaction.

`bytes_per_second` makes the indexer as slow as a busy one: what is left of a page's time after the work is waited for.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import time
from collections import Counter
from html.parser import HTMLParser
from typing import Any

import numpy as np

from crawltwin.model.errors import InputError

_WORD = re.compile(r"\w{2,}")
_connections: dict[str, sqlite3.Connection] = {}


class _Text(HTMLParser):
    """Collects what a reader would see."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002 - the parser gives it
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def text_of(html: str) -> str:
    """The visible text of a page.

    Examples
    --------
    >>> text_of("<p>two <b>words</b></p><script>no()</script>")
    'two words'
    """
    parser = _Text()
    parser.feed(html)
    return " ".join(" ".join(parser.parts).split())


def fingerprint(words: list[str]) -> int:
    """Charikar's similarity hash of 64 bits over triples of words (STOC 2002): near duplicates differ in few bits.

    Examples
    --------
    >>> text = "the quick brown fox jumps over the lazy dog and runs away from the old house by the river".split()
    >>> (fingerprint(text) ^ fingerprint([*text, "today"])).bit_count() < 20
    True
    """
    triples = {" ".join(words[k : k + 3]) for k in range(max(len(words) - 2, 1))}
    codes = b"".join(hashlib.blake2b(triple.encode(), digest_size=8).digest() for triple in triples)
    votes = np.unpackbits(np.frombuffer(codes, np.uint8).reshape(-1, 8), axis=1).sum(axis=0)
    return int.from_bytes(np.packbits(2 * votes > len(triples)).tobytes(), "big")


def index_page(item: dict[str, Any]) -> None:
    """Index one page: `database` (a file), `url` and `html` of the item, at `bytes_per_second` where that is given.

    Needs a SQLite with FTS5.
    """
    began = time.monotonic()
    _add(item)
    pace = item.get("bytes_per_second") or 0.0
    if pace > 0:
        time.sleep(max(0.0, began + len(item["html"]) / pace - time.monotonic()))


def _add(item: dict[str, Any]) -> None:
    database = str(item["database"])
    connection = _connections.get(database)
    if connection is None:
        connection = _connections[database] = sqlite3.connect(database, check_same_thread=False)
        try:
            connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS pages USING fts5(url UNINDEXED, text)")
        except sqlite3.OperationalError as error:
            raise InputError(f"the demonstration needs a SQLite with FTS5; this one says: {error}") from None
        connection.execute("CREATE TABLE IF NOT EXISTS facts (url TEXT, words INTEGER, commonest TEXT, print TEXT)")
    text = text_of(item["html"])
    words = [word.lower() for word in _WORD.findall(text)]
    commonest = Counter(words).most_common(1)
    with connection:
        connection.execute("INSERT INTO pages (url, text) VALUES (?, ?)", (item["url"], text))
        connection.execute(
            "INSERT INTO facts VALUES (?, ?, ?, ?)",
            (item["url"], len(words), commonest[0][0] if commonest else "", f"{fingerprint(words[:2000]):016x}"),
        )
