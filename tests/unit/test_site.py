"""The documentation site: every page is in its navigation, and the built site holds together without the network."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.conftest import REPOSITORY

DOCS = REPOSITORY / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def listed() -> list[str]:
    """Names in the navigation."""
    trees = TOCTREE.findall((DOCS / "index.md").read_text(encoding="utf-8"))
    return [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]


def test_each_page_is_once_in_the_navigation():
    pages = [path for path in DOCS.rglob("*") if path.suffix in (".md", ".ipynb") and path.name != "index.md"]
    assert sorted(listed()) == sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in pages)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_what_it_printed(path):
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if find_spec("sphinx") is None or find_spec("myst_nb") is None or find_spec("furo") is None:
        pytest.skip("the extra docs is not installed")
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(target / "doctrees")]
    done = subprocess.run(
        [*command, str(DOCS), str(target / "html")], capture_output=True, text=True, check=False, cwd=REPOSITORY
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return target / "html"


def links(text: str) -> list[str]:
    return re.findall(r'<(?:a|link|img|script|iframe)\b[^>]*?\b(?:href|src)="([^"]+)"', text)


@pytest.mark.slow
def test_the_site_is_built_and_its_links_lead_somewhere(site: Path):
    broken = []
    for page in site.rglob("*.html"):
        for link in links(page.read_text(encoding="utf-8")):
            parts = urlsplit(link.replace("&amp;", "&"))
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.exists():
                broken.append((page.name, link))
            elif parts.fragment and target.suffix == ".html":
                anchor = re.escape(unquote(parts.fragment))
                if not re.search(rf'\b(?:id|name)="{anchor}"', target.read_text(encoding="utf-8")):
                    broken.append((page.name, link))
    assert broken == []


@pytest.mark.slow
def test_the_site_fetches_nothing_from_elsewhere(site: Path):
    fetched = re.compile(r'<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)="(?:https?:)?//')
    assert not [page.name for page in site.rglob("*.html") if fetched.search(page.read_text(encoding="utf-8"))]
    assert not [
        path.name for path in site.rglob("*.css") if re.search(r"url\(['\"]?(?:https?:)?//|@import", path.read_text())
    ]


@pytest.mark.slow
def test_the_site_knows_the_public_names_and_can_be_searched(site: Path):
    reference = (site / "reference" / "analytic.html").read_text(encoding="utf-8")
    for name in ("solve", "optimize", "Solution", "pareto"):
        assert f'id="analytic.{name}"' in reference
    assert "browsertrix" in (site / "searchindex.js").read_text(encoding="utf-8")
    assert "<math" in "".join(page.read_text(encoding="utf-8") for page in site.rglob("*.html"))
