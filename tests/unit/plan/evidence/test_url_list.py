"""The URLs that are left: a number, a list, counts by host, and what Heritrix tells of its frontier."""

import gzip

import pytest

from crawltwin.model import InputError
from crawltwin.plan.config import PlanFile
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.url_list import read_urls
from fitting.readers.columns import host_keys

LIST = "http://a.org/1\nhttps://user@B.org:8080/2?q\n# a remark\nhttp://a.org\n"
COUNTS = "a.org\t2\nb.org, 1\n"
REPORT = (
    "[#urls] [#bytes] [host] [#robots] [#remaining] [#novel-urls]\n7 9000 a.org 0 2 7\n3 100 b.org 0 1 3\n"
    "4 20 dns: 0 5 4\n4 20 c.org 0 0 4\n"
)
JOURNAL = (
    "F+ http://a.org/1 L http://a.org/\nF+ http://a.org/2\nF+ http://b.org/\nF+ http://c.org/\nF+ dns:c.org P\n"
    "Fe http://a.org/1\nFs http://c.org/\nF+ http://d.org/\nFf http://d.org/\n"
)


@pytest.mark.parametrize("text", [LIST, COUNTS, REPORT, JOURNAL])
def test_each_kind_of_file_tells_the_urls_of_each_host(tmp_path, text):
    path = tmp_path / "left.txt"
    path.write_text(text)
    found = read_urls(str(path))
    assert (found.hosts, found.counts, found.total) == (("a.org", "b.org"), (2, 1), 3)
    assert found.keys == tuple(host_keys([b"http://a.org/x", b"https://u@B.ORG:8080/"]).tolist())
    packed = tmp_path / "left.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_urls(str(packed)).counts == (2, 1)


def test_a_number_is_a_number_and_a_file_without_urls_is_refused(tmp_path):
    assert read_urls("1000") == 1000
    path = tmp_path / "none.txt"
    path.write_text("nothing of the kind\n")
    with pytest.raises(InputError, match="--urls must be a number, or a file of URLs"):
        read_urls(str(path))
    with pytest.raises(
        InputError, match=r"--urls must be a whole number in digits alone or a file that exists; got '.*missing\.txt'"
    ):
        read_urls(str(tmp_path / "missing.txt"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a.org 2\na.org -3\nb.org 2.5\n", r"HOST NUMBER .*2 lines .*line 2 'a\.org -3', line 3 'b\.org 2\.5'\)"),
        ("\n# hosts\n\na.org 2\n\nb.org\n", r"1 line that is not understood \(line 6 'b\.org'\)"),
        ("http://a.org/1\nb.org 5\n", r"one URL on each line; got 1 line .*\(line 2 'b\.org 5'\)"),
        ("url\nhttp://a.org/1\n", r"one URL on each line; got 1 line .*\(line 1 'url'\)"),
        ("http://a.org/1\n" + "x\n" * 8, r"8 lines .*line 6 'x' and 3 more\)"),
        ("http://a.org/1\n" + "y" * 200, r"'y{60}\.\.\.'"),
        (REPORT + "7 9000 a.org 0 many 7\n3 100\n", r"hosts-report.txt .*line 6 '7 9000 .*', line 7 '3 100'\)"),
        (JOURNAL + "F+ a.org\n", r"recover log .*line 10 'F\+ a\.org'\)"),
    ],
)
def test_a_line_that_is_not_understood_is_refused_with_its_number(tmp_path, text, told):
    path = tmp_path / "left.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=told) as refused:
        read_urls(str(path))
    assert "write # before the rest" in str(refused.value)


def test_lines_that_count_nothing_stay_legal(tmp_path):
    path = tmp_path / "left.txt"
    for text in ("dns:a.org\nhttp://a.org/1 200 text/html\r\n", "a.org 1\nb.org 0\n", "\ufeffhttp://a.org/"):
        path.write_text(text, encoding="utf-8")
        assert read_urls(str(path)).counts == (1,)
    path.write_text(
        "T 20080430204825123\n" + JOURNAL + "T 20080430204825123\n\nE no room on the disk\nFr http://b.org/\n"
    )
    assert read_urls(str(path)).counts == (2, 1)


def test_a_packed_list_that_breaks_off_is_refused_and_a_journal_is_not(tmp_path):
    path = tmp_path / "left.gz"
    whole = gzip.compress("".join(f"http://a.org/{n * n}\n" for n in range(5000)).encode())
    path.write_bytes(whole[:-2000])
    with pytest.raises(InputError, match="--urls must be a whole file; got one whose gzip data end early"):
        read_urls(str(path))
    path.write_bytes(gzip.compress(JOURNAL.encode())[:-8])
    assert read_urls(str(path)).counts == (2, 1)


def test_settings_with_a_list_are_written_and_read_back(tmp_path):
    path = tmp_path / "left.txt"
    path.write_text(COUNTS)
    settings = PlanSettings(urls=read_urls(str(path)))
    assert settings.url_count == 3
    assert PlanFile.from_text(PlanFile(settings).text()).settings.urls == settings.urls
    assert PlanSettings(urls=12).url_count == 12
