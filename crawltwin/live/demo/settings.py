"""How long the demonstration takes and what its crawl is like."""

from __future__ import annotations

from dataclasses import dataclass

from crawltwin.model import checks
from crawltwin.model.errors import Faults
from crawltwin.model.policies.cost import CostWeights
from crawltwin.model.settings import setting

SHARES = 7
"""The first crawl, to which the model is fitted, takes two shares of the time, each of the five others one."""
OVERHEAD = 6.0
"""Seconds that each crawl needs to start and to end."""
WEIGHTS = CostWeights(loss=5, obsolescence=5, response=20, robots=2, starvation=40)
"""What the demonstration charges per lost page, stale page, second of response, robot, and for an idle indexer."""


@dataclass(frozen=True)
class DemoSettings:
    """The demonstration.

    Parameters
    ----------
    minutes : float
        All crawls together.
    load : float
        Pages that four robots deliver per page that the indexer manages.
    capacity : int
        Pages waiting or being indexed at most.
    robots : int
        Robots of the first crawl.
    margin : float
        A prediction may be off by this share of its value.
    confidence : float
        Of intervals and verdicts.
    seed : int
    """

    minutes: float = setting(10.0, help="length of all crawls together", metavar="MINUTES")
    load: float = setting(0.9, help="pages that all robots deliver per page that the indexer manages", metavar="SHARE")
    capacity: int = setting(10, help="pages waiting or being indexed at most", metavar="PAGES")
    robots: int = setting(4, help="robots of the first crawl", metavar="N")
    margin: float = setting(0.1, help="share by which a prediction may be off", metavar="SHARE")
    confidence: float = setting(0.95, help="of intervals and verdicts", metavar="SHARE")
    seed: int = setting(1, help="of latencies, pages and lifetimes", metavar="N")

    def __post_init__(self) -> None:
        faults = Faults()
        checks.number(self.minutes, "minutes", faults, at_least=1.5, at_most=1440)
        checks.number(self.load, "load", faults, at_least=0.1, at_most=3)
        checks.integer(self.capacity, "capacity", faults, at_least=4, at_most=200)
        checks.integer(self.robots, "robots", faults, at_least=3, at_most=16)
        checks.number(self.margin, "margin", faults, above=0, at_most=1)
        checks.number(self.confidence, "confidence", faults, at_least=0.5, at_most=0.999)
        checks.integer(self.seed, "seed", faults, at_least=0)
        faults.raise_if_any()

    @property
    def share(self) -> float:
        """Seconds of one share."""
        return max((60 * self.minutes - 6 * OVERHEAD) / SHARES, 5.0)
