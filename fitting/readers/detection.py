"""Which format is this? Every reader scores the first lines; the best one is taken and named."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Sequence
from typing import TypeVar

from crawltwin.model.errors import InputError
from fitting.readers.base import CountReader, Reader
from fitting.readers.columns import show
from fitting.readers.input.json_objects import ONE_PER_LINE
from fitting.readers.input.line_blocks import check_line_ends
from fitting.readers.input.streams import Source

SAMPLE = 256 * 2**10
_LINES = 400
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 27})
_Any = TypeVar("_Any", Reader, CountReader)


def sample(source: Source) -> tuple[bytes, list[bytes]]:
    """The stream's first 256 KiB that are not empty lines alone, and the whole lines in them."""
    while len(head := source.peek(SAMPLE)) == SAMPLE and not head.strip():
        source.read(SAMPLE)
    split = head.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n").split(b"\n")
    body = split if len(head) < SAMPLE or len(split) == 1 else split[:-1]
    return head.removeprefix(BOM_UTF8), [line for line in body if line.strip()][:_LINES]


def best(source: Source, formats: Sequence[_Any]) -> tuple[float, _Any]:
    """The reader that fits best, and its score; the first of those that fit alike."""
    head, lines = sample(source)
    scores = [(reader.score(head, lines), -i) for i, reader in enumerate(formats)]
    score, index = max(scores)
    return score, formats[-index]


def detect(source: Source, formats: Sequence[Reader], counters: Sequence[CountReader] = ()) -> Reader:
    """The reader that fits the stream's first 256 KiB best.

    Raises
    ------
    InputError
        For an empty stream, a binary one, one that tells counts only, and one that no reader knows (with its first
        line).
    """
    head, lines = sample(source)
    if not head.strip():
        what = "packed data that hold nothing" if source.compression != "none" else "an empty one"
        what = source.broken_off or what
        raise InputError.at(source.name, f"a log must have at least one line; got {what}")
    score, found = best(source, formats)
    if score < 1.0 and _is_binary(head):
        raise InputError.at(
            source.name,
            f"a log must be text, Parquet or WARC; got binary data that begin with {head[:8].hex(' ')}",
            "UTF-16 text must be converted first: iconv -f UTF-16 -t UTF-8."
            if head[:2] in (b"\xff\xfe", b"\xfe\xff")
            else "",
        )
    if score < 1.0:
        check_line_ends(source)
    counted, counter = best(source, counters) if counters else (0.0, None)
    # A Scrapy log has lines of totals among those of its pages.
    if score > 0.5 and (score >= counted or found.name == "scrapy"):
        return found
    if counter is not None and counted > 0.5:
        raise InputError.at(
            source.name,
            f"a log must hold one row per delivered page; got {counter.about}: counts per interval",
            "Give the log of the deliveries; or fit the counts (crawltwin fit, crawltwin plan), or read them: "
            "fitting.read_counts.",
        )
    names = ", ".join(reader.name for reader in formats)
    raise InputError.at(
        source.name,
        f"the log's format must be one that is known; got a first line {show(lines[0])!r}",
        ONE_PER_LINE
        if lines[0].strip()[:1] in (b"[", b"{") and lines[0].strip()[1:2] in (b"", b"{", b"[")
        else "Describe a line with --pattern '(?P<time>...) ... (?P<size>...)', or name the format with --format: "
        f"{names}.",
    )


def _is_binary(head: bytes) -> bool:
    control = len(head) - len(head.translate(None, _CONTROL))
    return control > len(head) // 50
