"""JSON logs: which message is a delivery, nested names, and refusals that tell the way out."""

import json

import numpy as np
import pandas as pd
import pytest

from crawltwin.model.errors import InputError
from fitting import ReadOptions, read_log


def _browsertrix(pages, failed=()):
    """A log of the shape that browsertrix-crawler writes: four messages for each page, one worker of two at a time."""
    lines = [_told(0, "general", "Browsertrix-Crawler 1.2.3 (with warcio.js 2.2.1)", {})]
    for i in range(pages):
        details = {"page": f"https://a.org/{i}", "workerid": i % 2}
        lines += [
            _told(10 * i, "worker", "Starting page", details),
            _told(10 * i, "crawlStatus", "Crawl statistics", {"crawled": i, "total": pages, "pending": 1}),
            _told(10 * i + 1, "general", "Awaiting page load", details),
            _told(10 * i + 3, "pageStatus", "Page Finished", {"loadState": 0 if i in failed else 4, **details}),
        ]
    return "\n".join(lines) + "\n"


def _told(second, context, message, details):
    stamp = f"2026-01-26T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.250Z"
    return json.dumps(
        {"timestamp": stamp, "logLevel": "info", "context": context, "message": message, "details": details},
        separators=(",", ":"),
    )


def test_browsertrix_counts_finished_pages_only(written, utc):
    log = read_log(written(_browsertrix(40, failed=(7,))))
    assert log.format == "browsertrix"
    assert len(log) == 39
    assert dict(log.dropped) == {"fetch failed": 1}
    assert log.other_lines == 1 + 3 * 40
    assert log.time[0] == utc("2026-01-26T00:00:03.250")
    assert log.worker.tolist()[:4] == [0, 1, 0, 1]
    assert set(log.took.tolist()) == {3.0}
    assert log.begin[1] == utc("2026-01-26T00:00:10.250")
    assert log.run_starts.tolist() == [utc("2026-01-26T00:00:00.250")]


def test_pages_of_an_archive(written):
    header = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": True}
    rows = [
        {"id": str(i), "url": f"https://a.org/{i}", "ts": f"2026-01-26T00:00:0{i}Z", "status": 200 + 204 * (i == 3),
         "mime": "text/html", "depth": i}
        for i in range(5)
    ]  # fmt: skip
    log = read_log(written("\n".join(map(json.dumps, [header, *rows]))))
    assert log.format == "pages-jsonl"
    assert len(log) == 4
    assert log.other_lines == 1
    assert log.depth.tolist() == [0, 1, 2, 4]


