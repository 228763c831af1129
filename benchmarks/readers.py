"""Reading speed: deliveries of a Heritrix log against polars and duckdb, records of a WARC against fastwarc and warcio.

Every contestant does the same work: of the log, the end of each successful fetch (start plus duration of field 9) and
its size; of the archive, date, address, status, media type and length of each response. Times are processor seconds
of all threads.
"""

from __future__ import annotations

import gzip
import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.rows import OURS, Row

LINES = 500_000
RECORDS = 20_000
_ROW = r"^\S+\s+(-?\d+)\s+(-|\d+)\s+(\S+)\s+\S+\s+\S+\s+\S+\s+#\d+\s+(\d{17})\+(\d+)"


def run() -> Iterator[Row]:
    """Rows of both cases; a contestant that is not installed is left out."""
    with tempfile.TemporaryDirectory() as folder:
        log, archive = Path(folder) / "crawl.log", Path(folder) / "crawl.warc.gz"
        deliveries = _write_log(log)
        for name, read in {OURS: _ours_log, "polars": _polars, "duckdb": _duckdb}.items():
            if name == OURS or importlib.util.find_spec(name):
                yield Row("Heritrix log", name, LINES / _seconds(read, log, deliveries), "lines/s", f"{LINES:,} lines")
        _write_archive(archive)
        for name, read in {OURS: _ours_warc, "fastwarc": _fastwarc, "warcio": _warcio}.items():
            if name == OURS or importlib.util.find_spec(name):
                taken = _seconds(read, archive, RECORDS)
                yield Row("WARC, gzip", name, 2 * RECORDS / taken, "records/s", "requests and responses of 4 KB")


def _seconds(read: Callable[[Path], int], path: Path, expected: int) -> float:
    """The least processor time of three readings after one that is not timed; each must find all deliveries."""
    found = []
    for _ in range(4):
        began = time.process_time()
        count = read(path)
        found.append(time.process_time() - began)
        if count != expected:
            raise AssertionError(f"{expected} deliveries must be found; got {count}")
    return min(found[1:])


def _write_log(path: Path) -> int:
    rng = np.random.default_rng(1)
    moments = np.datetime64("2024-05-01T08:00:00.000") + np.cumsum(rng.integers(1, 900, LINES)).astype(
        "timedelta64[ms]"
    )
    statuses = np.where(rng.random(LINES) < 0.9, 200, 404).tolist()
    with path.open("w", encoding="utf-8") as stream:
        for i, (moment, status) in enumerate(zip(moments.astype(str).tolist(), statuses)):
            digits = moment.translate({45: None, 58: None, 84: None, 46: None})
            host = f"http://www.example{i % 50}.org"
            stream.write(
                f"{moment}Z {status:5d} {1000 + i % 90_000:10d} {host}/path/to/page/{i}.html LLRE {host}/path/ "
                f"text/html #{i % 50:03d} {digits}+{i % 900} sha1:ABCDEFGHIJKLMNOP{i:016d} - -\n"
            )
    return statuses.count(200)


def _ours_log(path: Path) -> int:
    from fitting import read_log

    return len(read_log(path))


def _polars(path: Path) -> int:
    import polars as pl

    lines = pl.read_csv(path, has_header=False, new_columns=["line"], separator="\x01", quote_char=None)
    fields = lines.select(pl.col("line").str.extract_groups(_ROW)).unnest("line")
    status = pl.col("1").cast(pl.Int64, strict=False)
    begun = pl.col("4").str.strptime(pl.Datetime("ms"), "%Y%m%d%H%M%S%3f", strict=False)
    table = fields.filter((status >= 200) & (status < 300)).select(
        (begun + pl.duration(milliseconds=pl.col("5").cast(pl.Int64))).alias("time"),
        pl.col("2").cast(pl.Float64, strict=False).alias("size"),
        pl.col("3").hash().alias("page"),
    )
    return table.sort("time").height


def _duckdb(path: Path) -> int:
    import duckdb

    query = f"""
        with fields as (
            select regexp_extract(line, '{_ROW}', ['status', 'size', 'url', 'begun', 'took']) as f
            from read_csv('{path}', header = false, delim = '\x01', quote = '', columns = {{'line': 'varchar'}})
        )
        select strptime(f.begun[1:14], '%Y%m%d%H%M%S') + to_milliseconds(f.begun[15:17]::int + f.took::int) as time,
               try_cast(f.size as double) as size, hash(f.url) as page
        from fields where f.status::int between 200 and 299 order by time
    """
    return len(duckdb.sql(query).fetchnumpy()["size"])


def _write_archive(path: Path) -> None:
    rng = np.random.default_rng(2)
    page = rng.integers(32, 126, 8000, dtype=np.uint8).tobytes()
    with path.open("wb") as stream:
        for i in range(RECORDS):
            body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page[i % 4000 : i % 4000 + 4000]
            for kind, text in (("request", b"GET / HTTP/1.1\r\nHost: a.org\r\n\r\n"), ("response", body)):
                head = (
                    f"WARC/1.0\r\nWARC-Type: {kind}\r\n"
                    f"WARC-Date: 2024-05-01T{i // 3600:02d}:{i // 60 % 60:02d}:{i % 60:02d}Z\r\n"
                    f"WARC-Target-URI: http://a.org/{i}\r\nContent-Type: application/http; msgtype={kind}\r\n"
                    f"Content-Length: {len(text)}\r\n\r\n"
                )
                stream.write(gzip.compress(head.encode() + text + b"\r\n\r\n", 6))


def _ours_warc(path: Path) -> int:
    from fitting import read_log

    return len(read_log(path))


def _fastwarc(path: Path) -> int:
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    rows = []
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=True):
            headers, http = record.headers, record.http_headers
            rows.append((headers["WARC-Date"], headers["WARC-Target-URI"], http.status_code, http["Content-Type"],
                         record.content_length))  # fmt: skip
    return len(rows)


def _warcio(path: Path) -> int:
    from warcio.archiveiterator import ArchiveIterator

    rows = []
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream):
            if record.rec_type == "response":
                headers, http = record.rec_headers, record.http_headers
                rows.append((headers.get_header("WARC-Date"), headers.get_header("WARC-Target-URI"),
                             http.get_statuscode(), http.get_header("Content-Type"), record.length))  # fmt: skip
    return len(rows)
