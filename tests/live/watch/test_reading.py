"""What a watch counts of a log is what `fit` counts of it, with every option of reading, however the log grows."""

import itertools
import json
import re

import numpy as np
import pytest

from crawltwin.cli.main import main
from crawltwin.live.watch.reading import GrowingLog
from crawltwin.live.watch.settings import WatchSettings
from crawltwin.live.watch.watcher import Watcher
from crawltwin.model.errors import InputError
from fitting import read_log
from fitting.readers.settings import ReadOptions

SETTINGS = WatchSettings(learn=800)
START = 1_700_000_000
ROBOT, PERSON = "Googlebot/2.1", "Mozilla/5.0 Firefox/120"


def stamp(i, form):
    return str(np.datetime64(START + 7 * i, "s").item().strftime(form))


def heritrix(count):
    return "".join(
        f"{stamp(i, '%Y-%m-%dT%H:%M:%S')}.{i % 1000:03d}Z {404 if i % 7 == 3 else 200} {900 + i} http://a.org/{i} LL "
        f"http://a.org/ {'image/png' if i % 5 == 1 else 'text/html'} #012 {stamp(i, '%Y%m%d%H%M%S')}000+100 "
        f"sha1:A{i} - -\n"
        for i in range(count)
    )


def json_lines(count):
    """Every third object has no status: it was found, not fetched."""
    return "".join(
        json.dumps(
            {"url": f"http://a.org/{i}", "when": START + 7 * i, "timestamp": START + 7 * i + 0.5, "kind": "ab"[i % 2]}
            | ({} if i % 3 == 1 else {"status": 500 if i % 7 == 3 else 200})
        )
        + "\n"
        for i in range(count)
    )


def table(count):
    """Every ninth row has a title over two lines."""
    return "url,timestamp,title,status\n" + "".join(
        f'http://a.org/{i},{START + 7 * i}.5,"a{chr(10) if i % 9 == 4 else " "}title, {i}",'
        f"{'' if i % 3 == 1 else 500 if i % 7 == 3 else 200}\n"
        for i in range(count)
    )


def scrapy(count):
    return "".join(
        f"{stamp(i, '%Y-%m-%d %H:%M:%S')} [scrapy.core.engine] DEBUG: Crawled ({404 if i % 7 == 3 else 200}) "
        f"<GET http://a.org/{i}> (referer: None)\n"
        + (f"{stamp(i, '%Y-%m-%d %H:%M:%S')} [a] INFO: something else\n" if i % 2 else "")
        for i in range(count)
    )


def access_log(count):
    return "".join(
        f'1.2.3.4 - - [{stamp(i, "%d/%b/%Y:%H:%M:%S")} +0000] "GET /{i} HTTP/1.1" {404 if i % 7 == 3 else 200} 5 "-" '
        f'"{PERSON if i % 4 == 2 else ROBOT}"\n'
        for i in range(count)
    )


def cdx(count):
    return " CDX N b a m s k r M S V g\n" + "".join(
        f"org,a)/{i} {stamp(i, '%Y%m%d%H%M%S')} http://a.org/{i} text/html {404 if i % 7 == 3 else 200} "
        f"A{i} - - 9 {i} f\n"
        for i in range(count)
    )


def watched(path, options, **more):
    return Watcher([str(path)], SETTINGS, f"{path}.watch", reading=options, **more)


def all_times(watcher):
    return list(watcher.monitor.recent)


def check_as_fit(path, options):
    """The last look of a watch has just the times that are read of the whole; the times."""
    watcher = watched(path, options)
    watcher.look(final=True)
    times = read_log(path, options=options).time / 1e9
    assert all_times(watcher) == pytest.approx(times.tolist(), abs=1e-5)
    assert watcher.monitor.deliveries == times.size
    return times


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("made", [heritrix, json_lines, table, scrapy, access_log, cdx])
def test_a_log_that_grows_counts_as_fit_counts_the_whole(tmp_path, made, seed):
    text = made(130).encode()
    path = tmp_path / "a.log"
    chance = np.random.default_rng(seed)
    cuts = [0, *sorted(chance.integers(0, len(text), 12).tolist()), len(text)]
    for begin, end in itertools.pairwise(cuts):
        with path.open("ab") as file:
            file.write(text[begin:end])
        # Each look is a new process that knows the state file alone, as after a kill.
        watched(path, ReadOptions()).look()
    assert 60 < check_as_fit(path, ReadOptions()).size < 130


@pytest.mark.parametrize("made", [json_lines, table, cdx])
def test_each_rotated_file_may_have_its_header(tmp_path, made):
    head, *lines = made(130).replace("a\n", "a ").splitlines(keepends=True)
    path = tmp_path / "a.log"
    path.write_text("".join([head, *lines[:60]]))
    watched(path, ReadOptions()).look()
    path.rename(tmp_path / "a.log.1")
    path.write_text("".join([*([] if made is json_lines else [head]), *lines[60:]]))
    watcher = watched(path, ReadOptions())
    watcher.look(final=True)
    whole = tmp_path / "whole.log"
    whole.write_text("".join([head, *lines]))
    assert watcher.monitor.deliveries == len(read_log(whole))


