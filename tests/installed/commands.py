"""Every command once, small, as a user would type it, outside the repository."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SMALL = 4000
"""Lines of the example log that are fitted and planned with."""


def crawltwin(programs: Path, folder: Path, *words: str, codes: Sequence[int] = (0,)) -> str:
    """Standard output of the installed program, run in a folder of its own."""
    clean = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [str(programs / "crawltwin"), *words], cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode in codes, f"crawltwin {' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


def run_every_command(programs: Path, folder: Path) -> set[str]:
    """Run them; returns the names of the commands that were run."""

    def answer(*words: str, codes: Sequence[int] = (0,)) -> Any:
        return json.loads(crawltwin(programs, folder, *words, "--json", codes=codes))

    crawltwin(programs, folder, "example", "paper", "--out", "paper.toml")
    crawltwin(programs, folder, "example", "mm1k", "--out", "mm1k.toml")
    crawltwin(programs, folder, "example", "trace", "--out", "whole.log")
    lines = (folder / "whole.log").read_text().splitlines(keepends=True)
    (folder / "small.log").write_text("".join(lines[:SMALL]))

    assert abs(answer("solve", "paper.toml", "--variance", "--at", "5")["measures"]["cost"] - 63.54) < 0.01
    assert answer("optimize", "paper.toml", "--certify", "--write", "best.toml")["best"]["thresholds"] == [2]
    simulated = ("simulate", "mm1k.toml", "--pages", "2000", "--replications", "4", "--records", "pages.parquet")
    assert answer(*simulated)["measures"]["cost"]["low"] > 0
    assert answer("simulate", "mm1k.toml", "--engine", "simpy", "--pages", "500", "--replications", "2")["measures"]
    checked = answer("validate", "mm1k.toml", "--margin", "0.1", "--report", "verdicts", "--workers", "1")
    assert checked["verdict"] == "equivalent"
    swept = answer("sweep", "mm1k.toml", "--vary", "capacity=1:3", "--out", "grid.parquet", "--picture", "grid.svg")
    assert len(swept["points"]) == 3
    fitted = answer("fit", "small.log", "--model", "map2", "--out", "fitted.toml", "--report", "fit")
    assert fitted["chosen"]["name"]
    answer("plan", "small.log", "--robots", "4", "--quick", "--report", "plan", "--workers", "1", codes=(0, 1))
    assert answer("reproduce", "--fresh", "--report", "paper")["findings"]

    assert answer("watch", "small.log", "--once", "--learn", "1000", codes=(0, 1))["deliveries"] > 0
    crawltwin(programs, folder, "live", "demo", "--minutes", "0", codes=(2,))

    for name in ("verdicts", "fit", "plan", "paper"):
        assert "<html" in (folder / name / "report.html").read_text(encoding="utf-8")
    for name in ("pages.parquet", "grid.parquet", "grid.svg", "best.toml", "fitted.toml"):
        assert (folder / name).stat().st_size > 0
    python = (
        "import crawltwin as ct; s = ct.solve(ct.load('paper')); s.plot()._repr_html_(); print(round(s['cost'], 2))"
    )
    done = subprocess.run(
        [str(programs / "python"), "-c", python], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "63.54"
    return {
        "example",
        "solve",
        "optimize",
        "simulate",
        "validate",
        "sweep",
        "fit",
        "plan",
        "reproduce",
        "live",
        "watch",
    }
