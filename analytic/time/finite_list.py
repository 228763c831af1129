r"""A finite list of URLs, and the time until the last of its pages has left the system.

The crawler delivers until the list is used up (a last batch that is larger than the rest of the list is cut), then
the robots stop and the backlog is worked off. The chain is the scenario's with one more coordinate, the number n of
URLs still to be delivered; pages lost or obsolete are not fetched again.

Robots that finish their fetch: a URL is one fetch, whatever it delivers, and n counts the URLs not yet delivered,
those in flight among them. The list ends when its URLs are handed out; what is in flight then is finished. With n URLs
left no more than n can be fetched, so the crawler is the one whose controller wants min(r, n) robots in place of r:
other matrices for the last N URLs, and the same recursion.

n never grows. With A the rates that leave n alone and :math:`U_k` those of a batch of k, the moments of the time to
finish follow from n = 0 upwards,

.. math:: -A\,x^{(j)}_n = j\,x^{(j-1)}_n + \sum_k U_k\,x^{(j)}_{n-k},

one factorisation and a few solves for each URL; far from the end they are polynomials in n (mean and variance are
straight lines), which the last steps tell. So mean, variance and skewness are exact for any list. Quantiles are exact
(uniformised) while the chain with its counter is small. Beyond, the time is a sum of many weakly dependent parts:
normal quantiles with the exact mean and variance, corrected for the skewness (Cornish and Fisher); the size of that
correction is the stated error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from analytic.chain.sizes import refuse_above
from analytic.time.absorption import QUANTILES, AbsorptionTime
from analytic.time.list_layers import Layer, at_most, clock_rates, fetching_layers, page_layers, row_sums
from crawltwin.model import checks
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Faults, InputError
from crawltwin.model.results.display import Drawn
from crawltwin.model.scenario import Scenario, takes_scenario

if TYPE_CHECKING:
    import pandas as pd

MAX_STATES = 30_000
"""Most states of the scenario's own chain, without the counter."""
EXACT_WORK = 3e8
"""States times steps up to which quantiles are exact."""
STRETCH = 2_000
"""URLs after which moments are continued as straight lines."""


@dataclass(frozen=True, eq=False, repr=False)
class Completion(Drawn):
    """Time to finish a list; ``plot()`` is its distribution function.

    Parameters
    ----------
    urls : int
    mean, variance, skewness : float
        Of the time to finish.
    lost, obsolete, indexed : float
        Expected numbers of pages of each fate, those of the beginning included.
    extrapolated : bool
        Whether the list was longer than what the recursion walked, and moments were continued as straight lines.
    """

    urls: int
    mean: float
    variance: float
    skewness: float
    lost: float
    obsolete: float
    indexed: float
    extrapolated: bool
    _exact: AbsorptionTime | None = field(default=None, repr=False)

    @property
    def exact_quantiles(self) -> bool:
        """Whether quantiles are exact rather than normal with a correction for the skewness."""
        return self._exact is not None

    def quantile(self, p: float) -> tuple[float, float]:
        """The time by which the list is finished with probability p, and the error of that figure (0: exact)."""
        if isinstance(p, bool) or not isinstance(p, int | float | np.floating) or not 0 < p < 1:
            raise InputError(f"p must be between 0 and 1; got {p!r}")
        if self._exact is not None:
            return self._exact.quantile(p), 0.0
        from scipy.special import ndtri

        z = float(ndtri(p))
        sigma = math.sqrt(max(self.variance, 0.0))
        correction = sigma * self.skewness * (z * z - 1) / 6
        return self.mean + sigma * z + correction, abs(correction)

    def headline(self) -> str:
        """The mean, and what becomes of the pages."""
        return (
            f"{self.urls:,} URLs are done after {self.mean:.6g} units of time on average; {self.indexed:.6g} pages "
            f"indexed, {self.obsolete:.3g} stale, {self.lost:.3g} lost"
        )

    def to_frame(self) -> pd.DataFrame:
        """Mean, standard deviation and quantiles of the time, and the expected fates of the pages."""
        import pandas as pd

        rows = [("mean", self.mean, "time"), ("standard deviation", math.sqrt(max(self.variance, 0.0)), "time")]
        rows += [(f"{p:.0%} quantile", self.quantile(p)[0], "time") for p in QUANTILES]
        rows += [(name, getattr(self, name), "pages") for name in ("indexed", "obsolete", "lost")]
        return pd.DataFrame(rows, columns=["number", "value", "unit"])

    def to_json(self, quantiles: Sequence[float] = QUANTILES) -> dict[str, Any]:
        """Plain dictionaries and numbers."""
        rows = []
        for p in quantiles:
            time, error = self.quantile(p)
            rows.append({"p": p, "time": time, "error": error})
        return {
            "urls": self.urls,
            "mean": self.mean,
            "standard_deviation": math.sqrt(max(self.variance, 0.0)),
            "quantiles": rows,
            "method": "exact" if self.exact_quantiles else "normal with exact moments, corrected for skewness",
            "expected": {"lost": self.lost, "obsolete": self.obsolete, "indexed": self.indexed},
        }


