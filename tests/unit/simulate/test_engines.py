"""The two engines tell the same story, page by page; and the story obeys its rules."""

from dataclasses import replace

import numpy as np
import pytest

from crawltwin.model import (
    BMAP,
    IndependentRobots,
    LevelPolicy,
    ModeMatrices,
    Scenario,
    ThresholdPolicy,
    examples,
    exponential,
)
from simulate.engine import reference
from simulate.engine.columns import LOST, OBSOLETE, PRESENT, SERVED
from simulate.engine.length import Length, Start
from simulate.engine.records import frame
from simulate.engine.run_plan import draw_opening, make_plan, opening
from simulate.engine.streams import open_streams
from simulate.sample.replications import Job, Piece, run_piece
from tests.unit.simulate.cases import CASES, assert_same, both, job_of, scenario_of


@pytest.mark.parametrize(("kind", "admission"), CASES)
def test_engines_agree_page_by_page(kind: str, admission: str):
    run, pages = assert_same(job_of(scenario_of(kind, admission), pages=2500))
    assert pages.fate.size >= 2500
    assert run.check_conservation() == 0
    assert abs(run.check_little()) < 1e-12


@pytest.mark.parametrize("kind", ["modes", "independent", "scaled"])
def test_engines_agree_on_time_and_from_a_given_level(kind: str):
    run, pages = assert_same(
        job_of(scenario_of(kind, "partial"), start=Start(np.array([0.0, 0.0, 0.5, 0.5])), time=700.0)
    )
    assert run.initial in (2, 3)
    assert (pages.batch[: run.initial] == -1).all()
    assert run.time == pytest.approx(700.0, rel=1e-12)


def test_engines_agree_without_obsolescence_without_buffer_and_under_a_free_table():
    paper = examples.load("paper")
    assert_same(job_of(paper.replace(obsolescence=None)))
    assert_same(job_of(paper.replace(capacity=1, policy=ThresholdPolicy([3, 1], [0]))))
    assert_same(job_of(paper.replace(policy=LevelPolicy([4, 1, 3, 1, 2, 1]))))


@pytest.mark.parametrize(("kind", "admission"), CASES)
def test_records_obey_the_rules(kind: str, admission: str):
    scenario = scenario_of(kind, admission)
    _, pages = run_piece(Piece(replace(job_of(scenario, pages=1200), recording=True), 0))
    assert pages is not None
    table = frame(pages)
    assert table["arrival"].is_monotonic_increasing
    served, obsolete = table[pages.fate == SERVED], table[pages.fate == OBSOLETE]
    # First come, first served: indexing begins in the order of arrival, one page at a time.
    assert served["start"].is_monotonic_increasing
    assert (served["start"].to_numpy()[1:] >= served["end"].to_numpy()[:-1]).all()
    assert (served["start"] >= served["arrival"]).all()
    assert obsolete["start"].isna().all()
    assert (table[pages.fate == LOST]["end"] == table[pages.fate == LOST]["arrival"]).all()
    # The policy at the level that the batch found.
    policy = scenario.policy_in_force
    assert (table["robots"] == table["level"].map(policy.robots_at)).all()
    # The admission rule, batch by batch.
    for _, batch in table.groupby("batch"):
        size, found = len(batch), int(batch["level"].iloc[0])
        room = scenario.capacity - found
        rule = {
            "partial": min(size, max(room, 0)),
            "all-or-nothing": size if size <= room else 0,
            "overflow": size if room > 0 else 0,
        }
        assert (batch["fate"] != "lost").sum() == rule[admission]


@pytest.mark.parametrize(("kind", "admission"), [("modes", "overflow"), ("thinned", "partial")])
def test_levels_found_are_those_of_the_records(kind: str, admission: str):
    """The level that a batch finds is what the records themselves say is in the system at that moment."""
    _, pages = run_piece(Piece(replace(job_of(scenario_of(kind, admission), pages=1000), recording=True), 0))
    assert pages is not None
    inside = pages.fate != LOST
    ends = np.where(np.isnan(pages.end), np.inf, pages.end)
    for index in range(0, pages.batch.size, 7):
        now, batch = pages.arrival[index], pages.batch[index]
        there = inside & (pages.batch < batch) & (ends > now)
        assert there.sum() == pages.level[index]


def test_inactive_robots_deliver_nothing():
    """Robot 2 brings batches of two, robot 1 single pages: with one robot active no pair may come."""
    robots = IndependentRobots((BMAP.poisson(1.0), BMAP.poisson(3.0, [0.0, 1.0])))
    scenario = Scenario(5, robots, exponential(0.4), policy=ThresholdPolicy([2, 1], [1]))
    _, pages = run_piece(Piece(Job(scenario, Length(pages=3000), 3, recording=True), 0))
    assert pages is not None
    sizes = np.bincount(pages.batch)[pages.batch]
    assert set(sizes[pages.robots == 1]) == {1}
    assert set(sizes[pages.robots == 2]) == {1, 2}


