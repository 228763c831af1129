"""The report page in a real browser: pictures, sorting, silence, contrast, phone and print."""

from pathlib import Path

import pytest

from crawltwin.pages.files import write_report
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
