"""Where a report comes from: versions, platform, scenario hashes, seeds, times."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from types import MappingProxyType

import crawltwin
from crawltwin.model import Scenario

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
    times : mapping
        The only part of a report that may differ from run to run: when it was made, seconds a part.
    """

    versions: Mapping[str, str]
    platform: str
    scenarios: Mapping[str, str] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    times: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in ("versions", "scenarios", "times"):
            object.__setattr__(self, part, MappingProxyType(dict(getattr(self, part))))
        object.__setattr__(self, "seeds", tuple(self.seeds))


def gather(
    scenarios: Mapping[str, Scenario | str] | Sequence[Scenario] = (),
    seeds: Sequence[int] = (),
    seconds: Mapping[str, float] | None = None,
    libraries: Sequence[str] = (),
) -> Provenance:
    """Provenance of this run.

    Parameters
    ----------
    scenarios : mapping of title to Scenario or hash, or sequence of Scenario
    seeds : sequence of int
    seconds : mapping, optional
        What took how long.
    libraries : sequence of str
        Further libraries that the numbers depend on.
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
        times={"made": made} | {name: f"{value:.1f} s" for name, value in (seconds or {}).items()},
    )
