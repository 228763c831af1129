"""The record: written line by line, read back whole, and read by `crawltwin fit`."""

import json
from pathlib import Path

import numpy as np
import pytest

from crawltwin.live.demo.fitted import fit_record
from crawltwin.live.record import Record
from crawltwin.live.recorder import FORMAT, Recorder
from crawltwin.model.errors import InputError
from fitting.readers.reading import read_log

EVENTS = [
    (100.0, "opened", {"format": FORMAT, "capacity": 2, "indexers": 1, "policy": {"robots": [2], "thresholds": []}}, 0),
    (
        100.5,
        "delivered",
        {"page": 0, "fate": "waiting", "url": "u/0", "status": 200, "size": 10, "start": 100.1, "duration": 0.4},
        1,
    ),
    (100.5, "indexing", {"page": 0}, 1),
    (
        101.0,
        "delivered",
        {"page": 1, "fate": "waiting", "url": "u/1", "status": 200, "size": 20, "start": 100.2, "duration": 0.8},
        2,
    ),
    (
        101.25,
        "delivered",
        {"page": 2, "fate": "lost", "url": "u/2", "status": 200, "size": 30, "start": 100.5, "duration": 0.75},
        2,
    ),
    (102.0, "stale", {"page": 1, "sojourn": 1.0}, 1),
    (102.5, "indexed", {"page": 0, "duration": 2.0, "sojourn": 2.0}, 0),
    (
        103.0,
        "delivered",
        {"page": 3, "fate": "waiting", "url": "u/3", "status": 200, "size": 40, "start": 102.0, "duration": 1.0},
        1,
    ),
    (103.0, "indexing", {"page": 3}, 1),
    (103.5, "robots", {}, 1),
    (104.0, "closed", {"present": 1, "reason": "end"}, 1),
]


@pytest.fixture
def path(tmp_path):
    recorder = Recorder(tmp_path / "record.jsonl")
    for time, event, fields, level in EVENTS:
        recorder.write(time, event, **fields, level=level, robots=2, in_flight=2)
    recorder.close()
    return tmp_path / "record.jsonl"


def test_everything_is_read_back(path):
    found = Record.read(path)
    assert found.seconds == 4.0
    assert found.delivered.tolist() == [0.5, 1.0, 1.25, 3.0]
    assert found.lost.tolist() == [False, False, True, False]
    assert found.fetch.tolist() == [0.4, 0.8, 0.75, 1.0]
    assert (found.service.tolist(), found.sojourn_served.tolist()) == ([2.0], [2.0])
    assert (found.stale.tolist(), found.sojourn_stale.tolist()) == ([2.0], [1.0])
    assert found.waits.tolist() == [0.0, 0.0]
    assert found.level.tolist() == [level for *_, level in EVENTS]
    assert found.opened["capacity"] == 2


def test_a_line_that_was_cut_off_is_left_out(path):
    whole = Record.read(path)
    with path.open("a") as file:
        file.write('{"time":105.0,"event":"deliv')
    assert Record.read(path).delivered.tolist() == whole.delivered.tolist()


def test_another_file_is_refused(tmp_path):
    (tmp_path / "other.jsonl").write_text('{"time": 1, "url": "u"}\n')
    with pytest.raises(InputError, match="the record must begin with a line of the format"):
        Record.read(tmp_path / "other.jsonl")


def test_a_record_without_a_delivery_is_refused(tmp_path):
    (tmp_path / "record.jsonl").write_text(json.dumps({"time": 1, "event": "opened", "format": FORMAT}) + "\n")
    with pytest.raises(InputError, match="at least one delivery"):
        Record.read(tmp_path / "record.jsonl")


def test_the_log_reader_takes_the_deliveries(path):
    log = read_log(path)
    assert (log.format, len(log), log.broken) == ("crawltwin", 4, 0)
    assert np.allclose(log.seconds, [0.0, 0.5, 0.75, 2.5])
    assert log.size.tolist() == [10, 20, 30, 40]


def test_a_recorder_goes_on_in_the_same_file(path):
    recorder = Recorder(path)
    recorder.write(105.0, "delivered", page=4)
    recorder.close()
    assert len(path.read_text().splitlines()) == len(EVENTS) + 1
    recorder.write(106.0, "delivered", page=5)
    assert len(path.read_text().splitlines()) == len(EVENTS) + 1


