"""A plan made again and compared with an earlier report: every number, verdict and policy, times aside."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawltwin.model.errors import InputError
from crawltwin.model.files import read_text
from crawltwin.plan.config import PlanFile

TOLERANCE = 1e-9
"""Relative difference of two computed numbers that counts as the same, across machines and libraries."""
ROUNDING = 1e-12
"""Absolute difference that does: of zeros that were rounded."""
NOT_COMPARED = frozenset({"seconds", "versions"})
POLICY, NOT_OBEYED = "policy.json", frozenset({"scenario", "crawltwin"})
"""The file that crawlers obey, and what in it tells of its making alone."""


@dataclass(frozen=True)
class EarlierPlan:
    """What a report holds of the plan that it shows.

    Parameters
    ----------
    said : PlanFile
        Settings, and choices of reading and fitting.
    sources : mapping
        Files of the log with their digests.
    answer : mapping
        What `crawltwin plan --json` printed.
    policy : mapping or None
        The file beside it that crawlers obey; None where there is none.
    """

    said: PlanFile
    sources: Mapping[str, str]
    answer: Mapping[str, Any]
    policy: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, directory: str | Path) -> EarlierPlan:
        """From the report.json of a directory, and the policy.json beside it."""
        path, obeyed = Path(directory) / "report.json", Path(directory) / POLICY
        try:
            held = json.loads(read_text(path, "--check"))
            origin = held["provenance"]
            said, sources = PlanFile.from_text(origin["settings"], str(path)), dict(origin["sources"])
            policy = dict(json.loads(read_text(obeyed, "--check"))) if obeyed.exists() else None
            return cls(said, sources, dict(held["data"]), policy)
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"--check must be the directory of a report of crawltwin plan; got {str(directory)!r}, whose "
                f"report.json or {POLICY} does not hold one"
            ) from None

    def differences(
        self, sources: Mapping[str, str], answer: Mapping[str, Any], policy: Mapping[str, Any] | None = None
    ) -> list[str]:
        """What differs, one line for each difference; empty where the plan is the same.

        Parameters
        ----------
        sources, answer
            Of the plan that was made again.
        policy : mapping, optional
            The file that crawlers would obey now; compared where the report has one.
        """
        found = [] if sorted(self.sources.values()) == sorted(sources.values()) else ["the log is another one"]
        found += _differences("", self.answer, answer)
        if self.policy is not None:
            held, made = ({k: v for k, v in one.items() if k not in NOT_OBEYED} for one in (self.policy, policy or {}))
            found += _differences(POLICY, held, made)
        return found


def digests(paths: Sequence[str]) -> dict[str, str]:
    """SHA-256 of each file by its name, without folders where that tells the files apart; standard input has none."""
    files = [path for path in paths if path != "-"]
    names = [Path(path).name for path in files]
    if len(set(names)) < len(set(files)):
        names = files
    return {name: _digest(Path(path)) for name, path in zip(names, files, strict=True)}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _differences(place: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            if key in NOT_COMPARED:
                continue
            inside = f"{place}.{key}" if place else key
            if key not in old or key not in new:
                yield f"{inside}: only in the {'earlier report' if key in old else 'new one'}"
            else:
                yield from _differences(inside, old[key], new[key])
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{place}: had {len(old)} entries, has {len(new)}"
        for index, pair in enumerate(zip(old, new)):
            yield from _differences(f"{place}[{index}]", *pair)
    elif isinstance(old, float) or isinstance(new, float):
        if not _same(old, new):
            yield f"{place}: was {old}, is {new}"
    elif old != new:
        yield f"{place}: was {old!r}, is {new!r}"


def _same(old: Any, new: Any) -> bool:
    if not isinstance(old, int | float) or not isinstance(new, int | float):
        return bool(old == new)
    return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=ROUNDING)
