"""Recorded batches: exact fates by hand, the thinning rule, the engines page by page, and every refusal."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crawltwin.model import InputError, Scenario, ThresholdPolicy, examples, exponential
from simulate import RecordedTrace, compare, replay
from simulate.questions.recorded import replay_request
from tests.unit.simulate.cases import assert_same

THINNED = examples.load("thinned")


def plain(capacity: int, robots: int = 1, **changes) -> Scenario:
    return examples.load("mm1k").replace(capacity=capacity, obsolescence=None, cost=None, **changes)


def test_a_trace_worked_out_by_hand():
    """Batches of 2, 2 and 1 pages at 0, 1 and 5; indexing takes 2 each; two places.

    Page 0 is indexed 0-2, page 1 2-4; of the second batch nothing fits at 1; the last page is indexed 5-7, which is
    beyond the end of the trace (5 and an average gap of 2.5: 7.5), so it is served too.
    """
    trace = RecordedTrace([10.0, 11.0, 15.0], [2, 2, 1], content=[200, 200, 200, 200, 200])
    result = replay(plain(2), trace, processing_rate=100.0, records=True, quantiles=())
    table = result.records
    assert table["fate"].tolist() == ["served", "served", "lost", "lost", "served"]
    assert table["start"].tolist()[:2] == [0.0, 2.0]
    assert table["end"].tolist() == [2.0, 4.0, 1.0, 1.0, 7.0]
    assert table["level"].tolist() == [0, 0, 2, 2, 0]
    pages = result.diagnostics.pages
    assert pages == {"delivered": 5, "lost": 2, "obsolete": 0, "served": 3, "present": 0}
    assert result.diagnostics.run_time == pytest.approx(7.5, rel=1e-12)


def trace_of(batches: int, seed: int, step: float = 0.1) -> RecordedTrace:
    """A trace whose moments are rounded, so that many events coincide."""
    rng = np.random.default_rng(seed)
    sample = THINNED.arrivals.stream.sample(rng, batches)
    times = np.round(sample.times / step) * step
    return RecordedTrace(times, sample.sizes, content=rng.integers(0, 9, int(sample.sizes.sum())))


@pytest.mark.parametrize("admission", ["partial", "all-or-nothing", "overflow"])
@pytest.mark.parametrize("service", ["content", "drawn"])
def test_engines_agree_page_by_page_on_a_trace(admission: str, service: str):
    rate = {"processing_rate": 10.0} if service == "content" else {}
    order = replay_request(THINNED.replace(admission=admission), trace_of(1500, 1), **rate)
    run, _ = assert_same(order.job)
    assert run.check_conservation() == 0
    assert abs(run.check_little()) < 1e-12


def test_engines_agree_on_a_trace_with_names_of_robots():
    trace = trace_of(1000, 2)
    named = RecordedTrace(trace.times, trace.sizes, np.random.default_rng(1).integers(1, 5, 1000))
    assert_same(replay_request(THINNED, named).job)


def test_a_trace_of_the_stream_gives_the_thinned_scenario():
    """Thinning by coins below r/N is the paper's second interpretation: its exact measures must be covered."""
    from analytic import solve

    sample = THINNED.arrivals.stream.sample(np.random.default_rng(3), 150_000)
    result = replay(THINNED, RecordedTrace(sample.times, sample.sizes), confidence=0.999)
    solved = solve(THINNED).measures
    for name in ("arrival_rate", "obsolescence_probability", "mean_pages", "mean_sojourn_served", "mean_active_robots"):
        assert result[name].covers(solved[name]), name


def test_what_few_robots_deliver_more_deliver_too():
    trace = trace_of(2000, 4)
    batches = {}
    for robots in (1, 2, 4):
        scenario = THINNED.replace(policy=ThresholdPolicy([robots]), capacity=200, service=exponential(1e-6))
        records = replay(scenario, trace, recorded_robots=4, records=True).records
        batches[robots] = set(records["arrival"])
    assert batches[1] < batches[2] < batches[4]
    share = len(batches[1]) / len(batches[4])
    assert 0.15 < share < 0.35


def test_named_robots_deliver_only_when_active():
    trace = RecordedTrace([0.0, 1.0, 2.0, 3.0], [1, 1, 1, 1], [1, 2, 1, 2])
    scenario = THINNED.replace(policy=ThresholdPolicy([1]), service=exponential(1e-9))
    assert replay(scenario, trace, quantiles=()).diagnostics.pages["delivered"] == 2


def test_policies_are_compared_on_the_same_trace():
    found = compare(
        THINNED,
        {"all": ThresholdPolicy([4]), "half": ThresholdPolicy([2])},
        trace=trace_of(20_000, 5),
        recorded_robots=4,
    )
    gap = next(d for d in found.differences if d.measure == "arrival_rate")
    assert gap.verdict == "smaller"
    assert found.units == 20


