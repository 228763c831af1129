"""Where a report comes from: versions, platform, scenario hashes, seeds, times."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import crawltwin


class Hashed(Protocol):
    """What has a title and a content hash, such as a scenario."""

    @property
    def title(self) -> str:
        """Its name for people."""

    @property
    def content_hash(self) -> str:
        """The identity of its content."""


_LIBRARIES = ("numpy", "scipy", "numba", "matplotlib", "jinja2")


@dataclass(frozen=True)
class Provenance:
    """What is needed to make the same numbers again.

    Parameters
    ----------
    versions : mapping
        Name of a library to its version.
    platform : str
        Operating system, machine and Python, without names of people or hosts.
    scenarios : mapping
        Title of a scenario to its content hash.
    seeds : tuple of int
        Seeds of everything random; empty where nothing is.
    sources : mapping
        Name of a file that was read to the digest of its content.
    settings : str
        The settings of the run as the text of a file that gives them again; empty where there are none.
    commit : str
        The commit of the code, where it was run from a checkout, and whether files were changed since.
    times : mapping
        The only part of a report that may differ from run to run: when it was made, seconds per part.
    """

    versions: Mapping[str, str]
    platform: str
    scenarios: Mapping[str, str] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    times: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    settings: str = ""
    commit: str = ""

    def __post_init__(self) -> None:
        for part in ("versions", "scenarios", "times", "sources"):
            object.__setattr__(self, part, MappingProxyType(dict(getattr(self, part))))
        object.__setattr__(self, "seeds", tuple(self.seeds))


def gather(
    scenarios: Mapping[str, Hashed | str] | Sequence[Hashed] = (),
    seeds: Sequence[int] = (),
    seconds: Mapping[str, float] | None = None,
    libraries: Sequence[str] = (),
    sources: Mapping[str, str] | None = None,
    settings: str = "",
) -> Provenance:
    """Provenance of this run.

    Parameters
    ----------
    scenarios : mapping of title to scenario or hash, or sequence of scenarios
    seeds : sequence of int
    seconds : mapping, optional
        What took how long.
    libraries : sequence of str
        Further libraries that the numbers depend on.
    sources : mapping, optional
        Files that were read, with the digests of their contents.
    settings : str
        The text of a file that gives the settings again.
    """
    named = dict(scenarios) if isinstance(scenarios, Mapping) else {item.title: item for item in scenarios}
    found = {"crawltwin": crawltwin.__version__}
    found |= {name: metadata.version(name) for name in (*_LIBRARIES, *libraries)}
    python = f"{platform.python_implementation()} {platform.python_version()}"
    made = datetime.now(UTC).isoformat(timespec="seconds")
    return Provenance(
        versions=found,
        platform=f"{platform.system()} {platform.machine()}, {python}",
        scenarios={title: item if isinstance(item, str) else item.content_hash for title, item in named.items()},
        seeds=tuple(seeds),
        sources=dict(sources or {}),
        settings=settings,
        commit=commit_of(Path(__file__).resolve().parents[2]),
        times={"made": made} | {name: f"{value:.1f} s" for name, value in (seconds or {}).items()},
    )


def commit_of(folder: Path) -> str:
    """The commit of a checkout, and whether its files were changed since; empty where the folder is none."""
    if not (folder / ".git").exists():
        return ""
    try:
        found = _git(folder, "rev-parse", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"{found} with uncommitted changes" if changed else found


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
