"""Shells complete what the commands really take."""

import shutil
import subprocess

import pytest

from crawltwin.cli.main import COMMANDS, main


def script(shell: str, capsys) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["--completion", shell])
    assert stopped.value.code == 0
    return capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["sol"], {"solve"}),
        ([""], {*COMMANDS, "--help", "--version", "--completion"}),
        (["solve", "--meth"], {"--method"}),
        (["solve", "--method", "ba"], {"banded"}),
        (["fit", "--criterion", ""], {"bic", "aic", "held-out"}),
        (["plan", "--lose"], {"--lose-at-most"}),
        (["solve", "--method", "="], {"auto", "direct", "block", "qbd", "banded", "matrix-free", "window"}),
        (["solve", "--method", "=", "ba"], {"banded"}),
        (["live", ""], {"demo", "arena"}),
        (["example", "da"], {"daily-trace"}),
        (["--completion", "f"], {"fish"}),
        (["plan", ""], set()),  # files
        (["plan", "crawl.log", "--config", ""], set()),
    ],
)
def test_bash_completes(words, completed, capsys):
    typed = " ".join(f"'{word}'" for word in ["crawltwin", *words])
    asked = f'COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _crawltwin; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "-c", f"{script('bash', capsys)}\n{asked}"], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == completed


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_every_command(shell, capsys):
    text = script(shell, capsys)
    assert all(name in text for name in COMMANDS)
    assert "quantiles" in text
