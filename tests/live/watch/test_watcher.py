"""The watch: a stream gives what the whole file gives, a kill loses nothing, better policies alone are written."""

import itertools
import json
import urllib.request

import numpy as np
import pytest

from crawltwin.cli.main import main
from crawltwin.live.watch.monitor import RECENT, Monitor, State
from crawltwin.live.watch.server import Server, metrics
from crawltwin.live.watch.settings import WatchSettings
from crawltwin.live.watch.watcher import Watcher
from crawltwin.model.errors import InputError
from fitting.readers.settings import ReadOptions

SETTINGS = WatchSettings(learn=800)


def log_lines(count, seed=1, pace=1.0, start=1_700_000_000.0):
    times = start + np.cumsum(np.random.default_rng(seed).exponential(1 / pace, count))
    return [f"{time:.3f}\n" for time in times]


def account(watcher):
    return watcher.monitor.to_json()


def watched(path, state, **more):
    return Watcher([str(path)], SETTINGS, str(state), reading=ReadOptions("plain"), **more)


def test_a_stream_gives_what_the_whole_file_gives(tmp_path):
    lines = log_lines(2500)
    (tmp_path / "whole.log").write_text("".join(lines))
    whole = watched(tmp_path / "whole.log", tmp_path / "whole.state")
    whole.look(final=True)
    grown = tmp_path / "grown.log"
    chance = np.random.default_rng(2)
    text = "".join(lines)
    cuts = [0, *sorted(chance.integers(0, len(text), 60).tolist()), len(text)]
    for begin, end in itertools.pairwise(cuts):
        with grown.open("a") as file:
            file.write(text[begin:end])
        # Each look is a new process that knows the state file alone, as after a kill.
        watched(grown, tmp_path / "grown.state").look()
    last = watched(grown, tmp_path / "grown.state")
    last.look(final=True)
    assert account(last) == account(whole)
    assert last.monitor.deliveries == 2500


def test_several_files_are_put_in_order(tmp_path):
    lines = log_lines(2000)
    (tmp_path / "one.log").write_text("".join(lines))
    whole = watched(tmp_path / "one.log", tmp_path / "one.state")
    whole.look(final=True)
    for part in (0, 1, 2):
        (tmp_path / f"part{part}.log").write_text("".join(lines[part::3]))
    paths = [str(tmp_path / f"part{part}.log") for part in (0, 1, 2)]
    parts = Watcher(paths, SETTINGS, str(tmp_path / "parts.state"), reading=ReadOptions("plain"))
    parts.look(final=True)
    assert account(parts) == account(whole)
    assert parts.monitor.late == 0


def test_memory_stays_bounded(tmp_path):
    (tmp_path / "crawl.log").write_text("".join(log_lines(12_000)))
    watcher = watched(tmp_path / "crawl.log", tmp_path / "state")
    watcher.look()
    assert len(watcher.monitor.recent) == RECENT
    assert len(watcher.monitor.pending) < 50
    assert watcher.monitor.learning == []
    assert (tmp_path / "state").stat().st_size < 200_000


def test_a_change_of_pace_raises_an_alarm_once(tmp_path):
    before = log_lines(3000)
    after = log_lines(3000, seed=2, pace=2.0, start=float(before[-1]))
    told = []
    (tmp_path / "crawl.log").write_text("".join(before))
    watcher = watched(tmp_path / "crawl.log", tmp_path / "state", tell=told.append)
    assert watcher.look() == 0
    with (tmp_path / "crawl.log").open("a") as file:
        file.write("".join(after))
    assert watcher.look() == 1
    alarm = watcher.monitor.alarms[0]
    assert alarm["direction"] == "faster"
    assert alarm["pace_after"] == pytest.approx(2.0, rel=0.25)
    assert any("the crawl has left its model: faster" in words for words in told)


def test_a_pause_is_no_change_of_pace(tmp_path):
    first = log_lines(2000)
    second = log_lines(2000, seed=3, start=float(first[-1]) + 7200)
    (tmp_path / "crawl.log").write_text("".join(first + second))
    watcher = watched(tmp_path / "crawl.log", tmp_path / "state")
    assert watcher.look() == 0
    assert watcher.monitor.pauses == 1


def test_a_log_that_does_not_exist_yet_is_told(tmp_path):
    told = []
    watcher = watched(tmp_path / "crawl.log", tmp_path / "state", tell=told.append)
    assert any("does not exist yet: waiting for it" in words for words in told)
    (tmp_path / "crawl.log").write_text("".join(log_lines(30)))
    watcher.look(final=True)
    assert watcher.monitor.deliveries == 30


def test_a_state_that_cannot_be_saved_does_not_end_the_watch(tmp_path):
    """As on a full disk: told once, tried again at each look, and nothing is counted twice afterwards."""
    log, folder, said = tmp_path / "crawl.log", tmp_path / "state", []
    folder.mkdir()
    lines = log_lines(900)
    log.write_text("".join(lines[:300]))
    watcher = watched(log, folder / "state", tell=said.append)
    watcher.look()
    (folder / "state").unlink()
    folder.rmdir()
    for end in (600, 900):
        log.write_text("".join(lines[:end]))
        watcher.look()
    assert [words for words in said if "the state is not saved, the watch goes on" in words] == said[-1:]
    with pytest.raises(InputError, match="the output file must be writable"):
        watcher.look(final=True)
    folder.mkdir()
    watcher.look()
    again = watched(log, folder / "state")
    again.look(final=True)
    assert again.monitor.deliveries == 900


