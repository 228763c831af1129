"""A scenario: everything that defines one crawler, checked as a whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, ParamSpec, TypeVar, get_args

from crawltwin.model import checks
from crawltwin.model.arrivals.kinds import ControlledArrivals
from crawltwin.model.errors import Fault, Faults, InputError, wrong_object
from crawltwin.model.laws.phase_type import PhaseType
from crawltwin.model.policies.cost import CostWeights
from crawltwin.model.policies.policy import Policy
from crawltwin.model.policies.thresholds import single_mode
from crawltwin.model.value import Value

Admission = Literal["partial", "all-or-nothing", "overflow"]
ADMISSIONS: tuple[str, ...] = get_args(Admission)

FEATURES: Mapping[str, str] = MappingProxyType(
    {
        "indexers": "indexers",
        "fetching": "arrivals.kind",
        "resume": "policy.resume",
        "check_every": "policy.check_every",
        "switching": "cost.switching",
    }
)
"""What goes beyond the paper's model: name -> place in the scenario file."""


@dataclass(frozen=True, eq=False)
class Scenario(Value):
    """One crawler.

    Parameters
    ----------
    capacity : int
        Pages in the system at most, the one being indexed included (the paper's K); 1 means no buffer.
    arrivals : ControlledArrivals
        What the robots bring.
    service, obsolescence : PhaseType
        Indexing time; time until a waiting page is obsolete, None when pages never are.
    policy : Policy, optional
        How many robots run at which backlog.
    cost : CostWeights, optional
        Weights of the cost criterion.
    admission : {"partial", "all-or-nothing", "overflow"}
        What happens to a batch that does not fit: its first pages enter, none does, or all do when one place is free.
    title : str
        For people.
    indexers : int
        Equal indexers that serve one queue; the capacity counts the pages that they are indexing.
    """

    capacity: int
    arrivals: ControlledArrivals
    service: PhaseType
    obsolescence: PhaseType | None = None
    policy: Policy | None = None
    cost: CostWeights | None = None
    admission: Admission = "partial"
    title: str = ""
    indexers: int = 1

    def __post_init__(self) -> None:
        faults = Faults()
        capacity, indexers = check_plain(self.capacity, self.indexers, self.admission, self.title, faults)
        for name, kind, optional in _TYPES:
            value = getattr(self, name)
            if not isinstance(value, kind) and not (optional and value is None):
                faults.add(name, f"{name} must be a {kind.__name__}; got {checks.show(value)}")
        faults.raise_if_any()
        if self.policy is not None:
            inner = Faults()
            if capacity is not None:
                self.policy.check_capacity(capacity, inner)
            known = self.arrivals.robot_numbers
            for robots in self.policy.robots_used:
                if robots not in known:
                    inner.add(
                        "robots",
                        f"policy may use the robots that the arrivals know, {', '.join(map(str, known))}; got {robots}",
                    )
            with faults.under("policy"):
                inner.raise_if_any()
        faults.raise_if_any()
        object.__setattr__(self, "capacity", capacity)
        object.__setattr__(self, "indexers", indexers)

    def _content(self) -> tuple[Any, ...]:
        return (
            self.title,
            self.capacity,
            self.admission,
            self.arrivals.kind,
            self.arrivals,
            self.service,
            self.obsolescence,
            self.policy,
            self.cost,
            # Scenarios from before there were several indexers keep their identity.
            *((self.indexers,) if self.indexers > 1 else ()),
        )

    def replace(self, **changes: Any) -> Scenario:
        """The same scenario with some fields changed, checked anew.

        Examples
        --------
        >>> from crawltwin.model import examples
        >>> examples.load("mm1k").replace(capacity=3).capacity
        3
        """
        return replace(self, **changes)

    @property
    def policy_in_force(self) -> Policy:
        """The policy, or the only possible one where a single number of robots is known."""
        return self.policy if self.policy is not None else single_mode(self.arrivals.robot_numbers)

    @property
    def features(self) -> frozenset[str]:
        """What the scenario has beyond the paper's model, by the names of `FEATURES`."""
        found = set() if self.policy is None else set(self.policy.features)
        if self.indexers > 1:
            found.add("indexers")
        if self.arrivals.kind == "fetching":
            found.add("fetching")
        if self.cost is not None and self.cost.switching > 0:
            found.add("switching")
        return frozenset(found)

    def _repr_html_(self) -> str:
        """What a notebook shows: each part of the crawler in a line."""
        from crawltwin.model.results.display import shown_as_html

        weights = self.cost
        parts = {
            "pages in the system at most": self.capacity,
            "indexers": self.indexers,
            "a batch that does not fit": self.admission,
            "arrivals": self.arrivals,
            "time to index a page": self.service,
            "time until a page is obsolete": "never" if self.obsolescence is None else self.obsolescence,
            "policy": "not chosen" if self.policy is None else self.policy.in_words(self.capacity),
            "weights of the cost": "not given" if weights is None else weights,
        }
        return shown_as_html(self.title or "A crawler", {"part": list(parts), "is": list(map(str, parts.values()))})

    def check_features(self, supported: Collection[str], method: str) -> None:
        """Refuse what a method would otherwise ignore.

        Parameters
        ----------
        supported : collection of str
            Names of `FEATURES` that the method takes into account.
        method : str
            What it is, for the message: "the simulation".
        """
        beyond = sorted(self.features.difference(supported), key=list(FEATURES).index)
        faults = [
            Fault(FEATURES[name], f"the scenario must have only what {method} knows; got {FEATURES[name]}")
            for name in beyond
        ]
        if faults:
            raise InputError(faults)

    @property
    def top_level(self) -> int:
        """The largest number of pages possible: the capacity, or more under `overflow`."""
        if self.admission == "overflow":
            return self.capacity + self.arrivals.max_batch - 1
        return self.capacity

    @classmethod
    def read(cls, path: str | Path) -> Scenario:
        """Read a TOML or JSON file; all its faults come in one `InputError`."""
        from crawltwin.model.scenario_file import read

        return read(path)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Scenario:
        """Build from the file's shape, as parsed TOML or JSON."""
        from crawltwin.model.scenario_file import from_mapping

        return from_mapping(data)

    def to_mapping(self) -> dict[str, Any]:
        """The file's shape: plain dictionaries, lists, numbers."""
        from crawltwin.model.scenario_file import to_mapping

        return to_mapping(self)

    def write(self, path: str | Path) -> None:
        """Write TOML, or JSON for a name that ends in .json: whole or not at all."""
        from crawltwin.model.scenario_file import write

        write(self, path)


