"""Pages turn results into blocks: what they show was computed before."""

import ast

import pytest

from tests.conftest import REPOSITORY

COMPUTING = {
    "solve", "optimize", "simulate", "completion", "passage", "certify", "crosscheck", "fit", "sweep", "plan", "replay",
    "reproduce", "calibrate", "rates_of_tables", "uncertainty", "assumptions", "explored_policies", "draw_sample",
}  # fmt: skip
PAGES = sorted((REPOSITORY / "crawltwin" / "pages").glob("*.py"))


def called(text: str) -> set[str]:
    """Names of the functions and methods that a module calls."""
    found = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in found
        if hasattr(part, "id") or hasattr(part, "attr")
    }


@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_a_page_solves_nothing(path):
    assert not called(path.read_text(encoding="utf-8")) & COMPUTING


def test_a_planted_solution_is_found():
    assert called("import analytic\n\ndef page(s):\n    return analytic.solve(s)\n") & COMPUTING
