"""The reproduction's page in a real browser."""

from pathlib import Path

import pytest

from crawltwin.pages.files import write_report
from crawltwin.pages.paper import paper_report
from tests.browser.page_checks import check_accessible, check_fits, check_pictures, check_quiet, check_sorting
from tests.reproduction import shared_store, whole

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = whole(shared_store(tmp_path_factory))
    report = paper_report(found, "crawltwin reproduce --report report/paper")
    return write_report(report, tmp_path_factory.mktemp("paper"))[-1]


def test_pictures_sorting_and_silence(open_page, page_file: Path) -> None:
    opened = open_page(page_file)
    check_pictures(opened, 5)
    check_sorting(opened)
    check_quiet(opened)


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (360, True)])
def test_accessible_and_fitting(open_page, page_file: Path, width: int, dark: bool) -> None:
    opened = open_page(page_file, width=width, dark=dark)
    check_accessible(opened)
    check_fits(opened)


def test_every_misprint_is_told(page_file: Path) -> None:
    page = page_file.read_text()
    for words in ("67.5207 [80.50]", "column slipped by a row", "51.0774 [52.07]", "S_0 beta (x) e_R"):
        assert words in page
