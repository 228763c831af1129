"""The page of a watch in a real browser: readable on a phone, in units, and told by its title."""

from pathlib import Path
from typing import Any

import pytest

from crawltwin.live.watch.server import Server, page
from tests.browser.page_checks import check_accessible, check_fits, check_quiet

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
    if width == 390:
        check_accessible(opened)
    words = opened.page.inner_text("main")
    for expected in ("65,000", "0.0512 pages per second", "1.23%", "1970-01-01 00:00:00 UTC: the pace became slower"):
        assert expected in words
    assert opened.page.title() == "1 alarm, 0.0512 pages per second - crawltwin watch"
    assert opened.page.locator("meta[name=viewport]").count() == 1  # a phone would show it tiny without


def test_it_renews_itself_without_a_reload_and_can_be_paused(browser: Any) -> None:
    """The served page: new numbers come in, the focus stays, a pause holds, and it says when the watch is gone."""
    from playwright.sync_api import expect

    now = dict(SUMMARY)
    context = browser.new_context(viewport={"width": 390, "height": 700})
    try:
        opened = context.new_page()
        messages: list[str] = []
        opened.on("pageerror", lambda error: messages.append(str(error)))
        opened.on("console", lambda message: messages.append(message.text))
        opened.clock.install()
        with Server(lambda: now) as server:
            opened.goto(server.address)
            opened.keyboard.press("Tab")
            now["deliveries"] = 65_001
            opened.clock.run_for(5_000)
            expect(opened.locator("#numbers")).to_contain_text("65,001")
            assert opened.evaluate("document.activeElement.textContent") == "Pause"
            opened.keyboard.press("Enter")
            assert opened.inner_text("#state") == "Paused."
            now["deliveries"] = 65_002
            opened.clock.run_for(20_000)
            opened.wait_for_timeout(100)
            assert "65,001" in opened.inner_text("#numbers")
            opened.keyboard.press("Enter")
            opened.clock.run_for(5_000)
            expect(opened.locator("#numbers")).to_contain_text("65,002")
            assert messages == []
        opened.clock.run_for(5_000)
        expect(opened.locator("#state")).to_contain_text("does not answer")
    finally:
        context.close()
