"""A stretch of a run: the same events as the records tell, and a picture of them."""

import re

import pytest

from crawltwin.model import InputError, examples
from crawltwin.pages.timeline import timeline_figure
from simulate import timeline
from simulate.engine.length import Length
from simulate.engine.records import frame
from simulate.sample.replications import Job, Piece, run_piece

PAPER = examples.load("paper")


def test_the_events_are_those_of_the_records():
    events = timeline(PAPER, end=200.0, seed=4)
    _, records = run_piece(Piece(Job(PAPER, Length(time=200.0, bins=1), 4, engine="simpy", recording=True), 0))
    table = frame(records)
    for fate in ("lost", "obsolete", "served"):
        assert events.loc[events["event"] == fate, "pages"].sum() == (table["fate"] == fate).sum()
    assert events["time"].is_monotonic_increasing
    assert (events["robots"] == events["level"].map(PAPER.policy.robots_at)).all()


def test_levels_change_by_what_happened():
    events = timeline(PAPER, begin=50.0, end=150.0, seed=4)
    step = {"delivered": 1, "lost": 0, "obsolete": -1, "served": -1}
    level = events["level"].iloc[0]
    for row in events.iloc[1:].itertuples():
        level += step[row.event] * row.pages
        assert level == row.level


def test_a_later_begin_shows_the_same_run():
    whole, late = timeline(PAPER, end=100.0, seed=2), timeline(PAPER, begin=60.0, end=100.0, seed=2)
    rest = whole[whole["time"] >= 60.0].reset_index(drop=True)
    assert late.iloc[1:].reset_index(drop=True).equals(rest)
    assert late["level"].iloc[0] == whole[whole["time"] < 60.0]["level"].iloc[-1]


def test_the_picture_says_in_words_what_it_shows():
    events = timeline(PAPER, begin=50.0, end=110.0)
    figure = timeline_figure(events, PAPER.capacity, 110.0)
    lost = int(events.loc[events["event"] == "lost", "pages"].sum())
    assert f"{lost} pages are lost" in figure.alternative
    assert figure.svg.startswith("<svg")
    assert re.search(r">pages in the system<", figure.svg)
    again = timeline_figure(timeline(PAPER, begin=50.0, end=110.0), PAPER.capacity, 110.0)
    assert again.svg == figure.svg


@pytest.mark.parametrize(
    ("options", "text"),
    [({"end": 0.0}, "end must be greater than 0"), ({"begin": -1.0, "end": 2.0}, "begin must be at least 0")],
)
def test_stretches_that_make_no_sense_are_refused(options: dict, text: str):
    with pytest.raises(InputError, match=text):
        timeline(PAPER, **options)
