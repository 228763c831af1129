"""`crawltwin reproduce`: answers, exit codes, what is written, what is kept."""

import json
import re
from pathlib import Path

import pytest

from crawltwin.cli.main import main
from crawltwin.work import workers
from crawltwin.work.store import Store
from tests.reproduction import shared_store, whole
from validate.paper.reproduction import PaperPiece


@pytest.fixture
def kept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Finished pieces, so that the command has nothing left to compute."""
    folder = shared_store(tmp_path_factory)
    whole(folder)
    return str(folder)


def test_json_is_one_object(kept: str, capsys) -> None:
    assert main(["reproduce", "--keep", kept, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["counts"]["not reproducible"] == 0
    assert sum(answer["counts"].values()) == len(answer["findings"])
    assert {"where", "what", "printed", "ours", "verdict", "how", "words", "value"} == set(answer["findings"][0])


def test_people_see_the_misprints(kept: str, capsys) -> None:
    assert main(["reproduce", "--keep", kept]) == 0
    out = capsys.readouterr().out
    for words in ("80.50", "67.5207", "309.061", "claims hold", "Other authors' results"):
        assert words in " ".join(out.split())


def computed_at_once(monkeypatch, kept: str, change=lambda piece, plain: plain) -> None:
    """Whatever the command computes is what the code once gave, at once; `change` plants a fault in it."""
    run = workers.run

    def quick(function, pieces, *, store, keys, **_):
        made = dict(zip(pieces, keys, strict=True))
        return run(lambda piece: change(piece, Store(kept).get(made[piece])), pieces, store=store, keys=keys)

    monkeypatch.setattr(workers, "run", quick)


def test_a_check_computes_afresh_and_finds_a_broken_solver(kept: str, tmp_path: Path, capsys, monkeypatch) -> None:
    """Planted: the code now gives another cost, while the folder of finished pieces still holds the right one."""
    report = tmp_path / "answer.json"
    assert main(["reproduce", "--keep", kept, "--json", "--out", str(report)]) == 0

    def broken(piece, plain):
        if piece == PaperPiece("findings", "table 1"):
            plain["findings"][-1]["value"] = 65.49
        return plain

    computed_at_once(monkeypatch, kept, broken)
    capsys.readouterr()
    assert main(["reproduce", "--keep", kept, "--check", str(report), "--json"]) == 1
    (difference,) = json.loads(capsys.readouterr().out)["differences"]
    assert "65.49" in difference


def test_report_check_and_same_bytes(kept: str, tmp_path: Path, capsys, monkeypatch) -> None:
    computed_at_once(monkeypatch, kept)
    first, second = tmp_path / "first", tmp_path / "second"
    assert main(["reproduce", "--keep", kept, "--report", str(first)]) == 0
    assert main(["reproduce", "--keep", kept, "--report", str(second)]) == 0
    for name in ("report.html", "report.md", "report.json", "figures/figure-4.svg"):
        left, right = ((folder / name).read_text().replace(str(folder), "DIR") for folder in (first, second))
        assert _without_times(left) == _without_times(right)
    assert main(["reproduce", "--keep", kept, "--check", str(first / "report.json")]) == 0
    assert "The same as the earlier report." in capsys.readouterr().out
    changed = json.loads((first / "report.json").read_text())
    next(item for item in changed["data"]["findings"] if item["value"])["value"] += 0.001
    (first / "report.json").write_text(json.dumps(changed))
    assert main(["reproduce", "--keep", kept, "--check", str(first / "report.json"), "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["differences"]) == 1
    assert main(["reproduce", "--keep", kept, "--check", str(second)]) == 0
    page = (second / "report.md").read_text()
    (second / "report.md").write_text(page.replace("misprint", "mistake", 1))
    capsys.readouterr()
    assert main(["reproduce", "--keep", kept, "--check", str(second), "--json"]) == 1
    (line,) = json.loads(capsys.readouterr().out)["differences"]
    assert line.startswith("report.md, line ")
    (second / "report.html").unlink()
    assert main(["reproduce", "--keep", kept, "--check", str(second)]) == 2
    assert "without report.html" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "--check must exist"),
        ("no json", "--check must be valid JSON"),
        ("{}", "without findings"),
        ('{"findings": [7]}', "damaged or of another kind"),
        ('{"findings": [], "figures": []}', "damaged or of another kind"),
        ('{"format": 0, "findings": []}', "another form of report"),
    ],
)
def test_bad_check_file(tmp_path: Path, capsys, content: str | None, words: str) -> None:
    path = tmp_path / "report.json"
    if content is not None:
        path.write_text(content)
    assert main(["reproduce", "--check", str(path), "--keep", str(tmp_path / "keep")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "keep").exists()


def _without_times(text: str) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:+]+", "TIME", text)
    return re.sub(r"\d+\.\d s\b", "TIME", text)
