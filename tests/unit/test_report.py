"""The report machinery: what is refused, what the faces hold, and that bytes depend on the content alone."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from crawltwin.model import InputError, examples
from crawltwin.pages.files import write_report
from crawltwin.report import (
    COLOURS,
    Cell,
    Code,
    Column,
    Figure,
    Note,
    Points,
    Provenance,
    Report,
    Section,
    Source,
    Table,
    Text,
    draw,
    gather,
    render,
    style_axes,
)
from crawltwin.report.inline import plain, to_html, to_markdown

ORIGIN = Provenance({"crawltwin": "0", "numpy": "1"}, "Linux", {"a scenario": "ab" * 32}, (7,), {"made": "noon"})


def _figure(name: str = "costs") -> Figure:
    def paint(axes):
        for label in ("one", "two"):
            axes.plot([0, 1, 2], [3, 1, 2], label=label)
        style_axes(axes, "threshold", "cost", whole_x=True)

    return draw(
        name,
        paint,
        "The cost is least at 1.",
        "A curve falling from 3 to 1, then rising to 2.",
        data={"cost": [3, 1, 2]},
    )


def make_report(**changes) -> Report:
    parts = {
        "title": "A report <of> things",
        "summary": ["It works.", "All of it & more."],
        "sections": [
            Section(
                "First",
                [
                    Text("One *plain* star.\n\nTwo `code` and **strong**, [a link](https://example.org/x)."),
                    Table(
                        "Every cost",
                        ["policy", Column("cost", "number")],
                        [
                            ("3 or 1", 63.54),
                            ("<script>alert(1)</script>", None),
                            ("a | b", Cell(12.0, "12.00", "bad")),
                        ],
                    ),
                    _figure(),
                ],
                [
                    Section(
                        "Inner",
                        [
                            Note("Beware.", "warn"),
                            Code("x < y"),
                            Points(["p", "q"], ordered=True),
                            Source("A. Author, 1963.", "https://example.org", "abstract only"),
                        ],
                    )
                ],
            ),
        ],
        "provenance": ORIGIN,
        "command": "crawltwin reproduce",
        "unconfirmed": ["The third decimal."],
        "data": {"answer": 42},
    } | changes
    return Report(**parts)


def test_three_faces_hold_the_same(tmp_path: Path) -> None:
    paths = write_report(make_report(), tmp_path / "deep" / "er")
    assert [path.name for path in paths] == ["costs.svg", "report.json", "report.md", "report.html"]
    page, text = paths[-1].read_text(), paths[-2].read_text()
    held = json.loads(paths[1].read_text())
    for words in (
        "The cost is least at 1.",
        "63.54",
        "The third decimal.",
        "crawltwin reproduce",
        "ab" * 32,
        "noon",
    ):
        assert words in page
        assert words in text
        assert words in json.dumps(held)
    assert held["data"] == {"answer": 42}
    assert held["sections"][0]["blocks"][1]["rows"][2][1] == {"value": 12.0, "shown": "12.00"}
    assert "A curve falling from 3 to 1" in page


def test_text_is_escaped_everywhere() -> None:
    made = render(make_report())
    assert "<script>alert" not in made["report.html"]
    assert "&lt;script&gt;alert" in made["report.html"]
    assert "<title>A report &lt;of&gt; things</title>" in made["report.html"]
    assert r"a \| b" in made["report.md"]
    assert r"One \*plain\* star." in made["report.md"]


def test_marks_in_sentences() -> None:
    sentence = "see `a<b` and **this** at [there](https://e.org/?a=1&b=2) <now>"
    assert str(to_html(sentence)) == (
        "see <code>a&lt;b</code> and <strong>this</strong> at "
        '<a href="https://e.org/?a=1&amp;b=2" rel="noreferrer">there</a> &lt;now&gt;'
    )
    assert to_markdown("x_1 * [y] `k_1`") == r"x\_1 \* \[y\] `k_1`"
    assert plain(sentence) == "see a<b and this at there <now>"
    assert "href" not in to_html("[x](javascript:alert(1))")
    assert 'href="explore.html"' in to_html("[x](explore.html)")
    assert "href" not in to_html("[x](../../other/page.html)")


def test_page_needs_no_network() -> None:
    page = render(make_report())["report.html"]
    assert "default-src 'none'" in page
    outside = re.findall(r'(?:src|href)="(https?:[^"]+)"', page)
    assert set(outside) == {
        "https://example.org/x",
        "https://example.org",
    }  # links that a reader may follow, nothing loaded
    assert not re.search(r"@import|url\(http|<img|<iframe|<link[^>]+stylesheet", page)


def test_same_content_same_bytes() -> None:
    assert render(make_report()) == render(make_report())
    later = Provenance(ORIGIN.versions, ORIGIN.platform, ORIGIN.scenarios, ORIGIN.seeds, {"made": "midnight"})
    first, second = render(make_report()), render(make_report(provenance=later))
    assert all(second[name].replace("midnight", "noon") == text for name, text in first.items())


def test_pictures_do_not_share_names_and_follow_the_theme() -> None:
    report = make_report(sections=[Section("Two", [_figure("left"), _figure("right")])])
    page = render(report)["report.html"]
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(names) == len(set(names))
    assert "var(--series-1)" in page
    assert COLOURS[0] not in page.split("</style>")[1]
    assert COLOURS[0] in render(report)["figures/left.svg"]  # on its own, a picture carries its own colours
    for reference in re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', page):
        assert reference in names


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Table("t", ["a", "b"], [(1,)]), "a row must have 2 cells, one per column; got 1"),
        (lambda: Table(" ", ["a"], [(1,)]), "caption must say what the table shows"),
        (lambda: Cell(float("nan")), "a cell must be finite, text or None; got nan"),
        (
            lambda: Figure("Bad Name", "<svg/>", "c", "a"),
            "name must be lower-case letters, digits and hyphens; got 'Bad Name'",
        ),
        (lambda: Figure("x", "<svg/>", "c", ""), "alternative must say in words"),
        (lambda: Figure("x", "nothing", "c", "a"), "svg must be a picture"),
        (lambda: make_report(summary=[]), "summary must be given"),
        (lambda: make_report(sections=[Section("A"), Section("a")]), "must be unique; got 'a' 2 times"),
    ],
)
def test_refusals(make, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        make()


def test_nothing_is_written_when_something_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="directory must be writable"):
        write_report(make_report(), tmp_path / "file" / "inner")
    with pytest.raises(ValueError, match="JSON compliant"):
        write_report(make_report(data={"bad": float("inf")}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_provenance_names_versions_hashes_and_no_host() -> None:
    scenario = examples.load("mm1k")
    origin = gather([scenario], seeds=[3], seconds={"tables": 1.234})
    assert origin.scenarios == {scenario.title: scenario.content_hash}
    assert origin.times["tables"] == "1.2 s"
    assert {"crawltwin", "numpy", "scipy", "matplotlib"} <= set(origin.versions)
    import platform

    assert platform.node() not in origin.platform


def _painted(paint):
    """A picture that was laid out, and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(6.4, 4.0), layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.add_subplot()
    paint(axes)
    canvas.draw_without_rendering()
    return canvas, axes