def check_plain(
    capacity: Any, indexers: Any, admission: Any, title: Any, faults: Faults
) -> tuple[int | None, int | None]:
    """Check what a scenario has beside its sections; capacity and indexers as whole numbers, None after a fault."""
    most = checks.integer(capacity, "capacity", faults, at_least=1, way_out="It counts the page being indexed.")
    servers = checks.integer(indexers, "indexers", faults, at_least=1)
    if most is not None and servers is not None and servers > most:
        faults.add(
            "indexers",
            f"indexers must be at most the capacity {most}; got {servers}",
            "The capacity counts the pages that are being indexed, one for each busy indexer.",
        )
    if admission not in ADMISSIONS:
        faults.add("admission", f"admission must be one of {', '.join(ADMISSIONS)}; got {admission!r}")
    if not isinstance(title, str) or not _is_unicode(title):
        faults.add("title", f"title must be text; got {checks.show(title)}")
    return most, servers


_TYPES: tuple[tuple[str, type, bool], ...] = (
    # field, class, may be None
    ("arrivals", ControlledArrivals, False),
    ("service", PhaseType, False),
    ("obsolescence", PhaseType, True),
    ("policy", Policy, True),
    ("cost", CostWeights, True),
)


def _is_unicode(text: str) -> bool:
    """Whether the text can be written to a file: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


Given = ParamSpec("Given")
Found = TypeVar("Found")


def check_scenario(value: object, name: str) -> None:
    """Refuse what is no scenario, and say where the caller's scenario is."""
    if isinstance(value, Scenario):
        return
    if isinstance(getattr(value, "scenario", None), Scenario):
        way = "Give its .scenario"
    elif isinstance(value, str | Path):
        way = "crawltwin.load reads one from a file, or from the name of an example"
    else:
        way = "crawltwin.load gives one"
    raise InputError(f"the scenario of {name} must be a Scenario; got {wrong_object(value)}. {way}")


def takes_scenario(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """The function, with its first argument checked to be a scenario."""

    @wraps(function)
    def checked(*given: Given.args, **named: Given.kwargs) -> Found:
        if given or "scenario" in named:
            check_scenario(given[0] if given else named["scenario"], function.__name__)
        return function(*given, **named)

    return checked
