"""A real Scrapy crawl of a site on the loopback address obeys a policy and records what happens."""

import contextlib
import itertools
import json
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scrapy", reason="Scrapy is not installed")

from crawltwin.live.crawl import CrawlSettings, run_crawl
from crawltwin.live.record import Record
from crawltwin.live.site import Site, SiteSettings
from crawltwin.model import ThresholdPolicy
from crawltwin.model.errors import InputError
from crawltwin.model.policies.policy_file import PolicyFile
from crawltwin.model.policies.schedule import Schedule, SchedulePart
from fitting.readers.reading import read_log

CAPACITY = 6


def write_policy(path, policy, schedule=None):
    own = path.with_suffix(".new")
    own.write_text(json.dumps(PolicyFile(policy, schedule=schedule).to_mapping(CAPACITY)))
    own.replace(path)


@pytest.fixture(scope="module")
def site():
    with Site(SiteSettings(documents=20, slow_every=0)) as found:
        yield found


@pytest.fixture(scope="module")
def crawled(site, tmp_path_factory):
    """One crawl of 12 seconds: first four robots and one above three pages; later two robots always."""
    folder = tmp_path_factory.mktemp("crawl")
    settings = CrawlSettings(
        site.address, site.pages, str(folder), 12.0, capacity=CAPACITY, lifetime=0.5, bytes_per_second=400_000.0
    )
    write_policy(settings.policy, ThresholdPolicy([4, 1], [3]))
    changed = threading.Event()

    def tell():
        if not changed.is_set() and settings.record.exists() and len(read_events(settings.record)) > 150:
            changed.set()
            write_policy(settings.policy, ThresholdPolicy([2]))

    run_crawl(settings, tell)
    return settings, read_events(settings.record), changed.is_set()


def read_events(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def test_the_number_of_robots_follows_the_policy(crawled):
    _, events, _ = crawled
    news = [n for n, event in enumerate(events) if event.get("message") == "a new policy is obeyed"]
    before = events[: news[0]] if news else events
    # The line of an event is written before the controller has looked at the level it brought: the next line tells.
    for event, after in itertools.pairwise(before):
        assert after["robots"] == (4 if event["level"] <= 3 else 1) or after["event"] == "robots"


def test_a_policy_that_changes_is_picked_up(crawled):
    _, events, changed = crawled
    assert changed
    news = [n for n, event in enumerate(events) if event.get("message") == "a new policy is obeyed"]
    assert len(news) == 1
    assert {event["robots"] for event in events[news[0] + 2 :]} == {2}


def test_no_more_fetches_begin_than_robots_are_wanted(crawled):
    _, events, _ = crawled
    for before, after in itertools.pairwise(events):
        if after["in_flight"] > before["in_flight"]:
            assert after["in_flight"] <= max(after["robots"], before["robots"])


def test_every_page_has_one_fate_and_levels_add_up(crawled):
    settings, events, _ = crawled
    level, fates = 0, {}
    for event in events:
        kind = event["event"]
        level += (kind == "delivered" and event["fate"] == "waiting") - (kind in ("stale", "indexed", "failed"))
        assert event["level"] == level <= CAPACITY
        if kind in ("stale", "indexed") or (kind == "delivered" and event["fate"] == "lost"):
            assert event["page"] not in fates
            fates[event["page"]] = kind
    assert {"indexed", "stale"} <= set(fates.values())
    record = Record.read(settings.record)
    assert record.failed == 0
    assert np.isfinite(record.fetch).all() and (record.fetch > 0).all()


def test_the_log_reader_takes_the_record(crawled):
    settings, events, _ = crawled
    log = read_log(settings.record)
    assert (log.format, log.broken) == ("crawltwin", 0)
    assert len(log) == sum(event["event"] == "delivered" for event in events)


def test_nothing_is_left_running(crawled):
    settings, _, _ = crawled
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [str(entry)] if settings.folder.encode() in entry.read_bytes() else []
    assert found == []


def test_a_crawl_obeys_a_schedule(site, tmp_path):
    """A period of two seconds: three robots in its first half, one in its second."""
    settings = CrawlSettings(site.address, site.pages, str(tmp_path), 6.0, capacity=CAPACITY, lifetime=0.5)
    parts = [SchedulePart(0.0, 1.0, ThresholdPolicy([3])), SchedulePart(1.0, 2.0, ThresholdPolicy([1]))]
    write_policy(settings.policy, ThresholdPolicy([6]), Schedule(parts, period=2.0))
    run_crawl(settings, lambda: None)
    events = read_events(settings.record)
    begins = [
        (n, 3 if "3 robots" in event["message"] else 1)
        for n, event in enumerate(events)
        if "another part of the schedule begins" in event.get("message", "")
    ]
    assert len(begins) >= 3
    for (n, robots), (after, other) in itertools.pairwise(begins):
        assert {robots, other} == {1, 3}
        # The line of the beginning and that of the change itself come first.
        assert {event["robots"] for event in events[n + 2 : after]} <= {robots}
    assert {event["robots"] for event in events[begins[0][0] + 2 :]} == {1, 3}


def test_a_wrong_policy_file_ends_the_crawl_before_it_begins(site, tmp_path):
    settings = CrawlSettings(site.address, site.pages, str(tmp_path), 5.0)
    settings.policy.write_text('{"format": "crawltwin policy 2", "table": [4, null]}')
    with pytest.raises(InputError, match=r"the crawl must end by itself; got exit code 1.*table\[1\]"):
        run_crawl(settings)