def test_a_state_file_of_something_else_is_refused(tmp_path):
    for text in ("{}", "[]", '{"format": "crawltwin watch 1", "positions": {}}', "not json"):
        (tmp_path / "state").write_text(text)
        with pytest.raises(InputError, match="the state file must be"):
            State.read(tmp_path / "state")


@pytest.mark.parametrize(
    "change", [('"deliveries":40', '"deliveries":"x"'), ('"late":0', '"late":null'), ("facts", "fact")]
)
def test_a_state_file_that_was_changed_is_refused(tmp_path, change):
    (tmp_path / "crawl.log").write_text("".join(log_lines(40)))
    watched(tmp_path / "crawl.log", tmp_path / "state").look(final=True)
    assert State.read(tmp_path / "state").monitor.deliveries == 40
    text = (tmp_path / "state").read_text()
    assert change[0] in text
    (tmp_path / "state").write_text(text.replace(*change))
    with pytest.raises(InputError, match="the state file must be whole, as it was written; got a damaged one"):
        State.read(tmp_path / "state")


def test_formats_without_lines_are_refused(tmp_path):
    with pytest.raises(InputError, match="one line per delivery"):
        Watcher([str(tmp_path / "x.csv")], SETTINGS, str(tmp_path / "state"), reading=ReadOptions("parquet"))


def test_the_page_and_the_gauges_are_on_the_loopback_address_alone():
    summary = {
        "deliveries": 3,
        "pace": 1.5,
        "alarms": [{"time": 1.7e9, "direction": "<slower>"}],
        "level": 2,
        "alarms_raised": 1,
    }
    with Server(lambda: summary) as server:
        assert server.address.startswith("http://127.0.0.1:")
        page = urllib.request.urlopen(server.address).read().decode()
        gauges = urllib.request.urlopen(server.address + "metrics").read().decode()
    assert "&lt;slower&gt;" in page and "http://" not in page and "src=" not in page
    assert "crawltwin_backlog 2.0" in gauges and gauges == metrics(summary)


def test_gauges_can_be_read_as_a_source_of_the_backlog():
    from crawltwin.live.backlog import HttpBacklog

    with Server(lambda: {"deliveries": 3, "level": 7, "alarms": [], "alarms_raised": 0}) as server:
        assert HttpBacklog(server.address + "metrics", "crawltwin_backlog")() == 7


def test_the_command_reads_once(tmp_path, capsys):
    (tmp_path / "crawl.log").write_text("".join(log_lines(2000)))
    assert main(["watch", str(tmp_path / "crawl.log"), "--format", "plain", "--once", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["deliveries"] == 2000
    assert (tmp_path / "crawl.log.watch").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--learn", "5"], "learn must be"),
        (["--policy", "p.json"], "--policy must come with --scenario"),
        (["--poll", "0"], "poll must be"),
    ],
)
def test_wrong_options_are_refused(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert main(["watch", "crawl.log", "--once", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_monitor_that_learns_from_too_little_is_refused():
    with pytest.raises(InputError, match="learn must be at least 800"):
        Monitor(learn=10)


def _written(path, times):
    path.write_text("".join(f"{time:.3f}\n" for time in times))


def _hours(count, seed=6):
    """Deliveries every two seconds on average."""
    return 1_700_000_000.0 + 2 * np.cumsum(np.random.default_rng(seed).exponential(size=count))


@pytest.mark.parametrize("seconds", [-3600.0, 3600.0])
def test_a_clock_that_is_set_is_no_alarm_in_pieces_or_whole(tmp_path, seconds):
    times = _hours(5000)
    times[2500:] += seconds
    _written(tmp_path / "whole.log", times)
    whole = watched(tmp_path / "whole.log", tmp_path / "whole.state")
    whole.look(final=True)
    monitor = whole.monitor
    assert (monitor.deliveries, monitor.alarms, monitor.pauses) == (5000, [], 1)
    assert monitor.pace == pytest.approx(0.5, rel=0.1)
    assert monitor.late < 60
    for end in range(100, 5001, 100):
        _written(tmp_path / "grown.log", times[:end])
        last = watched(tmp_path / "grown.log", tmp_path / "grown.state")
        last.look()
    last.look(final=True)
    assert account(last) == account(whole)


@pytest.mark.parametrize("place", [0, 7, 2000])
@pytest.mark.parametrize("time", [5.0, 4_000_000_000.0])
def test_one_stamp_of_another_age_changes_no_pace(tmp_path, place, time):
    times = _hours(4000)
    times[place] = time
    _written(tmp_path / "a.log", times)
    watcher = watched(tmp_path / "a.log", tmp_path / "state")
    watcher.look()
    assert watcher.monitor.alarms == []
    assert 1 / watcher.monitor.reference.gap == pytest.approx(0.5, rel=0.1)


def test_deliveries_at_one_moment_do_not_end_the_watch(tmp_path):
    _written(tmp_path / "a.log", [1.7e9] * 2000)
    watcher = watched(tmp_path / "a.log", tmp_path / "state")
    watcher.look(final=True)
    assert watcher.monitor.deliveries == 2000 and watcher.monitor.reference is None


def test_another_number_to_learn_from_holds_after_a_restart(tmp_path):
    watched(tmp_path / "a.log", tmp_path / "state").look()
    again = Watcher(
        [str(tmp_path / "a.log")], WatchSettings(learn=900), str(tmp_path / "state"), reading=ReadOptions("plain")
    )
    assert again.monitor.learn == 900