@takes_scenario
def completion(scenario: Scenario, urls: int, start: int = 0) -> Completion:
    """Time to finish a list of `urls` URLs, from `start` pages in the system.

    The crawler is under way: its arrival phase is in equilibrium, and robots that finish their fetch have the first
    URLs of the list in flight. A URL is a page, or with such robots a fetch.

    Cost: one sparse factorisation and three solves per URL (up to a few thousand), some 0.1 ms each at K = 20.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> one = completion(examples.load("mm1k"), 1)     # one delivery at rate 0.8, then one indexing at rate 1
    >>> round(one.mean, 6)
    2.25
    """
    faults = Faults()
    checks.integer(urls, "urls", faults, at_least=1)
    checks.integer(start, "start", faults, at_least=0, at_most=scenario.capacity)
    faults.raise_if_any()
    chain = Chain.of(scenario)
    if isinstance(scenario.arrivals, FetchingRobots):
        chain = at_most(chain, scenario.arrivals, urls)
    refuse_above(
        MAX_STATES,
        chain.states,
        "the chain",
        "Use a smaller capacity, or exponential obsolescence, or simulate.",
    )
    return _List(scenario, urls, start).completion()


class _List:
    """The chain with its counter, in pieces."""

    def __init__(self, scenario: Scenario, urls: int, start: int) -> None:
        chain = Chain.of(scenario)
        self.urls, self.begin = urls, start
        if isinstance(scenario.arrivals, FetchingRobots):
            self.layers = fetching_layers(chain, scenario.arrivals)
            self.generator = Generator.of(at_most(chain, scenario.arrivals, urls))
            self.pages = urls * scenario.arrivals.mean_pages
        else:
            self.layers, self.generator, self.pages = page_layers(chain), Generator.of(chain), float(urls)
        self.states, self.empty = self.generator.states, int(self.generator.starts[1])
        self.law = self.generator.fresh(start)

    def layer(self, n: int) -> Layer:
        """The rates with n URLs left: far from the end they are the same for all n."""
        return self.layers[min(n, len(self.layers)) - 1]

    @cached_property
    def draining(self) -> Any:
        """Rates once the list is used up, on the levels with pages; the empty system is the end."""
        clocks = clock_rates(self.generator)
        full = sp.csr_array(clocks - sp.diags_array(row_sums(clocks)))
        return full[self.empty :, self.empty :]

    def completion(self) -> Completion:
        walked = min(self.urls, STRETCH)
        stale = self.generator.count_rate("obsolete")
        done = [self._at_end(splu(sp.csc_matrix(-self.draining)), stale)]
        reach = max(self.layers[-1].steps)
        history: list[FloatArray] = []
        for n in range(1, walked + 1):
            done.append(self._before(done, n, stale))
            if len(done) > reach + 1:
                done.pop(0)
            if n > walked - 2:
                history.append(np.asarray(self.law @ done[-1]))
        values = _central(*history[-1])
        extrapolated = self.urls > walked
        if extrapolated:
            before = _central(*history[-2])
            values = values + (self.urls - walked) * (values - before)
        mean, variance, cubed, lost, obsolete = values.tolist()
        skewness = cubed / variance**1.5 if variance > 0 else 0.0
        indexed = self.pages + self.begin - lost - obsolete
        exact = None if extrapolated else self._with_counter(mean, variance)
        return Completion(self.urls, mean, variance, skewness, lost, obsolete, indexed, extrapolated, exact)

    def _at_end(self, factor: Any, stale: FloatArray) -> FloatArray:
        """Columns for n = 0: three moments of the time, pages lost, pages obsolete."""
        x = np.zeros((self.states, 5))
        inside = slice(self.empty, None)
        x[inside, 0] = factor.solve(np.ones(x[inside].shape[0]))
        x[inside, 1] = factor.solve(2 * x[inside, 0])
        x[inside, 2] = factor.solve(3 * x[inside, 1])
        x[inside, 4] = factor.solve(stale[inside])
        return x

    def _before(self, done: list[FloatArray], n: int, stale: FloatArray) -> FloatArray:
        """Columns for n from those for fewer; `done[-k]` belongs to n - k."""
        arriving, factor = np.zeros_like(done[-1]), self.layer(n).running.factor
        for k, (U, lost) in self.layer(n).steps.items():
            arriving += U @ done[-k]
            arriving[:, 3] += lost
        x = np.zeros_like(arriving)
        arriving[:, 0] += 1.0
        arriving[:, 4] += stale
        x[:, [0, 3, 4]] = factor.solve(np.asfortranarray(arriving[:, [0, 3, 4]]))
        x[:, 1] = factor.solve(arriving[:, 1] + 2 * x[:, 0])
        x[:, 2] = factor.solve(arriving[:, 2] + 3 * x[:, 1])
        return x

    def _with_counter(self, mean: float, variance: float) -> AbsorptionTime | None:
        """The whole chain with its counter, where it is small enough for exact quantiles."""
        states = self.urls * self.states
        fastest = float(np.abs(self.layers[-1].running.rates.diagonal()).max())
        if states * fastest * (mean + 10 * math.sqrt(max(variance, 0.0))) > EXACT_WORK:
            return None
        count = self.urls
        rows: list[list[Any]] = [[None] * (count + 1) for _ in range(count + 1)]
        inside = self.empty
        for row, n in enumerate(range(count, 0, -1)):
            rows[row][row] = self.layer(n).running.rates
            for k, (U, _) in self.layer(n).steps.items():
                rows[row][row + k] = U[:, inside:] if k == n else U
        rows[count][count] = self.draining
        law = np.zeros(count * self.states + self.states - inside)
        law[: self.law.size] = self.law
        rates = sp.csr_array(sp.block_array(rows, format="csr"))
        return AbsorptionTime(law, rates, np.maximum(-np.asarray(rates.sum(axis=1)).ravel(), 0.0))


def _central(mean: float, second: float, third: float, lost: float, obsolete: float) -> FloatArray:
    """Mean, variance and third central moment, which all grow linearly with the list, and the two counts."""
    variance = second - mean**2
    return np.array([mean, variance, third - 3 * mean * second + 2 * mean**3, lost, obsolete])
