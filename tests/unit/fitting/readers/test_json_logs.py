"""JSON logs: which message is a delivery, nested names, and refusals that tell the way out."""

import json
import re

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


ROWS, LOST = 30, (4, 11, 29)


def _with(name, good, bad):
    """Objects of which three tell `bad` under this name, the others `good`; `...` leaves the name out."""
    rows = [{"time": 1_700_000_000 + i, "url": f"https://a.org/{i}"} for i in range(ROWS)]
    for i, row in enumerate(rows):
        value = bad if i in LOST else good
        row |= {} if value is ... else {name: value}
    return rows


FAILURES = [
    ("status", 200, -1), ("status", 200, 0), ("status", "200 OK", "404 Not Found"), ("status_code", "200.0", "503.0"),
    ("status", 200, "TIMEOUT"), ("status", 200, None), ("status", 200, ...), ("success", True, False),
    ("error", "", "context deadline exceeded"), ("error", None, "timeout"), ("errors", ..., "DNSLookupError"),
    ("failed", False, True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "good", "bad"), FAILURES)
def test_failed_fetches_are_no_deliveries_however_they_are_told(written, name, good, bad):
    rows = _with(name, good, bad)
    log = read_log(written("".join(json.dumps(row) + "\n" for row in rows)))
    assert (len(log), log.rows, sum(log.dropped.values())) == (27, 30, 3)


@pytest.mark.parametrize("fault", FAILURES[2:6])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_failed_fetches_are_no_deliveries_in_tables(tmp_path, fault, suffix):
    name, good, bad = fault
    table = pd.DataFrame(_with(name, str(good), bad if bad is None else str(bad)))
    path = tmp_path / f"log.{suffix}"
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    assert len(read_log(path)) == 27


def test_a_log_that_tells_no_failure_counts_whole(written):
    for name, value in (
        ("status", None),
        ("status", "-"),
        ("status", "fetched"),
        ("error", "None"),
        ("success", "yes"),
    ):
        assert len(read_log(written("".join(json.dumps(row) + "\n" for row in _with(name, value, value))))) == 30


def test_a_status_in_different_words_is_refused_with_the_way_out(written):
    path = written("".join(json.dumps(row) + "\n" for row in _with("status", "done", "gave up")))
    with pytest.raises(InputError, match=r'status "done" \(27 times\), "gave up" \(3 times\).*--where status="done"'):
        read_log(path)
    assert len(read_log(path, options=ReadOptions(where=('status="done"',)))) == 27


@pytest.mark.parametrize(
    ("good", "bad", "told", "where"),
    [
        (None, 404, '"" (27 times), "404" (3 times)', "status="),
        (2, 3, '"2" (27 times), "3" (3 times)', "status=2"),
        ("OK", 404, '"OK" (27 times), "404" (3 times)', "status=OK"),
        ("done", None, '"done" (27 times), "" (3 times)', "status=done"),
        (True, False, '"true" (27 times), "false" (3 times)', "status=true"),
    ],
    ids=["for failures alone", "a number of a data base", "words and errors", "one word", "yes and no"],
)
@pytest.mark.parametrize("suffix", ["jl", "parquet"])
def test_a_status_that_no_page_has_is_refused_and_the_advice_can_be_followed(tmp_path, good, bad, told, where, suffix):
    rows, path = _with("status", good, bad), tmp_path / f"log.{suffix}"
    if suffix == "parquet" and "OK" in (good, bad):
        rows = _with("status", "OK", "404")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if suffix == "parquet":
        pd.DataFrame(rows).to_parquet(path)
    with pytest.raises(InputError, match=re.escape(f"status {told}")) as refused:
        read_log(path)
    name, _, value = where.partition("=")
    assert f'--where {name}="{value}"' in str(refused.value)
    log = read_log(path, options=ReadOptions(where=(where,)))
    assert (len(log), dict(log.dropped)) == (27, {"not a delivery (--where)": 3})


def test_rows_without_a_status_are_told_apart_and_can_count(written):
    path = written("".join(json.dumps(row) + "\n" for row in _with("status", 200, None)))
    assert dict(read_log(path).dropped) == {"no status, where others have one": 3}
    assert len(read_log(path, options=ReadOptions(where=("status~^(2..)?$",)))) == 30


def test_all_pages_may_have_failed(written):
    log = read_log(written("".join(json.dumps(row) + "\n" for row in _with("status", 404, 503))))
    assert (len(log), dict(log.dropped)) == (0, {"HTTP error status": 30})


