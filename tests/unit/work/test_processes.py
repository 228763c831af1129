"""Worker processes end with the command that owns them, whichever way it ends, and without a word of their own."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from crawltwin.work.processes import starting_workers
from tests.conftest import REPOSITORY

PROGRAM = """
import sys, time
from pathlib import Path
from crawltwin.cli import main as cli
from crawltwin.work import workers

def piece(folder):
    import os
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(600)

def work():
    list(workers.run(piece, [sys.argv[1]] * 8, workers=2))
    return 0

with cli._terminated_like_interrupted():
    sys.exit(cli._guarded(work))
"""


def alive(process: int) -> bool:
    state = Path(f"/proc/{process}/stat")
    try:
        return state.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")
@pytest.mark.parametrize(
    ("number", "whole_group", "code"),
    [(signal.SIGINT, True, 130), (signal.SIGTERM, False, 130), (signal.SIGKILL, False, -signal.SIGKILL)],
)
def test_no_worker_outlives_its_owner_and_none_complains(number, whole_group, code, tmp_path: Path):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while len(list(tmp_path.iterdir())) < 2 and process.poll() is None:
        time.sleep(0.05)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    (os.killpg if whole_group else os.kill)(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert out == ""
    assert err == ("crawltwin: interrupted; nothing was written\n" if code == 130 else "")
    for _ in range(200):
        if not any(alive(worker) for worker in workers):
            break
        time.sleep(0.1)
    assert [worker for worker in workers if alive(worker)] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_while_workers_start_is_heeded_afterwards(number):
    """It was lost before: the work went on as if nobody had pressed Ctrl-C. Another thread may take the signal."""
    before = signal.signal(number, signal.default_int_handler)
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    heard = []

    def start() -> None:
        with starting_workers():
            os.kill(os.getpid(), number)
            time.sleep(0.01)
            heard.append("all workers are there")

    try:
        with pytest.raises(KeyboardInterrupt):
            start()
    finally:
        signal.signal(number, before)
        done.set()
        other.join()
    assert heard
    assert number not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
