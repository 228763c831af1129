"""What a robot is in a log."""

from types import SimpleNamespace

import numpy as np
import pytest

from crawltwin.plan import demo_trace
from crawltwin.plan.evidence.robots import RobotsInLog, robots_in_log
from crawltwin.plan.settings import PlanSettings
from fitting import read_log
from fitting.trace.cleaning import Stretch


def test_threads_and_fetches_of_a_heritrix_log(tmp_path):
    path = tmp_path / "demo.crawl.log"
    path.write_text(demo_trace.demo_log(1, 3_000))
    log = read_log(path)
    assert np.unique(log.worker).size == 50  # the demonstration writes thread numbers 0 to 49
    assert 0.040 <= log.took.min() <= log.took.max() < 0.900  # seconds
    fit = SimpleNamespace(log=log, cleaning=SimpleNamespace(paused_seconds=1000.0, stretches=()))
    found = robots_in_log(fit, PlanSettings(robots=4))
    assert found.workers == 50
    assert found.in_flight == pytest.approx(log.took.sum() / (log.seconds[-1] - 1000.0))
    assert found.misfit() == ""


NUTCH = "2024-05-01 10:00:{at:02d},000 INFO o.a.n.f.FetcherThread [FetcherThread] FetcherThread {who} fetching {url}\n"
BROWSERTRIX = (
    '{{"timestamp":"2024-05-01T10:00:{begun:02d}.000Z","logLevel":"info","context":"worker","message":"Starting page",'
    '"details":{{"workerid":{who},"page":"{url}"}}}}\n'
    '{{"timestamp":"2024-05-01T10:00:{at:02d}.000Z","logLevel":"info","context":"pageStatus","message":"Page Finished",'
    '"details":{{"loadState":4,"page":"{url}","workerid":{who}}}}}\n'
)
JSON_LINES = '{{"url":"{url}","crawl_time":"2024-05-01T10:00:{at:02d}Z","worker":"w-{who}","download_latency":1.0}}\n'


@pytest.mark.parametrize(
    ("line", "noun", "in_flight"),
    [(NUTCH, "3 threads", None), (BROWSERTRIX, "3 workers", 40 / 39), (JSON_LINES, "3 workers", 40 / 39)],
)
def test_those_who_fetch_in_every_format_that_names_them(tmp_path, line, noun, in_flight):
    """Worker 0 fetches in the first 20 s, worker 1 in the last 20 s, worker 2 once: 38 of 39 s have one at work."""
    path = tmp_path / "log"
    who = [0] * 20 + [1] * 19 + [2]
    path.write_text(
        "".join(line.format(at=k + 5, begun=k + 4, who=one, url=f"http://a.org/{k}") for k, one in enumerate(who))
    )
    log = read_log(path)
    cleaning = SimpleNamespace(paused_seconds=0.0, stretches=(Stretch(0, 40, 0.0, 39.0, True),))
    found = robots_in_log(SimpleNamespace(log=log, cleaning=cleaning), PlanSettings(robots=2))
    assert (len(log), found.workers) == (40, 3)
    assert found.at_work == pytest.approx((19 + 18) / 39)
    assert found.in_flight == (None if in_flight is None else pytest.approx(in_flight))
    assert f"names {noun}, 0.949 of them at work" in found.in_words()
    assert f"names {noun}, fewer than the 4 fetches" in RobotsInLog(3, None, 4, 1, 2.0, noun[2:]).misfit()


@pytest.mark.parametrize(
    ("at_work", "robots", "each", "said"),
    [
        (7.4, 4, 1, "7.4 of its 9 workers were at work at the same time on average, and the plan knows of at most 4"),
        (7.4, 4, 1, "(give --robots 8, or --fetches-per-robot 2)"),
        (7.4, 4, 2, ""),
        (4.6, 4, 1, ""),
    ],
)
def test_more_workers_than_robots_do_not_fit_where_no_fetch_is_timed(at_work, robots, each, said):
    found = RobotsInLog(9, None, robots, each, at_work, "workers").misfit()
    assert said in found
    assert bool(found) == bool(said)
    assert RobotsInLog(9, 0.5, robots, each, at_work, "workers").misfit() == ""  # few fetches under way decide


def test_one_thread_is_one_thread():
    assert "and one of them wrote the log; the log names 1 thread" in RobotsInLog(1, None, 1, 1).in_words()


def test_a_log_that_tells_nothing(tmp_path):
    path = tmp_path / "times.txt"
    path.write_text("".join(f"{1_700_000_000 + k}\n" for k in range(50)))
    fit = SimpleNamespace(log=read_log(path), cleaning=SimpleNamespace(paused_seconds=0.0))
    found = robots_in_log(fit, PlanSettings(robots=2))
    assert (found.workers, found.in_flight) == (None, None)
    assert "tells neither threads or workers nor how long fetches took" in found.in_words()


def test_robots_that_do_not_fit_the_log():
    few = RobotsInLog(989, 3.4, robots=2, fetches_per_robot=1)
    assert "3.4 fetches were under way on average" in few.misfit()
    assert "--fetches-per-robot 2 or more" in few.misfit()
    assert RobotsInLog(989, 3.4, robots=2, fetches_per_robot=2).misfit() == ""
    # Four robots that never rest: their first fetches began before the log.
    assert RobotsInLog(None, 4.002, robots=4, fetches_per_robot=1).misfit() == ""
    assert "names 8 threads" in RobotsInLog(8, 3.4, robots=10, fetches_per_robot=1).misfit()
