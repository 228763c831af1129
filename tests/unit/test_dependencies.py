"""Every dependency has a reason in docs/dependencies.md and an exact version in constraints.txt."""

import re
import tomllib

from tests.conftest import REPOSITORY


def declared() -> set[str]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    requirements = [requirement for group in groups for requirement in group]
    return {normalised(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def constraints() -> list[str]:
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_each_dependency_has_a_reason():
    page = (REPOSITORY / "docs" / "dependencies.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([\w.-]+)` \|", page, flags=re.MULTILINE)
    assert sorted(explained) == sorted(declared())


def test_each_dependency_is_pinned():
    assert declared() <= {normalised(line.partition("==")[0]) for line in constraints()}


def test_constraints_are_names_and_exact_versions_alone():
    odd = [line for line in constraints() if not re.fullmatch(r"[a-z0-9-]+==[0-9][\w.!]*", line)]
    assert odd == []
    names = [line.partition("==")[0] for line in constraints()]
    assert names == sorted(set(names))
