"""Sources of the backlog: what they answer, and what happens when they die or answer nonsense."""

import http.server
import sqlite3
import threading

import pytest

from crawltwin.live.backlog import HttpBacklog, SafeBacklog, SqliteBacklog, gauge_value, whole_number
from crawltwin.model.errors import InputError


@pytest.fixture
def server():
    """A server on the loopback address whose answer the test chooses."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer = self.server.answer
            self.send_response(200 if answer is not None else 500)
            self.end_headers()
            self.wfile.write((answer or "").encode())

        def log_message(self, *arguments):
            pass

    own = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    own.answer = "0"
    thread = threading.Thread(target=own.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    own.address = f"http://127.0.0.1:{own.server_address[1]}/metrics"
    yield own
    own.shutdown()
    own.server_close()
    thread.join()


def test_a_table_of_sqlite_as_a_queue(tmp_path):
    path = tmp_path / "queue.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE queue (page TEXT, indexed REAL)")
        database.executemany("INSERT INTO queue VALUES (?, ?)", [("a", 1.0), ("b", None), ("c", None)])
    database.close()
    assert SqliteBacklog(path, "SELECT count(*) FROM queue WHERE indexed IS NULL")() == 2


def test_a_database_that_is_not_there_is_refused_at_once(tmp_path):
    with pytest.raises(InputError, match="existing SQLite file"):
        SqliteBacklog(tmp_path / "none.db", "SELECT 1")


def test_a_number_behind_an_address(server):
    server.answer = "17\n"
    assert HttpBacklog(server.address)() == 17


def test_a_gauge_of_prometheus(server):
    server.answer = '# TYPE pages gauge\npages_total 99\npages{shard="1"} 3\npages{shard="2"} 4 1700000000\n'
    assert HttpBacklog(server.address, "pages")() == 7


def test_an_address_of_another_kind_is_refused():
    with pytest.raises(InputError, match="must begin with http"):
        HttpBacklog("file:///etc/passwd")


@pytest.mark.parametrize("nonsense", ["", "many", "-3", "2.5", "nan", "inf", "<html>"])
def test_nonsense_is_no_number_of_pages(nonsense):
    with pytest.raises(ValueError):
        whole_number(nonsense)


def test_a_gauge_that_is_missing():
    with pytest.raises(ValueError, match="no sample of 'pages'"):
        gauge_value("pages_total 3\n", "pages")


def test_a_source_that_dies_leaves_the_last_number_in_force_and_says_so_once(server):
    told = []
    safe = SafeBacklog(HttpBacklog(server.address), told.append)
    server.answer = "5"
    assert safe() == 5
    for answer in (None, "nonsense", "-1"):
        server.answer = answer
        assert safe() == 5
    assert len(told) == 1 and "5 pages are kept" in told[0]
    server.answer = "8"
    assert safe() == 8
    assert told[1:] == ["the backlog's source speaks again: 8 pages"]


def test_a_source_that_never_spoke_gives_no_number():
    told = []

    def dead():
        raise ConnectionRefusedError("nobody there")

    safe = SafeBacklog(dead, told.append)
    assert safe() is None and safe() is None
    assert len(told) == 1 and "no number was ever read" in told[0]
