"""Interrupted in the middle, the demonstration leaves no process and no folder behind, and the watch loses nothing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

ENVIRONMENT = os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}


def started(folder, *words):
    environment = ENVIRONMENT | {"TMPDIR": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-m", "crawltwin", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def processes_of(folder):
    """Processes whose environment or command names the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            known = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            found += [entry.name] if str(folder).encode() in known else []
        except OSError:
            continue
    return found


def wait_for(condition, seconds=120):
    for _ in range(10 * seconds):
        if condition():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes cannot be listed here")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demonstration_leaves_nothing_behind(tmp_path, end):
    pytest.importorskip("scrapy")
    demo = started(tmp_path, "live", "demo", "--minutes", "2")
    try:
        assert wait_for(lambda: any(tmp_path.glob("crawltwin-live-*/0/record.jsonl")))
        assert len(processes_of(tmp_path)) >= 3
        demo.send_signal(end)
        _, words = demo.communicate(timeout=60)
    finally:
        demo.kill()
    assert demo.returncode == 130, words
    assert "Traceback" not in words
    assert wait_for(lambda: processes_of(tmp_path) == [], 20)
    assert list(tmp_path.glob("crawltwin-*")) == []


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_watch_that_is_ended_goes_on_later(tmp_path, end):
    log, state = tmp_path / "crawl.log", tmp_path / "crawl.log.watch"
    log.write_text("".join(f"{1_700_000_000 + k}.5\n" for k in range(1500)))
    watch = started(tmp_path, "watch", "crawl.log", "--format", "plain", "--poll", "0.1")
    try:
        assert wait_for(state.exists)
        watch.send_signal(end)
        _, words = watch.communicate(timeout=60)
    finally:
        watch.kill()
    assert watch.returncode == (130 if end == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in words
    with log.open("a") as file:
        file.write("".join(f"{1_700_001_500 + k}.5\n" for k in range(500)))
    again = started(tmp_path, "watch", "crawl.log", "--format", "plain", "--once", "--json")
    answer, words = again.communicate(timeout=60)
    assert again.returncode == 0, words
    assert '"deliveries": 2000' in answer
