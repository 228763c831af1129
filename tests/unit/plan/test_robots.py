"""What a robot is in a log, and when a list is done."""

from types import SimpleNamespace

import numpy as np
import pytest

from crawltwin.plan import demo_trace
from crawltwin.plan.evidence.finish import FinishTimes, finish_of
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
    fit = SimpleNamespace(log=log, cleaning=SimpleNamespace(paused_seconds=1000.0))
    found = robots_in_log(fit, PlanSettings(robots=4))
    assert found.workers == 50
    assert found.in_flight == pytest.approx(log.took.sum() / (log.seconds[-1] - 1000.0))
    assert found.warning() == ""


def test_a_log_that_tells_nothing(tmp_path):
    path = tmp_path / "times.txt"
    path.write_text("".join(f"{1_700_000_000 + k}\n" for k in range(50)))
    fit = SimpleNamespace(log=read_log(path), cleaning=SimpleNamespace(paused_seconds=0.0))
    found = robots_in_log(fit, PlanSettings(robots=2))
    assert (found.workers, found.in_flight) == (None, None)
    assert "tells neither threads nor how long fetches took" in found.in_words()


def test_robots_that_do_not_fit_the_log():
    few = RobotsInLog(989, 3.4, robots=2, fetches_per_robot=1)
    assert "3.4 fetches were under way on average" in few.warning()
    assert "--fetches-per-robot 2 or more" in few.warning()
    assert RobotsInLog(989, 3.4, robots=2, fetches_per_robot=2).warning() == ""
    assert "names 8 threads" in RobotsInLog(8, 3.4, robots=10, fetches_per_robot=1).warning()


def _fit(*stretches):
    return SimpleNamespace(cleaning=SimpleNamespace(stretches=tuple(Stretch(0, 1, a, b, True) for a, b in stretches)))


def _done(mean, variance=0.0):
    return SimpleNamespace(mean=mean, variance=variance)


def test_without_pauses_and_doubt_the_model_answers():
    found = finish_of(_done(100.0, 25.0), np.zeros(0), 1.0, _fit((0.0, 50.0)), seed=1)
    # A normal law of standard deviation 5: the ends of nine tenths are 1.645 of it away.
    assert found.median == pytest.approx(100.0, abs=0.3)
    assert (found.low, found.high) == (pytest.approx(100 - 8.22, abs=0.6), pytest.approx(100 + 8.22, abs=0.6))


def test_the_doubt_of_the_rate_widens_the_answer():
    rates = np.array([0.5, 1.0, 2.0])
    found = finish_of(_done(100.0), rates, 1.0, _fit((0.0, 50.0)), seed=1)
    assert (found.low, found.median, found.high) == (50.0, 100.0, 200.0)


def test_pauses_are_counted_in():
    # 400 pauses of 10 s in 4,000 s of running: a pause of 10 s every 10 s, so that all takes twice as long.
    stretches = [(20.0 * k, 20.0 * k + 10.0) for k in range(401)]
    found = finish_of(_done(1000.0), np.zeros(0), 1.0, _fit(*stretches), seed=1)
    assert found.median == pytest.approx(2000.0, rel=0.02)
    # Poisson counts of mean 100, and the doubt of 400 pauses: a standard deviation of about 10 * sqrt(100 + 25).
    assert found.high - found.low == pytest.approx(2 * 1.645 * 10 * np.sqrt(125), rel=0.1)
    words = FinishTimes(500, found, found, 400, rate_doubted=False).in_words()
    assert "500 URLs are fetched in 33" in words
    assert "pauses like the 400 of the log are counted in" in words
    assert "doubt of the fitted rate is not known" in words
