"""`crawltwin solve --method window`: every measure with its error, for people and for programs."""

import json

from crawltwin.cli.main import main


def test_errors_stand_beside_the_measures(tmp_path, capsys):
    file = tmp_path / "crawler.toml"
    assert main(["example", "hyperexponential", "--out", str(file)]) == 0
    file.write_text(file.read_text().replace("capacity = 5", "capacity = 9"))
    capsys.readouterr()
    assert main(["solve", str(file), "--method", "window"]) == 0
    shown = capsys.readouterr()
    assert "error estimate" in shown.out + shown.err
    assert main(["solve", str(file), "--method", "window", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["solver"]["method"] == "window"
    assert set(answer["solver"]["errors"]) == {name for name, value in answer["measures"].items() if value is not None}
    assert main(["solve", str(file), "--method", "matrix-free", "--json"]) == 0
    exact = json.loads(capsys.readouterr().out)
    for name, error in answer["solver"]["errors"].items():
        if name != "level_distribution":
            assert abs(answer["measures"][name] - exact["measures"][name]) <= error
