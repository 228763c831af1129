"""Tables in a terminal of 80 columns: no word and no number is broken, nothing is left out."""

import pytest

from crawltwin.cli import output
from crawltwin.cli.tables.layout import laid_out


def _shown(capsys, monkeypatch, *table, width=80, **settings):
    monkeypatch.setenv("COLUMNS", str(width))
    output.console.cache_clear()
    try:
        output.show_table(*table, **settings)
    finally:
        output.console.cache_clear()
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", range(2, 15))
def test_numbers_and_headings_stay_whole(capsys, monkeypatch, columns):
    headings = ["obsolescence.scale", ">cost.loss", *(f">C_{at}" for at in range(columns))]
    rows = [["0.70711", "2.6591", *(f"{100 + at}.{at:03}9" for at in range(columns))] for _ in range(2)]
    text = _shown(capsys, monkeypatch, "a title", headings, rows, keys=2)
    words = text.replace("│", " ").replace("┃", " ").split()
    for word in [heading.removeprefix(">") for heading in headings] + rows[0]:
        assert word in words
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("a title") == 1
    # Each table that a wide one is cut into names its rows.
    assert words.count("cost.loss") == text.count("┏") == words.count("2.6591") / 2


def test_sentences_give_way_before_numbers(capsys, monkeypatch):
    sentence = "the simulation was too short to check the solved numbers, so give it more pages with --budget"
    text = _shown(capsys, monkeypatch, "", ["what", ">value"], [[sentence, "123,456.789 (120,000.001 to 130,000.002)"]])
    words = text.replace("│", " ").split()
    assert all(word in words for word in [*sentence.split(), "123,456.789", "(120,000.001", "130,000.002)"])


def test_a_word_longer_than_the_terminal_is_folded_not_cut(capsys, monkeypatch):
    text = _shown(capsys, monkeypatch, "", ["url", ">n"], [["x" * 100, "7"]], width=40)
    assert text.count("x") == 100
    assert "7" in text
    assert max(map(len, text.splitlines())) <= 40


def test_no_rows_and_no_columns():
    assert [part.widths for part in laid_out([["a"], ["b"]], 1, 80)] == [(1, 1)]
