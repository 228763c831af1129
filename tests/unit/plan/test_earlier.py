"""A plan made again: the same numbers are the same, anything else is told with its place."""

import json
import shutil

import pytest

from crawltwin.cli.main import main
from crawltwin.model import InputError
from crawltwin.plan import demo_trace
from crawltwin.plan.earlier import EarlierPlan, digests, sources_of
from crawltwin.plan.url_list import read_urls
from fitting import ReadOptions

SETTINGS = ["--robots", "2", "--capacity", "6", "--processing-rate", "1500", "--cost", "loss=25000"]
CHOICES = ["--ticks", "spread", "--model", "poisson", "--only-url", "http.*"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A log, and the report of a plan of it."""
    folder = tmp_path_factory.mktemp("check")
    log = folder / "demo.crawl.log"
    log.write_text(demo_trace.demo_log(1, 3_000))
    words = [
        "plan",
        str(log),
        *SETTINGS,
        *CHOICES,
        "--redraws",
        "0",
        "--margin",
        "0.3",
        "--budget",
        "100000",
        "--report",
        str(folder / "report"),
        "--quiet",
    ]
    main(words)
    return log, folder / "report"


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_the_report_says_where_its_numbers_come_from(made):
    import hashlib

    log, report = made
    origin = json.loads((report / "report.json").read_text())["provenance"]
    assert origin["sources"] == {log.name: hashlib.sha256(log.read_bytes()).hexdigest()}
    assert "robots = 2" in origin["settings"]
    assert "loss = 25000" in origin["settings"]
    assert '[reading]\nonly_url = "http.*"' in origin["settings"]
    assert '[fitting]\nticks = "spread"\nmodel = "poisson"' in origin["settings"]
    assert origin["sources"][log.name] in (report / "report.html").read_text()
    assert origin["sources"][log.name] in (report / "report.md").read_text()


def test_the_same_log_gives_the_same_plan(made, capsys):
    log, report = made
    assert main(["plan", str(log), "--check", str(report), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differences"] == []


def test_a_policy_file_that_is_not_the_plan_s_is_told(made, tmp_path, capsys):
    """Crawlers obey policy.json: who changed it there is told, and one that is no object is refused."""
    log, report = made
    other = shutil.copytree(report, tmp_path / "report")
    held = json.loads((report / "policy.json").read_text())
    held["table"][0] += 1
    (other / "policy.json").write_text(json.dumps(held))
    assert main(["plan", str(log), "--check", str(other), "--json"]) == 1
    (line,) = json.loads(capsys.readouterr().out)["differences"]
    assert line.startswith("policy.json.table[0]: was ")
    (other / "policy.json").write_text("7")
    assert main(["plan", str(log), "--check", str(other)]) == 2


def test_a_changed_number_and_another_log_are_told(made, tmp_path):
    report = made[1]
    held = json.loads((report / "report.json").read_text())
    held["data"]["measures"]["loss_probability"] += 1e-6
    del held["data"]["policy"]["words"]
    (tmp_path / "report.json").write_text(json.dumps(held))
    earlier = EarlierPlan.read(tmp_path)
    answer = json.loads((report / "report.json").read_text())["data"]
    differences = earlier.differences({"other": "00"}, answer)
    assert differences[0] == f"the log is another one than {made[0].name} of the report"
    assert any(line.startswith("measures.loss_probability: was ") for line in differences)
    assert "policy.words: only in the new one" in differences
    assert len(differences) == 3


def test_a_rare_loss_is_compared_too(made):
    held = json.loads((made[1] / "report.json").read_text())["data"]
    rare, rarer = ({**held, "measures": {"loss_probability": loss}} for loss in (8e-10, 2e-10))
    earlier = EarlierPlan(EarlierPlan.read(made[1]).said, {}, rare)
    assert earlier.differences({}, rarer) == ["measures.loss_probability: was 8e-10, is 2e-10"]


def test_the_sweeps_are_compared_too(made, capsys, tmp_path):
    """And the words of the pages: each edited file is told with its place, in a report whose log was renamed."""
    log, report = made
    moved = shutil.copy(log, tmp_path / "moved.log")
    other = shutil.copytree(report, tmp_path / "report")
    held = json.loads((report / "report.json").read_text())
    held["data"]["what_if"][0]["points"][1]["best"]["cost"] *= 1 + 1e-6
    held["sections"][0]["title"] = "Tomorrow"
    (other / "report.json").write_text(json.dumps(held))
    edit(other / "report.md", "- **", "- maybe **")
    edit(other / "report.html", "<h2", "<h2 hidden")
    edit(other / "explore.html", '"policies":[{', '"policies":[{"x":1,')
    edit(other / "crawlpolicy.py", "import", "import  ")
    (other / "keda.yaml").unlink()
    assert main(["plan", str(moved), "--check", str(other), "--json"]) == 1
    differences = json.loads(capsys.readouterr().out)["differences"]
    assert [line.split(": ")[0].split(", line")[0] for line in differences] == [
        "what_if[0].points[1].best.cost",
        "sections[0].title",
        "report.md",
        "report.html",
        "crawlpolicy.py",
        "keda.yaml",
        "explore.html",
    ]


def test_the_list_of_urls_and_the_progress_log_are_files_of_the_plan(tmp_path):
    log, beside, urls = (tmp_path / name for name in ("crawl.log", "progress-statistics.log", "left.txt"))
    for path in (log, beside):
        path.write_text(path.name)
    urls.write_text("http://a.org/\n")
    known = sources_of([str(log)], "heritrix", ReadOptions(), read_urls(str(urls)))
    assert list(known) == ["crawl.log", "progress-statistics.log", "left.txt"]
    assert list(sources_of([str(log)], "wget", ReadOptions())) == ["crawl.log"]


def test_the_report_of_another_command_is_refused(made, tmp_path, capsys):
    log, report = made
    held = json.loads((report / "report.json").read_text())
    held["data"] = {"findings": []}
    (tmp_path / "report.json").write_text(json.dumps(held))
    assert main(["plan", str(log), "--check", str(tmp_path / "report.json")]) == 2
    assert "must be the directory of a report of crawltwin plan" in capsys.readouterr().err


def test_files_of_one_name_in_several_folders_have_a_digest_each(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "crawl.log").write_text(folder)
    paths = [str(tmp_path / folder / "crawl.log") for folder in ("one", "two")]
    assert len(digests(paths)) == 2
    assert list(digests(paths[:1])) == ["crawl.log"]


@pytest.mark.parametrize("option", [("--robots", "3"), ("--ticks", "batch"), ("--format", "heritrix")])
def test_settings_beside_a_check_are_refused_not_ignored(made, capsys, option):
    log, report = made
    assert main(["plan", str(log), "--check", str(report), *option]) == 2
    assert "--check must stand without settings and options of the plan; got" in capsys.readouterr().err


def test_what_is_no_report_is_refused(tmp_path):
    with pytest.raises(InputError, match="--check"):
        EarlierPlan.read(tmp_path)
    for text in ('{"data": {}}', '{"provenance": {"settings": "robots = 2", "sources": [1]}, "data": []}'):
        (tmp_path / "report.json").write_text(text)
        with pytest.raises(InputError, match="must be the directory of a report of crawltwin plan"):
            EarlierPlan.read(tmp_path)
