"""The gallery in the documents is what the reproduction gives."""

import re
from pathlib import Path

import pytest

from crawltwin.pages.gallery import gallery_files
from tests.conftest import REPOSITORY
from tests.reproduction import shared_store, whole


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return dict(gallery_files(whole(shared_store(tmp_path_factory))))


@pytest.mark.parametrize("name", ["gallery.md", "misprints.md"])
def test_documents_have_not_fallen_behind(made: dict[str, str], name: str) -> None:
    # Differences of rounding (1e-16 against 2e-16) are those of the machine, not of the document.
    assert _words(made[name]) == _words((REPOSITORY / "docs" / name).read_text())


def test_pictures_are_there(made: dict[str, str]) -> None:
    page = (REPOSITORY / "docs" / "gallery.md").read_text()
    linked = re.findall(r"\]\((gallery/[^)]+)\)", page)
    assert set(linked) == {name for name in made if name.startswith("gallery/")}
    assert all((Path(REPOSITORY) / "docs" / name).is_file() for name in linked)


def _words(text: str) -> str:
    text = re.sub(r"\d(?:\.\d)?e-1\d", "rounding", text)
    return re.sub(r"(\d\.\d{9})\d+", r"\1", text)
