"""A report that lies in a directory beside the one that would be made now: edited and outdated pages are told."""

import json
import subprocess
from dataclasses import replace

import pytest

from crawltwin.model import InputError
from crawltwin.pages.checking.earlier_report import EarlierReport
from crawltwin.pages.files import write_report
from crawltwin.report import Cell, Column, Report, Section, Table, Text, draw, gather
from crawltwin.report.provenance import commit_of


def made(cost: float = 2.5, top: float = 3.0, words: str = "Four robots.") -> Report:
    picture = draw("curve", lambda axes: axes.plot([1, 2], [2, top]), "A curve.", "It rises.", data={"y": [2, top]})
    table = Table("Costs", ["policy", Column("cost", "number")], [("4,1@2", Cell(cost, f"{cost:.6g}"))])
    sections = [Section("What to do", [Text(words), table], [Section("Why", [picture])])]
    origin = gather({"a": "00"}, [7], {"solving": 1.0}, sources={"a.log": "11"}, settings="robots = 4\n")
    return Report("A plan", ["Run 4 robots."], sections, origin, "crawltwin plan a.log", data={"cost": cost})


@pytest.fixture
def folder(tmp_path):
    write_report(made(), tmp_path, {"policy.txt": "4 4 1\n"})
    return tmp_path


def told(folder, report: Report | None = None) -> list[str]:
    return EarlierReport.read(folder).differences(report or made(), {"policy.txt": "4 4 1\n"})


def test_times_versions_machine_and_paths_may_differ(folder):
    origin = replace(
        made().provenance,
        times={"made": "2001-01-01"},
        versions={**made().provenance.versions, "numpy": "9.9"},
        platform="another",
        commit="00 with uncommitted changes",
        sources={"moved.log": "11"},
    )
    assert told(folder, replace(made(), provenance=origin, command="crawltwin plan elsewhere/moved.log")) == []


def test_last_bits_of_numbers_may_differ(folder):
    assert told(folder, made(cost=2.5 * (1 + 1e-13), top=3 * (1 + 1e-13))) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "place"),
    [
        ("report.md", "Four robots", "Five robots", "report.md, line "),
        ("report.md", "| 2.5 |", "| 2.4 |", "report.md, line "),
        ("report.html", "Four robots", "Five robots", "report.html, line "),
        ("report.html", ">2.5<", ">2.4<", "report.html, line "),
        ("report.html", 'd="M ', 'd="M 1', "report.html: a picture is drawn otherwise"),
        ("report.html", "It rises", "It falls", "report.html"),
        ("figures/curve.svg", 'd="M ', 'd="M 1', "figures/curve.svg, line "),
        ("report.json", "Four robots", "Five robots", "sections[0].blocks[0].text: was "),
        ("report.json", '"robots = 4', '"robots = 5', "provenance.settings: was "),
        ("policy.txt", "4 4 1", "4 1 1", "policy.txt, line 1: was '4 1 1', is '4 4 1'"),
    ],
)
def test_an_edited_page_is_told_with_its_place(folder, name, old, new, place):
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))
    assert any(line.startswith(place) for line in told(folder)), told(folder)


def test_an_outdated_page_is_told(folder):
    lines = told(folder, made(cost=2.6, top=3.5, words="Three robots.\n\nAnd a new paragraph."))
    for place in ("sections[0].blocks[0].text", "sections[0].sections[0].blocks[0].data.y[1]", "report.md", "figures/"):
        assert any(line.startswith(place) for line in lines), lines


def test_pictures_of_another_library_are_compared_by_their_numbers(folder):
    held = json.loads((folder / "report.json").read_text())
    held["provenance"]["versions"]["matplotlib"] = "1.0"
    (folder / "report.json").write_text(json.dumps(held))
    (folder / "figures/curve.svg").write_text("<svg></svg>")
    page = (folder / "report.html").read_text().replace(made().provenance.versions["matplotlib"], "1.0")
    (folder / "report.html").write_text(page.replace('d="M ', 'd="M 1', 1))
    lines = told(folder)
    assert all(line.startswith("report.md") for line in lines), lines  # whose versions are still those of today
    assert any("data.y[1]" in line for line in told(folder, made(top=4.0)))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"format": 0}, "written by a version with another form of report"),
        ({"sections": 3}, "damaged"),
        ({"provenance": {}}, "damaged"),
        ({"provenance": {"versions": 1}}, "damaged"),
        ({"data": []}, "damaged"),
        ({"sections": [{"blocks": [{"kind": "figure", "file": "/etc/passwd"}], "sections": []}]}, "damaged"),
    ],
)
def test_what_is_no_whole_report_is_refused(folder, broken, words):
    held = json.loads((folder / "report.json").read_text()) | broken
    (folder / "report.json").write_text(json.dumps(held))
    with pytest.raises(InputError, match=words):
        EarlierReport.read(folder)


def test_a_partial_report_is_refused_and_its_numbers_can_be_compared_alone(folder):
    (folder / "report.md").unlink()
    with pytest.raises(InputError, match=r"whole report; got .* without report\.md"):
        EarlierReport.read(folder)
    assert EarlierReport.read(folder / "report.json").differences(made()) == []
    for text in ("", "[", "7", "{}", '{"format": 1, "format": 1}', "[" * 100_000):
        (folder / "report.json").write_text(text)
        with pytest.raises(InputError):
            EarlierReport.read(folder)
    (folder / "report.json").unlink()
    with pytest.raises(InputError, match=r"where no report\.json is"):
        EarlierReport.read(folder)


def test_the_commit_says_whether_files_were_changed_since(tmp_path):
    assert commit_of(tmp_path) == ""

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a", *words], check=True)

    (tmp_path / "a.py").write_text("1")
    git("init", "-q")
    git("add", "a.py")
    git("commit", "-q", "-m", "one")
    clean = commit_of(tmp_path)
    assert len(clean) == 40
    (tmp_path / "a.py").write_text("2")
    assert commit_of(tmp_path) == f"{clean} with uncommitted changes"