@pytest.mark.parametrize(
    ("made", "options"),
    [
        (heritrix, ReadOptions(only_type="text/html")),
        (heritrix, ReadOptions(only_url="[05]$")),
        (heritrix, ReadOptions(only_status="404")),
        (access_log, ReadOptions(agent="all")),
        (access_log, ReadOptions(agent="Firefox")),
        (json_lines, ReadOptions(where=("kind=a",))),
        (json_lines, ReadOptions(time_column="when")),
        (table, ReadOptions(where=("title~[05]$",))),
        (scrapy, ReadOptions(timezone="Europe/Paris")),
        (scrapy, ReadOptions(pattern=r"(?P<time>\S+ \S+) .*Crawled \((?P<status>\d+)\).*[05]>")),
        (scrapy, ReadOptions(log_format="scrapy", only_url="1")),
    ],
    ids=lambda value: "" if isinstance(value, ReadOptions) else value.__name__,
)
def test_every_choice_of_rows_and_times_is_heeded(tmp_path, made, options):
    path = tmp_path / "a.log"
    path.write_text(made(120))
    watched(path, options).look()
    with path.open("a") as file:
        file.write(made(130).removeprefix(made(120)))
    chosen = check_as_fit(path, options)
    assert chosen.size > 5
    assert chosen.tolist() != (read_log(path).time / 1e9).tolist()


def test_rows_without_a_status_are_left_out_where_others_have_one(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"url": f"http://a.org/{i}", "time": START + i} | ({"status": 200} if i % 2 else {}) for i in range(400)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    watcher = watched(path, ReadOptions())
    watcher.look(final=True)
    assert watcher.monitor.deliveries == 200
    assert watcher.summary()["left_out"] == {"no status, where others have one": 200}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--member", "logs/*"], "--member must be left out to watch a log; got 'logs/.': .* Unpack it"),
        (["--progress", "p.log"], "--progress must be left out .* crawltwin fit heeds it"),
        (["--repeats", "drop"], "--repeats must be left out .*: the watch counts every line"),
        (["--values", "gaps"], "a log must hold times to be watched; got --values gaps"),
        (["--format", "scrapy-counters"], "one line per delivery .* counts per interval. Fit them"),
        (["--format", "httrack"], "one line per delivery .* the time of the day alone"),
        (["--only", "text/html"], "--only must be left out for the format access-log"),
        (["--where", "a=b"], "--where must be left out for the format access-log"),
        (["--agent", "("], "agent must be robots, all or a regular expression"),
        (["--timezone", "Mars"], "timezone must be"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_cannot_be_heeded_is_refused(tmp_path, capsys, given, words):
    path = tmp_path / "a.log"
    path.write_text(access_log(100))
    assert main(["watch", str(path), "--once", *given]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert re.search(words, told), told


def test_the_help_shows_what_is_heeded(capsys):
    with pytest.raises(SystemExit):
        main(["watch", "--help"])
    shown = capsys.readouterr().out
    assert "--where" in shown and "--member" not in shown and "--repeats" not in shown


def test_every_line_may_be_kept_twice(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("".join(line + line for line in heritrix(50).splitlines(keepends=True)))
    check_as_fit(path, ReadOptions(repeats="keep"))


def test_a_log_of_people_says_which_option_helps(tmp_path, capsys):
    path = tmp_path / "a.log"
    path.write_text(access_log(100).replace(ROBOT, PERSON))
    assert main(["watch", str(path), "--once"]) == 0
    told = capsys.readouterr().err
    assert "no delivery yet in 100 rows (left out: 100 not a robot's user agent). --agent all counts" in told
    assert main(["watch", str(path), "--once", "--json", "--agent", "all", "--state", str(tmp_path / "other")]) == 0
    assert json.loads(capsys.readouterr().out)["deliveries"] == 86


def test_a_scrapy_log_without_pages_says_what_is_missing(tmp_path, capsys):
    path = tmp_path / "a.log"
    path.write_text("2024-01-02 03:04:05 [scrapy.core.engine] INFO: Spider opened\n" * 60)
    assert main(["watch", str(path), "--once"]) == 0
    assert "must hold the engine's DEBUG lines" in capsys.readouterr().err


def test_lines_that_cannot_be_read_are_refused_or_told(tmp_path):
    path, told = tmp_path / "a.log", []
    path.write_text(heritrix(60) + "nonsense\n" * 30)
    watched(path, ReadOptions(), tell=told.append).look()
    assert [words for words in told if "at most 20% of the lines may be unreadable; got 30 of 90" in words]
    with pytest.raises(InputError, match="allow more with --max-broken"):
        watched(path, ReadOptions()).look(final=True)
    watched(path, ReadOptions(max_broken=0.5)).look(final=True)


def test_gaps_are_no_times(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("".join(f"{gap:.3f}\n" for gap in np.random.default_rng(1).exponential(size=100)))
    with pytest.raises(InputError, match=r"must hold times to be watched; got gaps.*--values times"):
        watched(path, ReadOptions()).look()


def test_the_format_is_looked_for_when_enough_lines_are_there(tmp_path):
    path, told = tmp_path / "a.log", []
    path.write_text("a line of something else\n" * 3)
    watcher = watched(path, ReadOptions(), tell=told.append)
    watcher.look()
    watcher.look()
    assert len([words for words in told if "waiting for more lines" in words]) == 1
    path.write_text("a line of something else\n" * 3 + scrapy(100))
    watcher.look()
    watcher.look(final=True)
    assert watcher.monitor.deliveries == len(read_log(path))
    path.write_text("nothing that is known\n" * 500)
    with pytest.raises(InputError, match="format must be one that is known"):
        Watcher([str(path)], SETTINGS, str(tmp_path / "new")).look()


def test_a_watch_needs_the_pattern_again():
    with pytest.raises(InputError, match="pattern must be given"):
        GrowingLog(ReadOptions(), {"format": "pattern"}, print)
