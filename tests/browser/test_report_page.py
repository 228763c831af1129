"""The report page in a real browser: pictures, sorting, silence, contrast, phone and print."""

import dataclasses
from pathlib import Path

import pytest

from crawltwin.pages.files import write_report
from crawltwin.report import Cell, Column, Section, Table
from tests.browser.page_checks import check_accessible, check_fits, check_pictures, check_quiet, check_sorting
from tests.unit.test_report import make_report

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(make_report(), tmp_path_factory.mktemp("page"))[-1]


def test_pictures_sorting_and_silence(open_page, page_file: Path) -> None:
    opened = open_page(page_file)
    check_pictures(opened, 1)
    check_sorting(opened)
    check_quiet(opened)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1200, 360])
def test_accessible_and_fitting(open_page, page_file: Path, width: int, dark: bool) -> None:
    opened = open_page(page_file, width=width, dark=dark)
    check_accessible(opened)
    check_fits(opened)


def test_contents_lead_to_every_section(open_page, page_file: Path) -> None:
    opened = open_page(page_file)
    links = opened.page.eval_on_selector_all("nav a", "all => all.map(a => a.getAttribute('href'))")
    assert len(links) == 4  # two sections, what could not be confirmed, provenance
    for link in links:
        assert opened.page.query_selector(link) is not None


def test_prints(open_page, page_file: Path) -> None:
    opened = open_page(page_file)
    assert opened.page.pdf(format="A4").startswith(b"%PDF")


def test_a_sheet_of_paper_has_the_light_colours_and_whole_tables(open_page, page_file: Path) -> None:
    light = open_page(page_file)
    colours = """() => ["--good", "--bad", "--line", "--series-1"].map(
        name => getComputedStyle(document.documentElement).getPropertyValue(name).trim())"""
    wanted = light.page.evaluate(colours)
    opened = open_page(page_file, dark=True)
    assert opened.page.evaluate(colours) != wanted
    opened.page.emulate_media(media="print", color_scheme="dark")
    assert opened.page.evaluate(colours) == wanted
    # Chromium leaves buttons out of a heading that is repeated on the next sheet.
    assert opened.page.eval_on_selector("thead button", "element => getComputedStyle(element).display") == "contents"
    assert opened.page.eval_on_selector(".scroll.short", "element => getComputedStyle(element).breakInside") == "avoid"


def test_the_checks_can_fail(open_page, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><html><head><title>bad</title></head><body><main><h1>Bad</h1>"
        "<p style='color:#ccc;background:#fff'>faint</p><img src='http://127.0.0.1:9/x.png'>"
        "<script>console.error('loud')</script></main></body></html>"
    )
    opened = open_page(bad)
    with pytest.raises(AssertionError):
        check_accessible(opened)
    with pytest.raises(AssertionError):
        check_quiet(opened)
    with pytest.raises(AssertionError):
        check_pictures(opened, 1)


def test_long_titles_wrap_and_rows_of_wide_tables_stay_low_on_a_phone(open_page, tmp_path: Path) -> None:
    remark = "the distribution of the gaps is missed by up to 0.151 in probability, and the order is not followed"
    table = Table(
        "Inputs",
        ["what", "value", Column("simulated", "number"), "remarks"],
        [("a robot", "one fetch under way", Cell(2.166, "2.1661 (2.1401 to 2.1920) pages per hour"), remark)],
        name="wide-one",
    )
    own = dataclasses.replace(
        make_report(), title="Fit of nas_11_1140688359422_crawl.log.of.a.long.name", sections=[Section("One", [table])]
    )
    opened = open_page(write_report(own, tmp_path)[-1], width=390)
    check_fits(opened)
    assert opened.page.eval_on_selector("h1", "head => head.scrollWidth <= head.clientWidth")
    # Fifteen words would stand below one another; here two or more share a line.
    line = float(opened.page.eval_on_selector("tbody td", "cell => parseFloat(getComputedStyle(cell).lineHeight)"))
    assert opened.page.eval_on_selector("tbody tr", "row => row.getBoundingClientRect().height") < 8 * line
    # The shade that says "more is hidden here" leaves the text readable: most of the paper shines through it.
    assert opened.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--shade')").endswith("38")


def test_a_wide_table_stays_on_the_paper_and_its_first_column_readable(open_page, tmp_path: Path) -> None:
    """On paper nothing can be moved sideways; at 800 px the first column is not one word wide."""
    words = "pages delivered by the robots per unit of time"
    shown = Cell(96.3, "96.3 (93.6 to 99.3) pages per hour")
    table = Table(
        "The replayed log",
        [
            "measure",
            "verdict",
            *[Column(name, "number") for name in ("predicted", "replayed", "solved", "today")],
            "inside",
        ],
        [(words, "inconclusive", shown, shown, shown, shown, "yes")],
        name="replayed",
    )
    page = write_report(dataclasses.replace(make_report(), sections=[Section("One", [table])]), tmp_path)[-1]
    printed = open_page(page, width=720)
    printed.page.emulate_media(media="print")
    assert printed.page.eval_on_selector(
        "#replayed table", "table => table.scrollWidth <= table.parentElement.clientWidth"
    )
    first = open_page(page, width=800).page.locator("#replayed tbody td").first
    assert (first.bounding_box() or {})["width"] >= 9 * 16
