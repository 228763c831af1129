"""What the operator may say: limits or weights, the crawler's numbers, and how much work is put in.

The same names stand on the command line (with hyphens) and in ``plan.toml``; the command line wins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, cast, get_args

from crawltwin.model import ADMISSIONS, Admission, CostWeights, checks
from crawltwin.model.errors import Faults, InputError
from crawltwin.model.settings import read_time, setting
from crawltwin.plan.limits import AIMS, Aim, IndexWithin, Limits
from crawltwin.plan.url_list import UrlList, read_urls
from crawltwin.plan.wording import read_share

Control = Literal["thinned", "scaled"]
CONTROLS: tuple[str, ...] = get_args(Control)
WEIGHTS = ("loss", "obsolescence", "response", "robots", "starvation")
"""Weights that a plan knows."""

LIMITS, CRAWLER, QUESTIONS, WORK = "limits", "the crawler", "further questions", "how much work"


@dataclass(frozen=True)
class NamedWeights:
    """Some weights of the cost by name; those that are not named keep their defaults.

    Examples
    --------
    >>> NamedWeights.read("loss=200, robots=20").weights
    (('loss', 200.0), ('robots', 20.0))
    """

    weights: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        named = [name for name, _ in self.weights]
        for name in named:
            if name not in WEIGHTS:
                raise InputError(f"cost must have weights named {', '.join(WEIGHTS)}; got {name!r}")
            if named.count(name) > 1:
                raise InputError(f"cost must name each weight once; got {name} again")
        CostWeights(**dict(self.weights))

    @classmethod
    def read(cls, value: Any) -> NamedWeights:
        """From words such as ``loss=200,robots=20``, or from a table of weights by name."""
        if isinstance(value, dict):
            return cls(tuple((str(name), weight) for name, weight in value.items()))
        found: list[tuple[str, float]] = []
        for part in str(value).split(","):
            name, equals, number = (piece.strip() for piece in part.partition("="))
            if not equals:
                raise InputError(
                    f"--cost must be NAME=WEIGHT,... with the names {', '.join(WEIGHTS)}; got {part.strip()!r}"
                )
            try:
                found.append((name, float(number)))
            except ValueError:
                raise InputError(f"--cost {name} must be a number; got {number!r}") from None
            if not math.isfinite(found[-1][1]):
                raise InputError(f"--cost {name} must be finite; got {number!r}")
        return cls(tuple(found))


def read_staleness(text: Any) -> float:
    """Mean seconds until a waiting page is stale; infinity for ``never``.

    Examples
    --------
    >>> read_staleness("30min"), read_staleness("never")
    (1800.0, inf)
    """
    return math.inf if str(text).strip().lower() == "never" else read_time(text)


@dataclass(frozen=True)
class PlanSettings:
    """Everything beside the log; None means: ask the log, or take the stated default.

    Limits are the main road: among the policies that keep them, the one with the least of `minimise` is chosen. Without
    limits the cost decides, with the weights of `cost`. `given` holds the names that the operator set, be it to their
    defaults; `PlanFile` keeps it for the list of inputs. `from_log` holds those that the log told.
    """

    lose_at_most: float | None = setting(
        None, help="share of the pages that may be lost, such as 1%", metavar="SHARE", read=read_share, group=LIMITS
    )
    stale_at_most: float | None = setting(
        None, help="share of the pages that may go stale, such as 2%", metavar="SHARE", read=read_share, group=LIMITS
    )
    index_within: IndexWithin | None = setting(
        None,
        help="time in which a share of the indexed pages must be through, such as 1h:95%",
        metavar="TIME:SHARE",
        read=IndexWithin.read,
        group=LIMITS,
    )
    index_at_least: float | None = setting(
        None,
        help="pages that must be indexed, as a share of today's, such as 90%",
        metavar="SHARE",
        read=read_share,
        group=LIMITS,
    )
    minimise: str | None = setting(
        None,
        help="what is made small among the policies that keep the limits",
        choices=AIMS,
        group=LIMITS,
        default_words="robots",
    )
    cost: CostWeights | NamedWeights | None = setting(
        None,
        help="weights instead of limits, by the names " + ", ".join(WEIGHTS),
        metavar="NAME=W,...",
        read=NamedWeights.read,
        group=LIMITS,
        default_words="for weights that are not named: five evils on one scale",
    )
    robots: int = setting(1, help="robots that wrote the log, and the most that may run", metavar="N", group=CRAWLER)
    robots_in_log: int | None = setting(
        None, help="if another number of robots wrote the log", metavar="N", group=CRAWLER
    )
    fetches_per_robot: int = setting(1, help="fetches under way that count as one robot", metavar="N", group=CRAWLER)
    capacity: int = setting(
        20, help="pages that the system holds, the one being indexed included", metavar="K", group=CRAWLER
    )
    processing_rate: float | None = setting(
        None, help="bytes indexed per second: content sizes become indexing times", metavar="BYTES", group=CRAWLER
    )
    service_mean: float | None = setting(
        None, help="mean indexing time, instead of a processing rate", metavar="TIME", read=read_time, group=CRAWLER
    )
    obsolescence_mean: float | None = setting(
        None,
        help="mean time until a waiting page is stale, or never",
        metavar="TIME",
        read=read_staleness,
        group=CRAWLER,
    )
    admission: str = setting(
        "partial", help="what happens to a batch that does not fit", choices=ADMISSIONS, group=CRAWLER
    )
    control: str | None = setting(
        None,
        help="what fewer robots bring",
        choices=CONTROLS,
        group=CRAWLER,
        default_words="thinned, or scaled where robots are added",
    )
    urls: UrlList | int | None = setting(
        None,
        help="URLs that are left: when are they done; a number, or a file of URLs or of hosts with their numbers",
        metavar="N|FILE",
        read=read_urls,
        group=QUESTIONS,
    )
    timeout: float | None = setting(
        None,
        help="how many pages spend longer than this in the system",
        metavar="TIME",
        read=read_time,
        group=QUESTIONS,
    )
    backlog_limit: int | None = setting(
        None,
        help="how likely are more pages than this in the system",
        metavar="PAGES",
        group=QUESTIONS,
        default_words="a full system",
    )
    backlog_time: float | None = setting(
        None, help="... within this time", metavar="TIME", read=read_time, group=QUESTIONS, default_words="1h"
    )
    redraws: int = setting(
        60, help="resampled traces behind the statements of uncertainty; 0: none", metavar="N", group=WORK
    )
    margin: float = setting(0.05, help="margin of the cross-check by simulation", metavar="SHARE", group=WORK)
    budget: int = setting(10_000_000, help="pages that it may simulate", metavar="PAGES", group=WORK)
    what_if: bool = setting(True, help="leave out the sweeps", group=WORK)
    quick: bool = setting(False, help="about a minute for any log; the report says what was left out", group=WORK)
    seed: int = setting(1, help="seed of everything random", metavar="N", group=WORK)
    given: frozenset[str] = frozenset()
    from_log: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        faults = Faults()
        checks.integer(self.robots, "robots", faults, at_least=1, at_most=50)
        checks.integer(self.capacity, "capacity", faults, at_least=1, at_most=1_000_000)
        checks.integer(self.fetches_per_robot, "fetches_per_robot", faults, at_least=1)
        checks.integer(self.seed, "seed", faults, at_least=0)
        checks.integer(self.redraws, "redraws", faults, at_least=0, at_most=10_000)
        checks.integer(self.budget, "budget", faults, at_least=1000)
        checks.number(self.margin, "margin", faults, above=0, at_most=1)
        counts = {"robots_in_log": self.robots_in_log, "urls": self.url_count, "backlog_limit": self.backlog_limit}
        for name, count in counts.items():
            if count is not None:
                least = 0 if name == "backlog_limit" else 1
                checks.integer(count, name, faults, at_least=least, at_most=1_000_000_000)
        for name in ("processing_rate", "service_mean", "obsolescence_mean", "timeout", "backlog_time"):
            never = name == "obsolescence_mean" and self.obsolescence_mean == math.inf
            if getattr(self, name) is not None and not never:
                checks.number(getattr(self, name), name, faults, above=0, at_least=1e-9, at_most=1e15)
        for name in ("lose_at_most", "stale_at_most", "index_at_least"):
            if getattr(self, name) is not None:
                checks.number(getattr(self, name), name, faults, at_least=0, at_most=1)
        for name in ("what_if", "quick"):
            if not isinstance(getattr(self, name), bool):
                faults.add(name, f"{name} must be true or false; got {getattr(self, name)!r}")
        for name, allowed in (("admission", ADMISSIONS), ("control", (None, *CONTROLS)), ("minimise", (None, *AIMS))):
            if getattr(self, name) not in allowed:
                known = ", ".join(word for word in allowed if word is not None)
                faults.add(name, f"{name} must be one of {known}; got {getattr(self, name)!r}")
        if self.processing_rate is not None and self.service_mean is not None:
            faults.add("service_mean", "processing_rate and service_mean must not both be given; got both")
        if self.minimise is not None and not self._limited:
            faults.add(
                "minimise",
                f"minimise must come with a limit; got {self.minimise!r} alone",
                "For example --lose-at-most 1%.",
            )
        if self.control == "thinned" and self.robots > self.recorded:
            faults.add(
                "control",
                f"control must be scaled when the log has fewer robots ({self.recorded}) than the plan; got thinned",
                "A stream can be thinned, not thickened.",
            )
        faults.raise_if_any()

    @property
    def _limited(self) -> bool:
        return any(
            bound is not None
            for bound in (self.lose_at_most, self.stale_at_most, self.index_within, self.index_at_least)
        )

    @property
    def url_count(self) -> int | None:
        """URLs that are left, where that is asked about."""
        return self.urls.total if isinstance(self.urls, UrlList) else self.urls

    @property
    def limits(self) -> Limits | None:
        """The limits where there are any; else the cost decides."""
        if not self._limited:
            return None
        aim = cast(Aim, self.minimise or "robots")
        return Limits(self.lose_at_most, self.stale_at_most, self.index_within, self.index_at_least, aim)

    @property
    def recorded(self) -> int:
        """Robots that wrote the log."""
        return self.robots if self.robots_in_log is None else self.robots_in_log

    @property
    def admission_rule(self) -> Admission:
        """What happens to a batch that does not fit."""
        return cast(Admission, self.admission)

    @property
    def control_in_force(self) -> Control:
        """As given; else thinned, which is what a replay of the log can do too, or scaled where robots are added."""
        return cast(Control, self.control or ("thinned" if self.robots <= self.recorded else "scaled"))

    def is_given(self, name: str) -> bool:
        """Whether the operator said so, or the value is neither the default nor from the log."""
        changed = name not in self.from_log and getattr(self, name) != getattr(PlanSettings(), name)
        return name in self.given or changed


NAMES = tuple(field.name for field in fields(PlanSettings) if field.name not in ("given", "from_log"))
