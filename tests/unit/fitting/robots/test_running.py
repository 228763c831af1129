"""Numbers of robots from Heritrix's progress-statistics.log, given or beside the crawl log."""

import numpy as np
import pytest

from crawltwin.cli.main import main
from crawltwin.model.errors import InputError
from fitting import FitOptions, fit
from fitting.readers import ReadOptions, read_log
from tests.unit.fitting.robots.made import heritrix

FEW = FitOptions(methods=("poisson",), repetitions=20, refits=0)


def crawl_log(folder):
    """1,000 s with one robot at 1 page per second, then 1,000 s with four at 4."""
    rng = np.random.default_rng(5)
    slow, quick = np.cumsum(rng.exponential(1.0, 3000)), 1000 + np.cumsum(rng.exponential(0.25, 9000))
    end = np.concatenate([slow[slow < 1000], quick[quick < 2000]])
    return heritrix(folder / "crawl.log", end - 0.01, end, np.zeros(end.size, dtype=int)), end


def progress_log(path, busy):
    """A line every 20 s, as Heritrix writes it."""
    lines = ["timestamp  discovered  queued  downloaded  doc/s(avg)  KB/s(avg)  dl-failures  busy-thread  mem-use-KB"]
    for row, threads in enumerate(busy):
        stamp = np.datetime64(1_460_000_000 + 20 * row, "s").astype(str)
        lines.append(f"{stamp}Z {row * 30} {row * 10} {row * 20} 1.2(1) 30(28) 0 {threads} 50000 80000 1 9 3")
    path.write_text("\n".join(lines) + "\n")
    return path


BUSY = [1] * 50 + [4] * 52


@pytest.mark.parametrize("name", ["progress-statistics.log", "other.log"])
def test_robots_of_a_progress_log(tmp_path, name):
    log, end = crawl_log(tmp_path)
    path = progress_log(tmp_path / name, BUSY)
    reading = ReadOptions() if name.startswith("progress") else ReadOptions(progress=str(path))
    read = read_log(log, options=reading)
    # Line 49 is the last with one robot, line 50 the first with four: between them the number is not known.
    seconds = np.sort(end)
    assert (read.robots[(seconds > 0.1) & (seconds < 979.9)] == 1).all()
    assert (read.robots[(seconds > 980.1) & (seconds < 999.9)] == -1).all()
    assert (read.robots[seconds > 1000.1] == 4).all()
    found = fit(read, options=FEW)
    assert [one.robots for one in found.evidence.rates] == [1, 4]
    assert [one.rate.value for one in found.evidence.rates] == pytest.approx([1.0, 4.0], rel=0.1)
    assert found.robots_in_log == 4


def test_threads_that_change_from_line_to_line_are_not_taken(tmp_path):
    log, _ = crawl_log(tmp_path)
    progress_log(tmp_path / "progress-statistics.log", np.arange(102) % 7 + 1)
    read = read_log(log)
    assert read.robots is None
    assert "change from line to line" in read.notes[-1]


def test_another_file_is_refused(tmp_path, capsys):
    log, _ = crawl_log(tmp_path)
    other = tmp_path / "notes.txt"
    other.write_text("nothing\n")
    with pytest.raises(InputError, match=r"must be a progress-statistics\.log of Heritrix; got 0 lines"):
        read_log(log, options=ReadOptions(progress=str(other)))
    assert main(["fit", str(log), "--progress", str(tmp_path / "absent.log")]) == 2
    assert "absent.log" in capsys.readouterr().err


def test_a_constant_number_is_no_change_of_robots(tmp_path):
    log, _ = crawl_log(tmp_path)
    progress_log(tmp_path / "progress-statistics.log", [4] * 102)
    found = fit(log, options=FEW)
    assert found.modes is None
    assert found.evened is not None


def test_a_device_is_no_progress_log(tmp_path):
    log, _ = crawl_log(tmp_path)
    with pytest.raises(InputError, match="the progress log must be a regular file; got '/dev/zero'"):
        read_log(log, options=ReadOptions(progress="/dev/zero"))