def test_a_recorder_goes_on_after_a_line_that_was_cut_off(path):
    with path.open("a") as file:
        file.write('{"time":105.0,"event":"deliv')
    recorder = Recorder(path)
    recorder.write(106.0, "closed", level=0, robots=0, in_flight=0)
    recorder.close()
    assert Record.read(path).end == 106.0


def written(path, *lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


FIRST = {"time": 1.0, "event": "opened", "format": FORMAT, "capacity": 5, "level": 0, "robots": 1, "in_flight": 0}
PAGE = {"time": 2.0, "event": "delivered", "page": 0, "fate": "waiting", "duration": 0.5, "level": 1, "robots": 1}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (PAGE | {"time": "soon"}, "time must be a number; got 'soon' at event 2, time"),
        (PAGE | {"time": float("nan")}, "time must be a finite number; got nan at event 2"),
        (PAGE | {"time": True}, "time must be a number; got True"),
        (PAGE | {"time": 0.5}, "time must not be less than that of the event before; got 0.5 after 1.0 at event 2"),
        (PAGE | {"level": 10**30}, "level must be at most 1000000000"),
        (PAGE | {"level": -1}, "level must be at least 0; got -1"),
        (PAGE | {"robots": "two"}, "robots must be a whole number; got 'two'"),
        (PAGE | {"duration": "long"}, "duration must be a number; got 'long'"),
        (PAGE | {"size": float("inf")}, "size must be a finite number; got inf"),
        (PAGE | {"page": [0]}, "page must be a number or a text; got [0]"),
        (PAGE | {"event": ["delivered"]}, "event must be a text"),
        (FIRST | {"capacity": 0}, "capacity must be at least 1; got 0"),
    ],
)
def test_values_that_no_record_has_are_refused_with_their_place(line, words, tmp_path):
    with pytest.raises(InputError) as error:
        Record.read(written(tmp_path / "record.jsonl", FIRST, line, PAGE | {"time": 3.0}))
    assert words in str(error.value)


def test_lines_without_a_page_do_no_harm(tmp_path):
    more = [{"time": 3.0, "event": name, "duration": 0.1} for name in ("indexing", "indexed", "failed", "stale")]
    found = Record.read(written(tmp_path / "record.jsonl", FIRST, PAGE, *more))
    assert found.waits.size == 0
    assert np.isnan(found.sojourn_served).all()


def test_of_a_crawl_that_was_started_again_only_one_start_is_read(tmp_path):
    """Pages are numbered anew, the clock was set back, and nobody worked in between."""
    short = [FIRST | {"time": 1e9}, PAGE | {"time": 1e9 + 1}]
    index = {"time": 12.0, "event": "indexing", "page": 0, "level": 2}
    long = [FIRST | {"time": 10.0}, PAGE | {"time": 11.0}, PAGE | {"time": 11.5, "page": 1}, index]
    last = [FIRST | {"time": 20.0}, PAGE | {"time": 21.0}]
    found = Record.read(written(tmp_path / "record.jsonl", *short, *long, *last))
    assert (found.begin, found.end) == (10.0, 12.0)
    assert found.delivered.tolist() == [1.0, 1.5]
    assert found.waits.tolist() == [1.0]


@pytest.mark.parametrize("name", ["/dev/zero", "/dev", "/nowhere/record.jsonl"])
def test_what_is_no_file_is_refused_at_once(name):
    with pytest.raises(InputError, match="the record must"):
        Record.read(name)


def test_a_record_that_tells_too_little_for_a_model_is_refused(tmp_path):
    pages = [PAGE | {"time": 2.0 + number, "page": number, "in_flight": 1} for number in range(150)]
    for first, words in (
        (FIRST, "at least 10 pages must have been indexed to fit a model; got 0"),
        ({name: value for name, value in FIRST.items() if name != "capacity"}, "robots and capacity"),
    ):
        with pytest.raises(InputError, match=words):
            fit_record(Record.read(written(tmp_path / "record.jsonl", first, *pages)))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_ends_the_record_and_not_the_crawl(caplog):
    recorder = Recorder("/dev/full")
    for number in range(3):
        recorder.write(float(number), "delivered", page=number)
    recorder.close()
    assert recorder.counts == {"delivered": 3}
    assert [record.getMessage() for record in caplog.records] == [
        "crawltwin: the record ends here, the crawl goes on: No space left on device"
    ]
