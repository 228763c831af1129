"""Clusters that are none, that fall silent, that die or that have no workers: one clear line within a stated time."""

import asyncio
import http.server
import operator
import socket
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from crawltwin.model import InputError
from crawltwin.work import cluster, workers
from crawltwin.work.cluster import EmptyClusterWarning, LostWorkersError

pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def short_patience(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)


def silent() -> tuple[str, socket.socket]:
    """A listener that accepts and never says a word."""
    listener = socket.create_server(("127.0.0.1", 0))
    return f"tcp://127.0.0.1:{listener.getsockname()[1]}", listener


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:port", "tcp://127.0.0.1:99999", "tcp://127.0.0.1", "not an address", "", "tcp://127.0.0.1:9"],
)
def test_what_is_no_address_or_does_not_answer(address):
    with pytest.raises(InputError, match=r"cluster must be the address of a running Dask scheduler; got .*, which"):
        list(workers.run(abs, [1], cluster=address))


def test_an_unknown_protocol_is_told():
    with pytest.raises(InputError, match="does not answer"):
        list(workers.run(abs, [1], cluster="nonsense://127.0.0.1:8786"))


def test_a_silent_listener_is_given_up_in_the_stated_time():
    address, listener = silent()
    with listener, pytest.raises(InputError, match="does not answer as a scheduler within 1 s"):
        list(workers.run(abs, [1], cluster=address))


@pytest.mark.parametrize("answer", [b"\xff" * 64, b"\x01" + b"\x00" * 6 + b"\x40" + b"\x00" * 56, b"SSH-2.0-x\r\n" * 9])
def test_a_program_that_answers_otherwise_is_no_scheduler(answer):
    """Its first bytes are taken for numbers and lengths of messages, which no memory holds."""
    address, listener = silent()

    def reply() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.sendall(answer)

    threading.Thread(target=reply, daemon=True).start()
    with listener, pytest.raises(InputError, match="cluster must be the address of a running Dask scheduler"):
        list(workers.run(abs, [1, 2], cluster=address))


def test_a_thread_whose_event_loop_runs_as_in_a_notebook_gets_the_same_answer():
    async def cell() -> list[int]:
        return list(workers.run(abs, [1], cluster="tcp://127.0.0.1:9"))

    # In a thread of its own: a browser that was opened before keeps a loop in this one.
    with ThreadPoolExecutor(1) as notebook, pytest.raises(InputError, match="does not answer"):
        notebook.submit(asyncio.run, cell()).result()


def test_a_web_server_is_no_scheduler():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(InputError, match="which does not answer"):
            list(workers.run(abs, [1], cluster=f"tcp://127.0.0.1:{server.server_port}"))
    finally:
        server.shutdown()
        server.server_close()


def start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def scheduler():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    process = start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield address, process
    process.kill()
    process.wait()


@pytest.mark.slow
def test_a_scheduler_without_workers_is_told_and_waited_for(scheduler, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 20.0)
    address, _ = scheduler
    found = []
    worker = None
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            waiting = threading.Thread(target=lambda: found.extend(workers.run(abs, [-1, -2], cluster=address)))
            waiting.start()
            for _ in range(400):
                if any(issubclass(one.category, EmptyClusterWarning) for one in told):
                    break
                time.sleep(0.05)
            else:
                pytest.fail("nothing was said")
        worker = start("dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        waiting.join(timeout=120)
        assert found == [1, 2]
    finally:
        if worker is not None:
            worker.kill()
            worker.wait()


@pytest.mark.slow
def test_a_scheduler_that_dies_midway_is_one_line(scheduler, monkeypatch, caplog):
    monkeypatch.setattr(cluster, "PATIENCE", 20.0)
    address, process = scheduler
    worker = start("dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
    try:
        results = workers.run(operator.methodcaller("__call__", 0.05), [time.sleep] * 2000, cluster=address)
        first = [next(results) for _ in range(3)]
        process.kill()
        with pytest.raises(
            LostWorkersError, match=r"must stay until the work is done; got no answer any more after \d+"
        ):
            list(results)
        assert first == [None] * 3
        assert caplog.records == []
    finally:
        worker.kill()
        worker.wait()