def test_sixteen_robots_need_no_joint_phase_space():
    """Sixteen robots of two phases have 65,536 joint phases; each robot is walked by itself."""
    robot = BMAP([[[-2.0, 0.5], [0.2, -0.7]], [[1.0, 0.0], [0.0, 0.3]], [[0.5, 0.0], [0.0, 0.2]]])
    scenario = Scenario(8, IndependentRobots((robot,) * 16), exponential(0.05), policy=ThresholdPolicy([16, 2], [3]))
    run, pages = assert_same(job_of(scenario, pages=2000))
    assert run.check_conservation() == 0
    assert set(pages.robots.tolist()) == {2, 16}
    assert "65536 phases" in repr(scenario.arrivals)


# -- planted faults: what the comparison must notice --------------------------------------------------------------


def _differs(monkeypatch: pytest.MonkeyPatch, part: type, name: str, fault: object) -> bool:
    """Whether the paper's example comes out otherwise when a part of the reference engine is replaced by a fault."""
    with monkeypatch.context() as patch:
        patch.setattr(part, name, fault)
        try:
            (_, pages), (_, others) = both(job_of(examples.load("paper"), pages=2000))
        except KeyError:
            return True
        return pages.fate.size != others.fate.size or not np.array_equal(pages.end, others.end, equal_nan=True)


def test_planted_robots_that_ignore_the_level_are_noticed(monkeypatch: pytest.MonkeyPatch):
    assert _differs(monkeypatch, reference.Robots, "follow", lambda self, jumping: None)


def test_planted_obsolescence_in_service_is_noticed(monkeypatch: pytest.MonkeyPatch):
    """The alarm of a page in service is not cancelled: it rings for a page that no longer waits."""

    def forget_the_alarm(self):
        if not self.waiting:
            return None
        page = next(iter(self.waiting))
        del self.waiting[page]
        return page

    assert _differs(monkeypatch, reference.Buffer, "next_page", forget_the_alarm)


def test_planted_last_come_first_served_is_noticed(monkeypatch: pytest.MonkeyPatch):
    honest = reference.Buffer.next_page

    def reversed_order(self):
        self.waiting = dict(reversed(self.waiting.items()))
        return honest(self)

    assert _differs(monkeypatch, reference.Buffer, "next_page", reversed_order)


def test_planted_wrong_admission_is_noticed(monkeypatch: pytest.MonkeyPatch):
    """A batch that does not fit as a whole is refused as a whole, though the rule is partial admission."""

    def whole_or_nothing(self, size):
        return size if size <= self.capacity - self.account.level else 0

    assert _differs(monkeypatch, reference.Buffer, "admitted", whole_or_nothing)


def test_a_replaced_part_that_does_the_same_is_not_noticed(monkeypatch: pytest.MonkeyPatch):
    honest = reference.Buffer.admitted
    assert not _differs(monkeypatch, reference.Buffer, "admitted", lambda self, size: honest(self, size))


# -- memory ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_what_a_run_leaves_does_not_grow_with_its_length(engine: str):
    sizes = []
    for pages in (1000, 10_000):
        run, records = run_piece(Piece(Job(examples.load("paper"), Length(pages=pages), 1, engine=engine), 0))
        assert records is None
        sizes.append(sum(getattr(run, name).nbytes for name in ("time_at_level", "counts", "sojourns")))
    assert sizes[0] == sizes[1]


def test_cancelled_alarms_do_not_pile_up():
    """Pages that would become obsolete in a million time units are served at once; their alarms must go."""
    scenario = examples.load("mm1k").replace(obsolescence=exponential(1e6))
    plan, streams = make_plan(scenario, Length(pages=20_000)), open_streams(1, 0)
    level, rows = draw_opening(opening(scenario, plan), Start(), streams)
    crawler = reference.Crawler(plan, streams, rows)
    crawler.run(level)
    assert crawler.account.count.served > 0
    assert len(crawler.calendar._queue) < 300


def test_pages_still_there_have_no_end():
    run, pages = assert_same(job_of(examples.load("paper"), pages=500))
    assert (pages.fate == PRESENT).sum() == run.present
    assert np.isnan(pages.end[pages.fate == PRESENT]).all()


def test_a_policy_that_never_changes_needs_no_modes():
    scenario = Scenario(3, ModeMatrices({1: BMAP.poisson(0.7)}), exponential(1.0))
    assert_same(job_of(scenario))
