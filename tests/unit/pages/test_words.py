"""Pages and notes speak in words: no raw names of numbers, a unit with every rate."""

import math
import re
from dataclasses import replace

import pytest

from crawltwin.model import SCALAR_MEASURES, examples
from crawltwin.model.measures import unit_of
from crawltwin.pages.crosscheck import crosscheck_report, left_open, simulated, simulated_head
from crawltwin.plan.wording import kind_of, with_interval
from crawltwin.report.blocks import Note, Points, Table, Text
from crawltwin.report.html import to_html
from crawltwin.report.inline import pieces, to_markdown
from validate import ValidationPlan, crosscheck

RAW = re.compile(r"[a-z]+_[a-z]+|\w\[")


@pytest.fixture(scope="module")
def checked():
    # A budget that is too small: the page then names the number that asks for more.
    plan = ValidationPlan(margin=0.05, budget=20_000, replications=10)
    return crosscheck(examples.load("paper").replace(capacity=3), plan)


def test_a_cross_check_names_its_numbers_in_words(checked):
    report = crosscheck_report([checked], "crawltwin validate paper.toml")
    assert "_" in checked.length.limiting  # the raw name, for programs
    sentences = [*report.summary, *report.unconfirmed]
    for block in report.every_block():
        sentences += [block.text] if isinstance(block, Text | Note) else []
        sentences += block.items if isinstance(block, Points) else []
        if isinstance(block, Table):
            sentences += [cell.shown for row in block.rows for cell in row]
    assert any("Length set by: " in sentence for sentence in sentences)
    assert any("because of " in sentence for sentence in checked.notes)
    assert not [sentence for sentence in sentences if RAW.search(sentence)]


def test_tables_of_several_scenarios_have_names_of_their_own(checked):
    report = crosscheck_report([checked, checked], "crawltwin validate paper.toml paper.toml")
    captions = [block.caption for block in report.every_block() if isinstance(block, Table)]
    assert len(set(captions)) == len(captions) == 6


def test_what_differs_is_never_told_as_confirmed(checked):
    sound = [replace(one, word="equivalent") for one in checked.verdicts]
    broken = replace(checked.identities[0], gap=1.0)
    cases = {
        "obsolescence probability: different": (replace(sound[2], word="different"), *sound[3:]),
        f"the identity {broken.name} does not hold": tuple(sound),
    }
    for words, verdicts in cases.items():
        identities = (broken,) if "identity" in words else checked.identities
        own = replace(checked, verdicts=verdicts, approach=(), identities=identities)
        (told,) = crosscheck_report([own], "crawltwin validate paper.toml").unconfirmed
        assert words in told


def test_what_must_hold_exactly_has_few_digits(checked):
    report = crosscheck_report([checked], "crawltwin validate paper.toml")
    table = next(block for block in report.every_block() if isinstance(block, Table) and "identities" in block.name)
    assert all(len(row[3].shown) <= 8 for row in table.rows)  # -1.1e-16
    assert {row[2].shown for row in table.rows} == {"yes"}


@pytest.mark.parametrize("name", [name for name in SCALAR_MEASURES if "time" in unit_of(name)])
def test_what_is_counted_in_time_has_a_unit_in_a_plan(name):
    assert re.search(r"\d (s|minutes|hours|days|per hour|pages per hour)$", with_interval(0.0032, kind=kind_of(name)))


def test_frequencies_have_the_unit_that_people_would_use():
    assert [with_interval(rate, kind="frequency") for rate in (2.0, 0.0032, 1e-5)] == [
        "2 per second", "11.5 per hour", "0.864 per day",
    ]  # fmt: skip
    assert with_interval(0.0032, 0.003, 0.0035, kind="frequency") == "11.5 (10.8 to 12.6) per hour"


def test_verdicts_are_one_word_and_what_is_missing_stands_apart(checked):
    report = crosscheck_report([checked], "crawltwin validate paper.toml")
    table = next(block for block in report.every_block() if isinstance(block, Table) and "numbers" in block.name)
    assert {row[2].shown for row in table.rows} <= {"equivalent", "inconclusive", "different"}
    for row, one in zip(table.rows, checked.verdicts, strict=True):
        assert (row[-1].shown == "–") == (one.word != "inconclusive")
        assert row[-1].value == one.more_pages


def test_stars_inside_what_is_strong_stay_stars():
    found = list(pieces("**Table 2: K = 3, j*.** The **optimum**, **C***, is 2 ** 3."))
    strong = [piece.text for piece in found if piece.kind == "strong"]
    assert strong == ["Table 2: K = 3, j*.", "optimum", "C*"]
    assert "**" not in "".join(piece.text for piece in found if piece.kind == "plain").replace("2 ** 3", "")
    assert to_markdown("**j*** is 1") == r"**j\*** is 1"


def test_long_cells_of_wide_tables_are_told_to_the_style(checked):
    page = to_html(crosscheck_report([checked], "crawltwin validate paper.toml"))
    assert 'class="sortable wide"' in page
    assert re.search(r'<td class="text long"', page)


def test_pages_that_are_missing_have_a_column_only_where_something_is_open(checked):
    def heads(own):
        report = crosscheck_report([own], "crawltwin validate paper.toml")
        table = next(block for block in report.every_block() if isinstance(block, Table) and "numbers" in block.name)
        assert {len(row) for row in table.rows} == {len(table.columns)}
        return [column.name for column in table.columns]

    settled = tuple(replace(one, word="equivalent", more_pages=None) for one in checked.verdicts)
    assert heads(checked)[-1] == "pages missing"
    assert "pages missing" not in heads(replace(checked, verdicts=settled, approach=()))


def test_a_number_without_bounds_is_told_as_such_and_the_heading_promises_none(checked):
    bare = tuple(replace(one, low=-math.inf, high=math.inf) for one in checked.verdicts)
    own = replace(checked, verdicts=bare)
    assert simulated_head(checked) == "simulated (99%)"
    assert simulated_head(own) == "simulated"
    assert simulated(bare[0]).shown.endswith(" (too few cases for bounds)")
    assert "too few" not in simulated(checked.verdicts[0]).shown


def test_what_is_left_open_is_named_where_it_is_little(checked):
    good = [replace(one, word="equivalent") for one in checked.verdicts]
    good[0] = replace(good[0], word="inconclusive")
    assert left_open(replace(checked, verdicts=tuple(good))) == "arrival rate"
    bad = tuple(replace(one, word="inconclusive") for one in good)
    assert left_open(replace(checked, verdicts=bad)) == f"{len(bad)} of {len(bad)} numbers"
