"""Which format is this? Every reader scores the first lines; the best one is taken and named."""

from __future__ import annotations

from collections.abc import Sequence

from crawltwin.model.errors import Fault, InputError
from fitting.readers.base import Reader
from fitting.readers.columns import show
from fitting.readers.streams import Source

SAMPLE = 256 * 2**10
_LINES = 400
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 27})


def detect(source: Source, formats: Sequence[Reader]) -> Reader:
    """The reader that fits the stream's first 256 KiB best.

    Raises
    ------
    InputError
        For an empty stream, a binary one, and one that no reader knows (with its first line).
    """
    head = source.peek(SAMPLE)
    if not head.strip():
        what = "packed data that hold nothing" if source.compression != "none" else "an empty one"
        if source.broken_off:
            what = source.broken_off
        raise InputError([Fault(source.name, f"a log must have at least one line; got {what}")])
    whole = len(head) < SAMPLE
    split = head.replace(b"\r\n", b"\n").split(b"\n")
    body = split if whole or len(split) == 1 else split[:-1]
    lines = [line for line in body if line.strip()][:_LINES]
    scores = [(reader.score(head, lines), -i) for i, reader in enumerate(formats)]
    best, index = max(scores)
    if best < 1.0 and _is_binary(head):
        raise InputError(
            [
                Fault(
                    source.name,
                    f"a log must be text, Parquet or WARC; got binary data that begin with {head[:8].hex(' ')}",
                    "UTF-16 text must be converted first: iconv -f UTF-16 -t UTF-8."
                    if head[:2] in (b"\xff\xfe", b"\xfe\xff")
                    else "",
                )
            ]
        )
    if best <= 0.5:
        known = ", ".join(reader.name for reader in formats)
        raise InputError(
            [
                Fault(
                    source.name,
                    f"the log's format must be one that is known ({known}); got a first line {show(lines[0])!r}",
                    "Describe a line with --pattern '(?P<time>...) ... (?P<size>...)', or name the "
                    "format with --format.",
                )
            ]
        )
    return formats[-index]


def _is_binary(head: bytes) -> bool:
    control = len(head) - len(head.translate(None, _CONTROL))
    return control > len(head) // 50
