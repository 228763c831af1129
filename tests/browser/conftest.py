"""A headless Chromium for the tests of pages; without one they are skipped."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The browser, started once."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as engine:
        chromium = engine.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


class Opened:
    """A page that was opened, with everything it said and asked for."""

    def __init__(self, browser: Any, path: Path, width: int = 1200, dark: bool = False) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        self.page = self.context.new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.resolve().as_uri())

    @property
    def outside(self) -> list[str]:
        """What was asked for beyond the file itself."""
        return [url for url in self.requests[1:] if not url.startswith("data:")]


@pytest.fixture
def open_page(browser: Any) -> Iterator[Any]:
    """Opens a file; closes it after the test."""
    opened: list[Opened] = []

    def open_it(path: Path, **settings: Any) -> Opened:
        opened.append(Opened(browser, path, **settings))
        return opened[-1]

    yield open_it
    for item in opened:
        item.context.close()