def _mixture(count=30):
    rows = [
        {"time": 1_700_000_000 + i, "level": "info", "msg": message, "http": {"status": 200}}
        for i in range(count)
        for message in ("queue", "fetched", "parsed")
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_an_unknown_mixture_of_messages_is_refused_with_the_way_out(written):
    path = written(_mixture())
    with pytest.raises(InputError) as refused:
        read_log(path)
    text = str(refused.value)
    assert "in the first 90 objects" in text
    assert '"queue" (30 times), "fetched" (30 times), "parsed" (30 times)' in text
    assert '--where msg="fetched"' in text
    assert len(read_log(path, options=ReadOptions(where=('msg="fetched"',)))) == 30
    assert len(read_log(path, options=ReadOptions(where=("msg~^(fetched|parsed)$",)))) == 60


def test_a_mixture_that_begins_after_a_megabyte_is_refused_too(written):
    same = json.dumps({"time": 1_700_000_000, "event": "page", "filler": "x" * 1000})
    other = json.dumps({"time": 1_700_000_001, "event": "stop"})
    with pytest.raises(InputError, match="each object of a JSON log must be a delivery"):
        read_log(written("\n".join([same] * 1500 + [other])))


def test_one_message_and_items_with_a_message_are_deliveries(written):
    one = [json.dumps({"time": 1_700_000_000 + i, "level": "info", "message": "page"}) for i in range(9)]
    assert len(read_log(written("\n".join(one)))) == 9
    items = [
        json.dumps({"url": f"http://a/{i}", "crawl_time": 1_700_000_000 + i, "message": f"m{i}"}) for i in range(9)
    ]
    assert len(read_log(written("\n".join(items)))) == 9


def test_nested_status_codes_are_seen(written):
    """As Katana writes them."""
    rows = [
        {"timestamp": f"2026-01-26T00:00:0{i}.5Z", "request": {"method": "GET", "endpoint": f"https://a.org/{i}"},
         "response": {"status_code": 404 if i == 2 else 200, "headers": {"content_type": "text/css"}}}
        for i in range(5)
    ]  # fmt: skip
    path = written("\n".join(map(json.dumps, rows)))
    log = read_log(path)
    assert (len(log), dict(log.dropped)) == (4, {"HTTP error status": 1})
    assert len(set(log.page.tolist())) == 4
    assert "4 of 4 deliveries are no HTML" in log.notes[-1]
    assert dict(read_log(path, options=ReadOptions(only_type="text/html")).dropped)["type not asked for (--only)"] == 4


def test_conditions_are_checked(written):
    path = written(_mixture())
    with pytest.raises(InputError, match="where must be NAME=VALUE or NAME~REGEX; got 'msg'"):
        ReadOptions(where=("msg",))
    with pytest.raises(InputError, match="where must be a regular expression"):
        ReadOptions(where=("msg~(",))
    with pytest.raises(InputError, match=r"a column of --where must be one of the columns .*http.status.* got 'nope'"):
        read_log(path, options=ReadOptions(where=("nope=1",)))
    assert len(read_log(path, options=ReadOptions(where=("http.status=200", "msg=parsed")))) == 30


def test_durations_workers_and_robots_in_named_columns(written):
    rows = ["time,url,download_latency,spider,robots"]
    rows += [f"{1_700_000_000 + i},http://a.org/{i},0.25,{'news' if i % 2 else 'shop'},{1 + i // 3}" for i in range(6)]
    log = read_log(written("\n".join(rows)))
    assert log.took.tolist() == [0.25] * 6
    assert log.robots.tolist() == [1, 1, 1, 2, 2, 2]
    assert len(set(log.worker.tolist())) == 2
    assert len(set(log.host.tolist())) == 1


def _stages(pages=100):
    """Three rows for each page, told by a field of any name: when it was queued, fetched and stored."""
    stages = enumerate(("queued", "fetched", "stored"))
    return [
        {
            "time": f"2026-01-26T00:{second // 60:02d}:{second % 60:02d}.{after}00Z",
            "step": stage,
            "url": f"http://a.org/{second}",
        }
        for after, stage in stages
        for second in range(pages)
    ]


def test_pages_that_are_told_several_times_are_a_mixture_whatever_the_field_is_called(written, tmp_path):
    rows = sorted(_stages(), key=lambda row: row["time"])
    lines = written("\n".join(map(json.dumps, rows)) + "\n", "log.jl")
    table = written("time,step,url\n" + "".join(",".join(row.values()) + "\n" for row in rows), "log.csv")
    columns = tmp_path / "log.parquet"
    pd.DataFrame(rows).to_parquet(columns)
    for path, what in ((lines, "object of a JSON log"), (table, "row of a table"), (columns, "row of a table")):
        with pytest.raises(
            InputError, match=f'each {what} must be a delivery; .* step "queued" .*--where step="fetched"'
        ):
            read_log(path)
        assert len(read_log(path, options=ReadOptions(where=("step=stored",)))) == 100


def test_pages_that_are_fetched_again_are_deliveries(written):
    rng = np.random.default_rng(1)
    rows = [
        {
            "time": 1_714_550_400 + 3 * i,
            "url": f"http://a.org/{i % 10}",
            "outcome": str(rng.choice(["same", "changed"])),
        }
        for i in range(400)
    ]
    assert len(read_log(written("\n".join(map(json.dumps, rows)) + "\n"))) == 400