def test_pages_become_batches():
    trace = RecordedTrace.from_pages([0.0, 0.01, 0.5, 0.52, 0.53, 2.0], gap=0.1)
    assert trace.times.tolist() == [0.0, 0.5, 2.0]
    assert trace.sizes.tolist() == [2, 3, 1]


def test_files_of_batches_and_of_pages(tmp_path: Path):
    pd.DataFrame({"time": [0.0, 1.0, 4.0], "pages": [1, 2, 1]}).to_csv(tmp_path / "b.csv", index=False)
    assert RecordedTrace.read(tmp_path / "b.csv").pages == 4
    pages = pd.DataFrame({"time": [0.0, 1.0, 1.0, 4.0], "bytes": [10, 20, 30, 40]})
    pages.to_parquet(tmp_path / "p.parquet")
    trace = RecordedTrace.read(tmp_path / "p.parquet")
    assert trace.sizes.tolist() == [1, 2, 1]
    assert trace.content.tolist() == [10, 20, 30, 40]
    (tmp_path / "bad.csv").write_text("when\n1\n")
    (tmp_path / "batch.csv").write_text("time,batch\n0,1\n0,1\n1,2\n2,3\n")
    assert RecordedTrace.read(tmp_path / "batch.csv").sizes.tolist() == [2, 1, 1]
    (tmp_path / "both.csv").write_text("time,pages,bytes\n0,3,10\n1,2,20\n")
    with pytest.raises(InputError, match="got a column pages beside bytes"):
        RecordedTrace.read(tmp_path / "both.csv")
    with pytest.raises(InputError, match="the trace must have a column time; got when"):
        RecordedTrace.read(tmp_path / "bad.csv")
    (tmp_path / "crawl.log").write_text(
        4 * "2024-01-02T03:04:05.678Z 200 90 http://a.org/ L http://a.org/ text/html #012 -\n"
    )
    with pytest.raises(InputError, match=r"a column time; got 2024.*A crawler's log is no trace: crawltwin fit LOG"):
        RecordedTrace.read(tmp_path / "crawl.log")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match="the trace must be a CSV or Parquet table"):
        RecordedTrace.read(tmp_path / "empty.csv")
    with pytest.raises(InputError, match="the trace must be a file"):
        RecordedTrace.read(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"times": []}, "times must be a non-empty list of numbers"),
        ({"times": [1.0, math.nan, 2.0]}, r"times must be finite; got nan at times\[1\]"),
        ({"times": [1.0, math.inf]}, r"times must be finite; got inf at times\[1\]"),
        ({"times": [3.0, 1.0]}, r"times must be in rising order; got 1 after 3 at times\[1\]. Sort the trace by time"),
        ({"times": [-1.0, 1.0]}, r"times must be not negative; got -1 at times\[0\]"),
        ({"times": [2.0, 2.0]}, "times must span some time; got 2 batches at one moment"),
        ({"times": ["a", "b"]}, "times must be numbers"),
        ({"times": [0, 1], "sizes": [1, 0]}, r"sizes must be whole numbers, at least 1; got 0 at sizes\[1\]"),
        ({"times": [0, 1], "sizes": [1, -3]}, r"sizes must be whole numbers, at least 1; got -3"),
        ({"times": [0, 1], "sizes": [1, 1.5]}, r"sizes must be whole numbers, at least 1; got 1.5"),
        ({"times": [0, 1], "sizes": [1]}, "sizes must be one for each of the 2 batches; got 1"),
        ({"times": [0, 1], "robots": [0, 1]}, "robots must be whole numbers, at least 1; got 0"),
        ({"times": [0, 1], "content": [1.0, -2.0]}, r"content must be not negative; got -2 at content\[1\]"),
        ({"times": [0, 1], "sizes": [2, 2], "content": [1.0]}, "content must be one for each of the 4 pages; got 1"),
        ({"times": [0, 1], "content": [math.nan, 1.0]}, "content must be finite; got nan"),
    ],
)
def test_bad_traces_are_refused(columns: dict, text: str):
    with pytest.raises(InputError, match=text):
        RecordedTrace(**columns)


def test_a_policy_with_more_robots_than_were_recorded_is_refused():
    with pytest.raises(InputError, match="policy must use at most the 2 robots that made the trace; got 4"):
        replay(THINNED, trace_of(100, 6), recorded_robots=2)


def test_a_processing_rate_needs_content_sizes():
    with pytest.raises(InputError, match="processing_rate must come with content sizes"):
        replay(THINNED, RecordedTrace([0, 1]), processing_rate=3.0)
    with pytest.raises(InputError, match="processing_rate must be greater than 0; got 0"):
        replay(THINNED, trace_of(100, 6), processing_rate=0)
