"""A plan made again and compared with an earlier report: every number, verdict and policy, times aside."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawltwin.model.errors import InputError
from crawltwin.model.files import parse, read_text
from crawltwin.model.results.comparing import differences
from crawltwin.plan.config import PlanFile
from crawltwin.plan.url_list import UrlList
from fitting.readers.running import progress_log
from fitting.readers.settings import ReadOptions

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
    def read(cls, path: str | Path) -> EarlierPlan:
        """From the report.json of a directory and the policy.json beside it, or from a report.json alone."""
        whole = Path(path).is_dir()
        report, obeyed = Path(path) / "report.json" if whole else Path(path), Path(path) / POLICY
        try:
            held = parse(read_text(report, "--check"), "--check", json_text=True)
            origin, answer = held["provenance"], dict(held["data"])
            if not isinstance(answer["suitable"], bool) or not isinstance(answer["verdict"], Mapping):
                raise TypeError("the answer of another command")
            said, sources = PlanFile.from_text(origin["settings"], str(report)), dict(origin["sources"])
            policy = None
            if whole and obeyed.exists():
                policy = dict(parse(read_text(obeyed, "--check"), POLICY, json_text=True))
            return cls(said, sources, answer, policy)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"--check must be the directory of a report of crawltwin plan; got {str(path)!r}, whose "
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
        found = []
        if sorted(self.sources.values()) != sorted(sources.values()):
            others = ", ".join(name for name, digest in self.sources.items() if digest not in sources.values())
            found.append(f"the log is another one{f' than {others} of the report' if others else ''}")
        found += differences("", self.answer, answer, NOT_COMPARED)
        if self.policy is not None:
            held, made = ({k: v for k, v in one.items() if k not in NOT_OBEYED} for one in (self.policy, policy or {}))
            found += differences(POLICY, held, made)
        return found


def sources_of(paths: Sequence[str], log_format: str, reading: ReadOptions, urls: object = None) -> dict[str, str]:
    """Digests of all files that a plan or a fit was made of: the log, its progress log, the list of URLs."""
    progress = progress_log(log_format, paths, reading)
    lists = [urls.path] if isinstance(urls, UrlList) else []
    return digests([*paths, *([] if progress is None else [str(progress)]), *lists])


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
