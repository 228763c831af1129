"""Who delivered: robots that are alike, that differ, that go together."""

import numpy as np
import pytest

from crawltwin.model import exponential
from crawltwin.model.arrivals.spells import Spells
from fitting.robots.alike import judge_robots
from tests.unit.fitting.robots.made import crawl, fetches


def judged(parts, seconds=1000.0, spells=None, seed=0):
    """Robots of several mean fetch times, as one crawl; each robot has a stream of its own unless there are spells."""
    made = [crawl(exponential(mean), 1, seconds, seed * 100 + k, spells) for k, mean in enumerate(parts)]
    begin, end = (np.concatenate([one[i] for one in made]) for i in (0, 1))
    worker = np.repeat(np.arange(len(made)), [one[1].size for one in made])
    order = np.argsort(end)
    return judge_robots(fetches(begin[order], end[order], worker[order], seconds=seconds))


def test_equal_robots_pass_as_a_rule():
    """Each test at a third of 5%: of 40 crawls four or more are refused with probability 0.004."""
    found = [judged([1.0, 1.0, 1.0, 1.0], seed=seed) for seed in range(40)]
    for name in ("rates_p", "durations_p", "independence_p"):
        assert sum(getattr(one, name) < 0.05 / 3 for one in found) <= 3


def test_a_slow_robot_is_seen():
    found = judged([1.0, 1.0, 1.0, 1.6])
    assert found.rates_p < 1e-3
    assert found.durations_p < 1e-3
    assert "different rates" in found.words[0]
    assert judged([1.0, 1.6]).rates_p < 1e-3


def test_robots_in_common_spells_are_alike_but_not_independent():
    spells = Spells([[-0.01, 0.01], [0.02, -0.02]], [1.0, 0.2])
    found = judge_robots(fetches(*crawl(exponential(1.0), 4, 2000.0, 3, spells), seconds=2000.0))
    assert found.independence_p < 0.01
    assert found.dispersion > 2
    assert found.rates_p > 0.01
    assert found.durations_p > 0.01


@pytest.mark.parametrize("named", [False, True])
def test_one_robot_or_none_is_not_judged(named):
    begin, end, _ = crawl(exponential(1.0), 4, 600.0, 3)
    worker = np.zeros(end.size, dtype=np.int64) if named else None
    assert judge_robots(fetches(begin, end, worker, seconds=600.0)) is None
