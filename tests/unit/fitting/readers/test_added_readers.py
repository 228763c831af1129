"""A reader in a package of its own, as docs/new-reader.md shows it, is found, detects its files and reads them."""

import re
import sys
from pathlib import Path

import pytest

from crawltwin.model.errors import InputError
from fitting import ReadOptions, read_log
from fitting.readers import registry

DOCUMENT = Path(__file__).parents[4] / "docs" / "new-reader.md"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Lay a package out as an installer does, with the entry points that are asked for."""

    def install(module, points):
        (tmp_path / "acme_reader.py").write_text(module)
        about = tmp_path / "acme_reader-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-reader\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[crawltwin.readers]\n{points}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        registry.added.cache_clear()

    yield install
    registry.added.cache_clear()
    sys.modules.pop("acme_reader", None)


def _documented():
    text = DOCUMENT.read_text()
    module = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    point = re.search(r'"crawltwin.readers"\]\n(.*?)\n', text, re.DOTALL)[1].replace('"', "")
    return module, point


def test_the_reader_of_the_guide(installed, written):
    module, point = _documented()
    assert len(module.strip().splitlines()) <= 35
    installed(module, point)
    rows = [f"{1706266259 + i}.250 w{i % 3} {200 if i else 404} {100 * i} https://a.org/{i}" for i in range(9)]
    log = read_log(written("\n".join(rows)))
    assert log.format == "acme"
    assert log.detected
    assert (len(log), dict(log.dropped)) == (8, {"HTTP error status": 1})
    assert log.time[0] == 1706266260_250_000_000
    assert log.worker.tolist() == [1, 2, 0, 1, 2, 0, 1, 2]
    assert len(read_log(written("\n".join(rows)), log_format="acme", options=ReadOptions(only_url="[1-3]$"))) == 3


def test_a_growing_log_of_the_guide_can_be_watched(installed, written):
    from crawltwin.live.watch.reading import GrowingLog

    installed(*_documented())
    log = GrowingLog(ReadOptions("acme"), {}, print)
    assert log.times("a.log", b"1706266259.250 w1 200 100 https://a.org/1\n") == pytest.approx(
        [1706266259.25], abs=1e-6
    )


def test_our_own_formats_are_still_found(installed, written):
    installed(*_documented())
    assert read_log(written("1460000000\n1460000001\n")).format == "plain"
    with pytest.raises(InputError, match=r"format must be one of .*acme, pattern, scrapy-counters, .*; got 'acne'"):
        read_log(written("1460000000\n"), log_format="acne")


@pytest.mark.parametrize(
    ("module", "point", "words"),
    [
        ("x = 1\n", "acme = acme_reader:Missing", "a reader must be importable; got acme = acme_reader:Missing"),
        ("class Acme: name = 'acme'\n", "acme = acme_reader:Acme", "a reader must have name, about, score and read"),
    ],
)
def test_what_is_no_reader_is_told(installed, written, module, point, words):
    installed(module, point)
    with pytest.raises(InputError, match=words):
        read_log(written("1460000000\n1460000001\n"))


_HEAD = """
import numpy as np
from fitting.readers.columns import Columns

class Acme:
    name, about = "acme", "x"
    def score(self, head, lines):
        return SCORE
    def read(self, source, options):
        size = source.read().count(b"\\n")
        RESULT
"""


@pytest.mark.parametrize(
    ("score", "result", "words"),
    [
        ("1 / 0", "return []", "must tell a number from 0 to 1 .* got ZeroDivisionError"),
        ("'high'", "return []", "must tell a number from 0 to 1"),
        ("1", "return None", "must read .* got TypeError"),
        ("1", "raise KeyError('boom')", "must read .* got KeyError: 'boom'"),
        ("1", "yield None", "must give Columns; got an object of NoneType"),
        (
            "1",
            "yield Columns(np.arange(size) * 1.5)",
            "array of int64, nanoseconds since 1970; got an array of float64",
        ),
        ("1", "yield Columns([1, 2])", "got a list"),
        ("1", "yield Columns(np.arange(size), size=np.ones(1))", "must give as many of size as times, 2; got 1"),
        ("1", "yield Columns(np.full(size, -(2**63)))", "must give times that were read"),
    ],
)
def test_a_reader_that_does_wrong_is_told_by_its_name(installed, written, score, result, words):
    installed(_HEAD.replace("SCORE", score).replace("RESULT", result), "acme = acme_reader:Acme")
    with pytest.raises(InputError, match=rf"the reader acme \(acme_reader:Acme\) .*{words}"):
        read_log(written("no log\nof ours\n"))


def test_a_reader_must_not_have_the_name_of_ours(installed, written):
    module, _ = _documented()
    installed(module, "heritrix = acme_reader:Acme")
    with pytest.raises(InputError, match="a reader must have a name of its own; got heritrix = acme_reader:Acme"):
        read_log(written("1460000000\n1460000001\n"))