def test_what_a_page_tells_of_itself_is_no_failure_of_its_fetch(written):
    """Errors that were found on a page, and the code of an error, which is no status of an answer."""
    rows = [row | {"status": 200} for row in _with("errors", [], ["missing title"])]
    assert len(read_log(written("".join(json.dumps(row) + "\n" for row in rows)))) == 30
    rows = _with("error", None, {"code": 7})
    log = read_log(written("".join(json.dumps(row) + "\n" for row in rows)))
    assert (len(log), dict(log.dropped)) == (27, {"fetch failed": 3})


def test_times_as_crawlee_names_them(written):
    rows = [{"url": f"http://a.org/{i}", "crawledAt": f"2024-05-01T08:00:{i:02d}Z"} for i in range(30)]
    assert len(read_log(written("".join(json.dumps(row) + "\n" for row in rows)))) == 30


def test_a_status_in_numbers_goes_before_its_words(written):
    rows = [row | {"status": "OK"} for row in _with("status_code", 200, 404)]
    assert len(read_log(written("".join(json.dumps(row) + "\n" for row in rows)))) == 27


def test_an_error_that_comes_late_is_seen(written):
    rows = [{"time": 1_700_000_000 + i, "url": f"https://a.org/{i}"} for i in range(300)]
    rows[-1]["error"] = "timeout"
    assert len(read_log(written("".join(json.dumps(row) + "\n" for row in rows)))) == 299


@pytest.mark.parametrize("indent", [None, 1])
def test_json_that_is_no_lines_is_refused_with_the_way_out(written, indent):
    rows = _with("status", 200, 404)
    text = json.dumps(rows) if indent is None else "".join(json.dumps(row, indent=indent) + "\n" for row in rows)
    with pytest.raises(InputError, match=r"jq -c '\.\[\]' makes that of an array"):
        read_log(written(text))


def test_a_list_of_pages_without_a_page_says_so(written):
    with pytest.raises(InputError, match="at least one page; got its header alone"):
        read_log(written('{"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}\n'))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("date,url\n" + "".join(f"05/01/2024 10:00:0{i},u{i}\n" for i in range(9)), ReadOptions()),
        ("".join(json.dumps({"date": f"05/01/2024 10:00:0{i}"}) + "\n" for i in range(9)), ReadOptions()),
        ("".join(f"05/01/2024 10:00:0{i} done\n" for i in range(9)), ReadOptions(pattern=r"^(?P<time>\S+ \S+) done")),
    ],
)
def test_times_that_nobody_can_read_for_sure_are_refused_with_one_of_them(written, text, options):
    with pytest.raises(InputError, match=r"times must be epochs, ISO 8601, .* got '05/01/2024 10:00:00'"):
        read_log(written(text), options=options)


def test_messages_that_are_all_different_are_chosen_by_their_first_word(written):
    told = [f"{word} https://a.org/{i}" for i in range(40) for word in ("queued", "fetched")]
    rows = [{"time": 1_700_000_000 + i, "level": 30, "msg": message} for i, message in enumerate(told)]
    path = written("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"are deliveries, by a regular expression, --where 'msg~\^fetched'"):
        read_log(path)
    assert len(read_log(path, options=ReadOptions(where=("msg~^fetched",)))) == 40


@pytest.mark.parametrize("kind", ["json", "csv", "files"])
def test_whether_others_have_a_status_is_asked_of_the_whole_log(written, kind):
    """Whatever was read together: two megabytes of pages that were only found go before those that were fetched."""
    found = [{"url": f"http://a.org/{i}", "timestamp": 1_700_000_000 + i, "pad": "x" * 400} for i in range(6000)]
    fetched = [{**entry, "status": 200} for entry in found[4000:]]
    listed = [*found[:4000], *fetched]
    if kind == "csv":
        text = "url,timestamp,pad,status\n" + "".join(
            f"{entry['url']},{entry['timestamp']},{entry['pad']},{entry.get('status', '')}\n" for entry in listed
        )
        log = read_log(written(text))
    elif kind == "json":
        log = read_log(written("".join(json.dumps(entry) + "\n" for entry in listed)))
    else:
        parts = {"one": listed[:4000], "two": fetched}
        log = read_log([written("".join(json.dumps(e) + "\n" for e in part), name) for name, part in parts.items()])
        assert any("one tells a status, where other files do" in note for note in log.notes)
    assert len(log) == 2000
    assert dict(log.dropped) == {"no status, where others have one": 4000}
