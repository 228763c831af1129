"""The demonstration log: what its head promises."""

import numpy as np
import pytest

from analytic import optimize
from crawltwin.plan import demo_trace
from fitting import read_log


def test_the_process_has_the_moments_that_its_head_states():
    process = demo_trace.true_process()
    # Two regimes, equally frequent: mean 66; Erlang-3 intervals have E X^2 = (4/3) mean^2.
    second = 0.5 * 4 / 3 * (12.0**2 + 120.0**2)
    assert process.interval_moment(1) == pytest.approx(66.0)
    assert process.interval_variance == pytest.approx(second - 66.0**2)
    for lag in (1, 6, 40):
        assert process.correlation(lag) == pytest.approx(54.0**2 / (second - 66.0**2) * 0.97**lag, rel=1e-9)
    assert process.mean_batch == pytest.approx(np.dot(np.arange(1, 7), demo_trace.BATCH_SIZES))


def test_same_seed_same_bytes_other_seed_others():
    first = demo_trace.demo_log(3, 500)
    assert first == demo_trace.demo_log(3, 500)
    assert first != demo_trace.demo_log(4, 500)


def test_the_log_is_read_as_it_was_made(tmp_path):
    path = tmp_path / "demo.crawl.log"
    path.write_text(demo_trace.demo_log(2, 3000))
    log = read_log(path)
    times, content = demo_trace.demo_pages(2, 3000)
    assert log.format == "heritrix"
    assert len(log) == 3000
    assert sum(log.dropped.values()) > 50  # failed fetches and name lookups
    assert log.broken == 0
    np.testing.assert_allclose(log.seconds, times - times[0], atol=0.0011)
    assert log.size.tolist() == content.tolist()
    gaps = np.diff(times)
    assert (gaps > demo_trace.PAUSE).sum() == 1
    assert (gaps[gaps < demo_trace.PAUSE] < 2000).all()


def test_the_true_optimum_is_inside_and_unique():
    found = optimize(demo_trace.true_scenario())
    assert (found.best.robots, found.best.thresholds) == ((4, 1), (2,))
    assert found.best.cost < np.sort(found.costs)[1]
    assert found.profit > 3