def test_a_legend_hides_nothing_that_is_drawn():
    def paint(axes):
        axes.bar([1], [1.0], label="trace")
        axes.plot([1], [1.0], label="model")
        style_axes(axes, "pages", "share")

    canvas, axes = _painted(paint)
    assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1
    assert axes.get_legend().get_window_extent().y1 <= canvas.bbox.y1


@pytest.mark.parametrize(("low", "high"), [(0.35, 9.0), (0.01, 2.0), (40.0, 90.0)])
def test_labels_of_a_short_logarithmic_axis_do_not_overlap(low, high):
    def paint(axes):
        axes.plot([low, high], [1.0, 2.0])
        axes.set_xscale("log")
        style_axes(axes, "seconds", "share")

    _, axes = _painted(paint)
    begin, end = axes.get_xlim()
    labels = [text for place, text in zip(axes.get_xticks(), axes.get_xticklabels()) if begin <= place <= end]
    boxes = sorted((text.get_window_extent().x0, text.get_window_extent().x1) for text in labels if text.get_text())
    minor = [text.get_text() for text in axes.get_xticklabels(minor=True)]
    assert len(boxes) >= 1 and not any(minor)
    assert all(left[1] < right[0] for left, right in pairwise(boxes))


@pytest.mark.parametrize(
    ("value", "shown"), [(1_448_210.0, "1,448,210"), (65_000, "65,000"), (9_999, "9999"), (0.0644529, "0.0644529")]
)
def test_large_numbers_have_separators_and_no_power_of_ten(value, shown):
    assert Cell(value).shown == shown


def test_no_line_ends_inside_an_option():
    found = to_html("Give --service-mean, or `crawltwin plan --check-every 5` (a--b stays).")
    assert found.count('<span class="whole">') == 2
    assert '<span class="whole">--service-mean</span>,' in found
    assert '<span class="whole">--check-every</span> 5</code>' in found
    assert str(to_html("--a<b")) == '<span class="whole">--a</span>&lt;b'
