"""Counters of Prometheus: the answer of ``/api/v1/query_range`` (a matrix), and the same as CSV.

JSON: ``{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"__name__": "pages_total", ...},
"values": [[1714550400, "1200"], ...]}, ...]}}``; values are texts, among them ``NaN`` and ``+Inf``. CSV, long: columns
``name``, ``timestamp`` and ``value``, and one for each label. CSV, wide, as Grafana saves it: a column of times and one
for each series, named ``pages_total{instance="a"}``. Series of one counter are added up; ``--where`` chooses some.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from crawltwin.model.errors import InputError
from fitting.readers.count_log import Counts
from fitting.readers.input.streams import Source
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

LARGEST = 512 * 2**20
"""Bytes of an export that is read: it is one document and must be held as a whole."""
_NAME = "__name__"
_NAMES = {"name", "metric", _NAME}
_TIMES = {"time", "timestamp", "ts", "date", "datetime"}
_COUNTER = re.compile(r"[A-Za-z_:][\w:]*_(?:total|count)(?:\{.*\})?")
_LABEL = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')

Labels = dict[str, str]
Series = tuple[Labels, list[tuple[Any, Any]]]


class Prometheus:
    """A range export, JSON."""

    name = "prometheus"
    about = "a Prometheus range export (JSON)"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """A document that begins with a status or with its data, and has a result of several times."""
        del lines
        shown = head[:4096]
        known = re.search(rb'"resultType"\s*:\s*"(?:matrix|vector|scalar|string)"', shown)
        return 1.0 if shown.lstrip()[:1] == b"{" and known else 0.0

    def read_counts(self, source: Source, options: ReadOptions) -> Iterator[Counts]:
        """The series of the document, one by one."""
        try:
            data = json.loads(_text(source))["data"]
            kind, result = data["resultType"], data["result"]
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            raise InputError.at(
                source.name, f"a range export must be one JSON document with data.result; got {error!r}"
            ) from None
        if kind != "matrix" or not isinstance(result, list):
            raise InputError.at(
                source.name,
                f"a range export must have the result type matrix; got {kind!r}",
                "Ask /api/v1/query_range with start, end and step, not /api/v1/query.",
            )
        yield from _chosen([_one(entry, source.name) for entry in result], source.name, options)


class PrometheusCsv:
    """The same as CSV, long or wide."""

    name = "prometheus-csv"
    about = "counters as CSV (pages_total)"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """A header with times and either names and values, or nothing but counters."""
        del head
        try:
            rows = list(csv.reader(line.decode("utf-8", errors="replace") for line in lines[:2]))
        except csv.Error:
            return 0.0
        if len(rows) < 2 or not rows[0]:
            return 0.0
        header = [name.strip().lower() for name in rows[0]]
        named = [rows[1][at] for at, name in enumerate(header) if name in _NAMES and at < len(rows[1])]
        if "value" in header and _TIMES & set(header) and any(_COUNTER.fullmatch(name) for name in named):
            return 1.0
        wide = header[0] in _TIMES and all(_COUNTER.fullmatch(name) for name in header[1:])
        return 1.0 if wide and len(header) > 1 else 0.0

    def read_counts(self, source: Source, options: ReadOptions) -> Iterator[Counts]:
        """The series of the table, one by one."""
        try:
            rows = [row for row in csv.reader(io.StringIO(_text(source))) if any(field.strip() for field in row)]
        except csv.Error as error:
            raise InputError.at(source.name, f"counters as CSV must be a table of short fields; got: {error}") from None
        header = [name.strip() for name in rows[0]] if rows else []
        lower = [name.lower() for name in header]
        time = next((at for at, name in enumerate(lower) if name in _TIMES), None)
        if time is None:
            raise InputError.at(
                source.name, f"counters as CSV must have a column of times ({', '.join(sorted(_TIMES))}); got none"
            )
        found: list[Series] = []
        if "value" in lower:
            value = lower.index("value")
            by_series: dict[tuple[tuple[str, str], ...], list[tuple[Any, Any]]] = {}
            for row in rows[1:]:
                cells = [*row, *[""] * (len(header) - len(row))]
                labels = tuple(
                    (_NAME if name in _NAMES else header[at], cells[at])
                    for at, name in enumerate(lower)
                    if at not in (time, value)
                )
                by_series.setdefault(labels, []).append((cells[time], cells[value]))
            found = [(dict(labels), samples) for labels, samples in by_series.items()]
        else:
            for at, name in enumerate(header):
                if at != time:
                    samples = [(row[time], row[at]) for row in rows[1:] if max(at, time) < len(row) and row[at].strip()]
                    found.append((_labels(name), samples))
        yield from _chosen(found, source.name, options)


def _text(source: Source) -> str:
    data = source.read(LARGEST + 1)
    while len(data) <= LARGEST and (part := source.read(1 << 20)):
        data += part
    if len(data) > LARGEST:
        raise InputError.at(source.name, f"a range export must have at most {LARGEST >> 20} MiB; got more")
    return data.decode("utf-8-sig", errors="replace")


def _labels(name: str) -> Labels:
    return {_NAME: name.partition("{")[0]} | dict(_LABEL.findall(name))


def _one(entry: Any, place: str) -> Series:
    """Labels and samples of one series."""
    if not isinstance(entry, dict) or not isinstance(entry.get("values"), list):
        raise InputError.at(place, "every series of a range export must have values; got one without")
    metric = entry.get("metric")
    labels = {str(k): str(v) for k, v in metric.items()} if isinstance(metric, dict) else {}
    return labels, [(row[0], row[1]) for row in entry["values"] if isinstance(row, list) and len(row) == 2]


def _chosen(found: list[Series], place: str, options: ReadOptions) -> Iterator[Counts]:
    """Series that `--where` keeps; they must be of one counter."""
    kept = [one for one in found if all(_holds(condition, one[0]) for condition in options.where)]
    names = sorted({labels.get(_NAME, "") for labels, _ in kept})
    if not kept:
        what = f"none of {len(found)}" if found else "none"
        raise InputError.at(place, f"a range export must hold at least one series; got {what}", "Check --where.")
    if len(names) > 1:
        raise InputError.at(
            place,
            f"the series must be of one counter; got {', '.join(name or 'one without a name' for name in names[:8])}",
            f"Name one: --where {_NAME}={names[-1]}.",
        )
    note = _added_up(kept, names[0])
    for number, (labels, samples) in enumerate(kept):
        series = json.dumps(labels, sort_keys=True)
        time, zoned = _times([row[0] for row in samples])
        total, unknown = _totals([row[1] for row in samples], f"{place}, {names[0] or 'series'}")
        good = ~unknown
        yield Counts(
            time[good], total[good], zoned=zoned, series=series, unknown=int(unknown.sum()),
            notes=[note] if note and not number else [],
        )  # fmt: skip


def _added_up(kept: list[Series], name: str) -> str:
    if len(kept) < 2:
        return ""
    keys = sorted({key for labels, _ in kept for key in labels})
    differ = [key for key in keys if len({labels.get(key) for labels, _ in kept}) > 1]
    return (
        f"{len(kept)} series of {name or 'the counter'} were added up; they differ in {', '.join(differ) or 'nothing'} "
        "(--where NAME=VALUE chooses among them)"
    )


def _holds(condition: str, labels: Labels) -> bool:
    name, how, value = re.split("([=~])", condition, maxsplit=1)
    own = labels.get(name, "")
    return own == value if how == "=" else re.search(value, own) is not None


def _times(values: Iterable[Any]) -> tuple[stamps.Int, bool]:
    """Epochs in seconds or milliseconds, or ISO 8601."""
    texts = [str(value).strip().encode() for value in values]
    numbers = stamps.floats(texts)
    known = np.isfinite(numbers)
    if 2 * np.count_nonzero(known) >= numbers.size:
        unit = 1e6 if known.any() and np.median(numbers[known]) > 1e11 else 1e9
        known &= np.abs(np.where(known, numbers, 0.0)) * unit < 2**63
        return np.where(known, np.rint(np.where(known, numbers, 0.0) * unit).astype(np.int64), stamps.INVALID), True
    return stamps.iso(texts)


def _totals(values: list[Any], place: str) -> tuple[stamps.Int, Any]:
    """Totals as whole numbers, and which of them are unknown (NaN, infinite, no number)."""
    numbers = stamps.floats([str(value).strip().encode() for value in values])
    unknown = ~np.isfinite(numbers)
    numbers = np.where(unknown, 0.0, numbers)
    wrong = np.flatnonzero((numbers < 0) | (numbers != np.rint(numbers)) | (numbers > 2**53))
    if wrong.size:
        raise InputError.at(
            f"{place}, sample {int(wrong[0]) + 1}",
            f"a total must be a whole number of pages, not negative; got {values[int(wrong[0])]}",
            "Export the counter itself, without rate() or increase().",
        )
    return numbers.astype(np.int64), unknown
