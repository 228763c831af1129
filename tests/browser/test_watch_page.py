"""The page of a watch in a real browser: readable on a phone, in units, and told by its title."""

from pathlib import Path
from typing import Any

import pytest

from crawltwin.live.watch.server import page
from tests.browser.page_checks import check_fits, check_quiet

pytestmark = pytest.mark.browser

SUMMARY: dict[str, Any] = {
    "deliveries": 65_000,
    "pace": 0.0512,
    "predicted_loss": 0.0123,
    "alarms": [{"time": 0.0, "direction": "slower"}],
    "alarms_raised": 1,
    "policy": "robots 4,1 at threshold 3",
}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1300, 800, 390])
def test_it_fits_and_speaks_in_units(open_page, tmp_path: Path, width: int, dark: bool) -> None:
    file = tmp_path / "watch.html"
    file.write_text(page(SUMMARY), encoding="utf-8")
    opened = open_page(file, width=width, dark=dark)
    check_fits(opened)
    check_quiet(opened)
    words = opened.page.inner_text("main")
    for expected in ("65,000", "0.0512 pages per second", "1.23%", "1970-01-01 00:00:00 UTC: the pace became slower"):
        assert expected in words
    assert opened.page.title() == "1 alarm, 0.0512 pages per second - crawltwin watch"
    assert opened.page.locator("meta[name=viewport]").count() == 1  # a phone would show it tiny without
