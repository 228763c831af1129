"""`crawltwin reproduce`: answers, exit codes, what is written, what is kept."""

import json
import re
from pathlib import Path

import pytest

from crawltwin.cli.main import main
from tests.reproduction import shared_store, whole


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


def test_report_check_and_same_bytes(kept: str, tmp_path: Path, capsys) -> None:
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


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "must be a file that can be read"), ("no json", "which is no JSON"), ("{}", "without findings")],
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
