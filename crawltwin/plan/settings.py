"""What the operator may say, and where each number of a plan comes from: given, asked of the log, or a stated default.

The same names stand on the command line (with hyphens) and in ``plan.toml``; the command line wins.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from crawltwin.model import ADMISSIONS, CostWeights, InputError, checks
from crawltwin.model.errors import Faults

Control = Literal["thinned", "scaled"]
CONTROLS: tuple[str, ...] = get_args(Control)


@dataclass(frozen=True)
class Input:
    """One number of the plan and its origin.

    Parameters
    ----------
    name, value : str
        For people.
    source : {"given", "log", "default"}
    words : str
        Why this value, where it was not given.
    """

    name: str
    value: str
    source: Literal["given", "log", "default"]
    words: str = ""


@dataclass(frozen=True)
class PlanSettings:
    """Everything beside the log; None means: ask the log, or take the stated default.

    Parameters
    ----------
    robots : int
        Robots that ran while the log was written, and the most that a policy may use.
    robots_in_log : int, optional
        If the log was written by another number of robots than `robots`.
    control : {"thinned", "scaled"}, optional
        What fewer robots bring: a share of the same stream of batches, or the whole stream on a slower clock.
    capacity : int
        Pages that the system holds, the one being indexed included.
    processing_rate, service_mean : float, optional
        Bytes indexed a second, or the mean indexing time in seconds.
    obsolescence_mean : float, optional
        Mean seconds until a waiting page is stale.
    admission : str
        What happens to a batch that does not fit.
    cost : CostWeights, optional
        Weights of the cost criterion.
    urls : int, optional
        A finite list: how long until it is done?
    timeout : float, optional
        Seconds that a page may spend in the system.
    backlog_limit, backlog_time : int and float, optional
        How likely is a backlog above this limit within this time?
    redraws : int
        Resampled traces behind every statement of uncertainty.
    margin, budget
        Of the cross-check by simulation: relative margin, and pages at most.
    what_if : bool
        Whether to sweep capacity, speed, robots, staleness and weights.
    seed : int
    given : frozenset of str
        Names that the operator set, be it to their defaults; kept by `read_settings` for the list of inputs.
    """

    robots: int = 1
    robots_in_log: int | None = None
    control: str | None = None
    capacity: int = 20
    processing_rate: float | None = None
    service_mean: float | None = None
    obsolescence_mean: float | None = None
    admission: str = "partial"
    cost: CostWeights | None = None
    urls: int | None = None
    timeout: float | None = None
    backlog_limit: int | None = None
    backlog_time: float | None = None
    redraws: int = 60
    margin: float = 0.05
    budget: int = 10_000_000
    what_if: bool = True
    seed: int = 1
    given: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        faults = Faults()
        checks.integer(self.robots, "robots", faults, at_least=1, at_most=50)
        checks.integer(self.capacity, "capacity", faults, at_least=1)
        checks.integer(self.seed, "seed", faults, at_least=0)
        checks.integer(self.redraws, "redraws", faults, at_least=0, at_most=10_000)
        checks.integer(self.budget, "budget", faults, at_least=1000)
        checks.number(self.margin, "margin", faults, above=0, at_most=1)
        for name in ("robots_in_log", "urls", "backlog_limit"):
            if getattr(self, name) is not None:
                checks.integer(getattr(self, name), name, faults, at_least=0 if name == "backlog_limit" else 1)
        for name in ("processing_rate", "service_mean", "obsolescence_mean", "timeout", "backlog_time"):
            if getattr(self, name) is not None:
                checks.number(getattr(self, name), name, faults, above=0)
        if self.processing_rate is not None and self.service_mean is not None:
            faults.add("service_mean", "processing_rate and service_mean must not both be given; got both")
        if self.admission not in ADMISSIONS:
            faults.add("admission", f"admission must be one of {', '.join(ADMISSIONS)}; got {self.admission!r}")
        if self.control is not None and self.control not in CONTROLS:
            faults.add("control", f"control must be one of {', '.join(CONTROLS)}; got {self.control!r}")
        if self.control == "thinned" and self.robots > self.recorded:
            faults.add(
                "control",
                f"control must be scaled when the log has fewer robots ({self.recorded}) than the plan; got thinned",
                "A stream can be thinned, not thickened.",
            )
        if not isinstance(self.what_if, bool):
            faults.add("what_if", f"what_if must be true or false; got {self.what_if!r}")
        faults.raise_if_any()

    @property
    def recorded(self) -> int:
        """Robots that wrote the log."""
        return self.robots if self.robots_in_log is None else self.robots_in_log

    @property
    def control_in_force(self) -> Control:
        """As given; else thinned, which is what a replay of the log can do too, or scaled where robots are added."""
        if self.control is not None:
            return "thinned" if self.control == "thinned" else "scaled"
        return "thinned" if self.robots <= self.recorded else "scaled"


NAMES = tuple(field.name for field in fields(PlanSettings) if field.name != "given")


def read_cost(text: str) -> CostWeights:
    """Weights as written on the command line: ``loss=200,robots=20``; what is not named weighs nothing."""
    known = [field.name for field in fields(CostWeights)]
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals or name not in known:
            raise InputError(f"--cost must be NAME=WEIGHT,... with the names {', '.join(known)}; got {part.strip()!r}")
        if name in weights:
            raise InputError(f"--cost must name each weight once; got {name} again")
        try:
            weights[name] = float(value)
        except ValueError:
            raise InputError(f"--cost {name} must be a number; got {value!r}") from None
        if not math.isfinite(weights[name]):
            raise InputError(f"--cost {name} must be finite; got {value!r}")
    return CostWeights(**weights)


def read_settings(path: str | Path | None, given: Mapping[str, Any]) -> PlanSettings:
    """Settings of a file, overruled by what was given beside it (None: not given)."""
    data: dict[str, Any] = {}
    if path is not None:
        data = _read_file(Path(path))
    data |= {name: value for name, value in given.items() if value is not None}
    return replace(PlanSettings(), **data, given=frozenset(data))


def _read_file(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--config must be a file that can be read; got {str(path)!r}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--config must be TOML; got {str(path)!r}: {error}") from None
    faults = Faults()
    known = {name.replace("_", "-"): name for name in NAMES} | {name: name for name in NAMES}
    found: dict[str, Any] = {}
    for key, value in data.items():
        if key not in known:
            near = difflib.get_close_matches(key, NAMES, n=1)
            faults.add(
                key,
                f"the key must be one of {', '.join(NAMES)}; got {key!r}",
                f"Did you mean {near[0]!r}?" if near else "",
            )
        elif known[key] == "cost":
            with faults.under("cost"):
                found["cost"] = _cost(value)
        else:
            found[known[key]] = value
    faults.raise_if_any()
    return found


def _cost(value: Any) -> CostWeights:
    known = [field.name for field in fields(CostWeights)]
    if not isinstance(value, Mapping) or any(key not in known for key in value):
        raise InputError(f"cost must be a table with the keys {', '.join(known)}; got {value!r}")
    return CostWeights(**value)
