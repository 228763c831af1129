r"""A finite list of URLs, and the time until the last of its pages has left the system.

The crawler delivers until the list is used up (a last batch that is larger than the rest of the list is cut), then
the robots stop and the backlog is worked off. The chain is the scenario's with one more coordinate, the number n of
URLs still to be delivered; pages lost or obsolete are not fetched again.

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
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from scipy.special import ndtri

from analytic.absorption import AbsorptionTime
from analytic.chain import Chain, admitted
from analytic.generator import kron_all, leave_one, sum_of_clocks
from analytic.passage import check_probability, fresh_level
from crawltwin.model import Fault, Scenario, TooLargeError, checks
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import Faults

MAX_STATES = 30_000
"""Most states of the scenario's own chain, without the counter."""
EXACT_WORK = 3e8
"""States times steps up to which quantiles are exact."""
STRETCH = 2_000
"""URLs after which moments are continued as straight lines."""


@dataclass(frozen=True, eq=False)
class Completion:
    """Time to finish a list.

    Parameters
    ----------
    urls : int
    mean, variance, skewness : float
        Of the time to finish.
    lost, obsolete, indexed : float
        Expected numbers of pages of each fate; they sum to `urls`.
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
        p = check_probability(p)
        if self._exact is not None:
            return self._exact.quantile(p), 0.0
        z = float(ndtri(p))
        sigma = math.sqrt(max(self.variance, 0.0))
        correction = sigma * self.skewness * (z * z - 1) / 6
        return self.mean + sigma * z + correction, abs(correction)

    def to_json(self, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> dict[str, Any]:
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


def completion(scenario: Scenario, urls: int, start: int = 0) -> Completion:
    """Time to finish a list of `urls` URLs, from `start` pages in the system.

    Cost: one sparse factorisation and three solves a URL (up to a few thousand), some 0.1 ms each at K = 20.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> one = completion(examples.load("mm1k"), 1)     # one delivery at rate 0.8, then one indexing at rate 1
    >>> round(one.mean, 6)
    2.25
    """
    faults = Faults()
    checks.integer(urls, "urls", faults, at_least=1)
    chain = Chain.of(scenario)
    checks.integer(start, "start", faults, at_least=0, at_most=scenario.capacity)
    faults.raise_if_any()
    if chain.states > MAX_STATES:
        raise TooLargeError(
            [
                Fault(
                    "capacity",
                    f"the chain must have at most {MAX_STATES:,} states; got {count(chain.states)}",
                    "Use a smaller capacity, or exponential obsolescence, or simulate.",
                )
            ]
        )
    return _List(chain, urls, start).completion()


class _List:
    """The chain with its counter, in pieces."""

    def __init__(self, chain: Chain, urls: int, start: int) -> None:
        self.chain, self.urls, self.begin = chain, urls, start
        self.sizes = [chain.level_states(level) for level in range(chain.top + 1)]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self.batch = max(flow.outcomes[-1].size for flow, _ in chain.groups if flow.outcomes)
        self.batches = {k: self._batch(k, last=False) for k in range(1, self.batch + 1)}
        self.lasts = {n: self._batch(n, last=True) for n in range(1, self.batch + 1)}

    @cached_property
    def law(self) -> FloatArray:
        p = np.zeros(int(self.starts[-1]))
        p[self.starts[self.begin] : self.starts[self.begin + 1]] = fresh_level(self.chain, self.begin)
        return p

    def _assemble(self, blocks: list[dict[int, Any]]) -> Any:
        # A block on the diagonal, be it empty, tells the size of every row and column.
        rows = [
            [
                found.get(target, sp.csr_array((self.sizes[level],) * 2) if target == level else None)
                for target in range(len(blocks))
            ]
            for level, found in enumerate(blocks)
        ]
        return sp.csr_array(sp.block_array(rows, format="csr"))

    def _batch(self, size: int, last: bool) -> tuple[Any, FloatArray]:
        """Rates of batches of `size` pages (`last`: of `size` or more, cut to it), and the rates of pages lost."""
        chain = self.chain
        blocks: list[dict[int, Any]] = []
        lost: list[FloatArray] = []
        for level in range(chain.top + 1):
            mode = chain.scenario.arrivals.mode(int(chain.robots[level]))
            chosen = mode.D[size:] if last else mode.D[size : size + 1]
            W, room = chain.arrival_phases, chain.scenario.capacity - level
            rates = np.asarray(sum(chosen, start=np.zeros((W, W))))
            enter = admitted(size, room, chain.scenario.admission)
            rest = self.sizes[level] // W
            if level == 0 and enter:
                block = kron_all(rates, chain.service.initial[None, :], *[chain.gamma[None, :]] * (enter - 1))
            else:
                block = kron_all(rates, sp.eye_array(rest), *[chain.gamma[None, :]] * enter)
            blocks.append({level + enter: block})
            lost.append((size - enter) * np.repeat(rates.sum(axis=1), rest))
        return self._assemble(blocks), np.concatenate(lost)

    @cached_property
    def clocks(self) -> Any:
        """Rates of service and obsolescence, off the diagonal."""
        chain, W = self.chain, self.chain.arrival_phases
        blocks: list[dict[int, Any]] = [{}]
        for level in range(1, chain.top + 1):
            down = chain.service.exit_rates[:, None] if level == 1 else leave_one(chain, level - 1)
            blocks.append(
                {
                    level - 1: kron_all(np.eye(W), down),
                    level: kron_all(np.eye(W), sum_of_clocks(chain, level - 1)),
                }
            )
        return _off(self._assemble(blocks))

    @cached_property
    def quiet(self) -> Any:
        """Phase changes without a delivery, off the diagonal."""
        blocks: list[dict[int, Any]] = []
        for level in range(self.chain.top + 1):
            mode = self.chain.scenario.arrivals.mode(int(self.chain.robots[level]))
            inner = self.sizes[level] // self.chain.arrival_phases
            blocks.append({level: kron_all(mode.D[0], sp.eye_array(inner))})
        return _off(self._assemble(blocks))

    @cached_property
    def running(self) -> Any:
        """A: rates that leave the counter alone while the list lasts, with the whole rate out on the diagonal."""
        out = _sums(self.clocks) + _sums(self.quiet) + sum(_sums(U) for U, _ in self.batches.values())
        return sp.csr_array(self.clocks + self.quiet - sp.diags_array(out))

    @cached_property
    def draining(self) -> Any:
        """Rates once the list is used up, on the levels with pages; the empty system is the end."""
        full = sp.csr_array(self.clocks - sp.diags_array(_sums(self.clocks)))
        return full[self.sizes[0] :, self.sizes[0] :]

    def completion(self) -> Completion:
        walked = min(self.urls, STRETCH)
        end, run = splu(sp.csc_matrix(-self.draining)), splu(sp.csc_matrix(-self.running))
        stale = self._obsolete_rates()
        done = [self._at_end(end, stale)]
        reach = self.batch
        history: list[FloatArray] = []
        for n in range(1, walked + 1):
            done.append(self._before(run, done, n, stale))
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
        indexed = self.urls + self.begin - lost - obsolete
        exact = None if extrapolated else self._with_counter(mean, variance)
        return Completion(self.urls, mean, variance, skewness, lost, obsolete, indexed, extrapolated, exact)

    def _obsolete_rates(self) -> FloatArray:
        """Pages becoming obsolete a unit of time in each state."""
        chain = self.chain
        rates = np.zeros(int(self.starts[-1]))
        if chain.obsolescence is None:
            return rates
        for level in range(2, chain.top + 1):
            waiting, R = level - 1, chain.obsolescence_phases
            own = sum(
                np.kron(np.kron(np.ones(R**j), chain.Gamma0), np.ones(R ** (waiting - j - 1))) for j in range(waiting)
            )
            inner = np.tile(np.asarray(own), chain.arrival_phases * chain.service_phases)
            rates[self.starts[level] : self.starts[level + 1]] = inner
        return rates

    def _at_end(self, factor: Any, stale: FloatArray) -> FloatArray:
        """Columns for n = 0: three moments of the time, pages lost, pages obsolete."""
        x = np.zeros((int(self.starts[-1]), 5))
        inside = slice(self.sizes[0], None)
        x[inside, 0] = factor.solve(np.ones(x[inside].shape[0]))
        x[inside, 1] = factor.solve(2 * x[inside, 0])
        x[inside, 2] = factor.solve(3 * x[inside, 1])
        x[inside, 4] = factor.solve(stale[inside])
        return x

    def _before(self, factor: Any, done: list[FloatArray], n: int, stale: FloatArray) -> FloatArray:
        """Columns for n from those for fewer; `done[-k]` belongs to n - k."""
        arriving = np.zeros_like(done[-1])
        for k in range(1, min(self.batch, n) + 1):
            U, lost = self.lasts[n] if k == n else self.batches[k]
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
        states = self.urls * int(self.starts[-1])
        fastest = float(np.abs(self.running.diagonal()).max())
        if states * fastest * (mean + 10 * math.sqrt(max(variance, 0.0))) > EXACT_WORK:
            return None
        count = self.urls
        rows: list[list[Any]] = [[None] * (count + 1) for _ in range(count + 1)]
        inside = self.sizes[0]
        for row, n in enumerate(range(count, 0, -1)):
            rows[row][row] = self.running
            for k in range(1, min(self.batch, n) + 1):
                U = self.lasts[n][0] if k == n else self.batches[k][0]
                rows[row][row + k] = U[:, inside:] if k == n else U
        rows[count][count] = self.draining
        law = np.zeros(count * int(self.starts[-1]) + int(self.starts[-1]) - inside)
        law[: self.law.size] = self.law
        return AbsorptionTime(law, sp.csr_array(sp.block_array(rows, format="csr")))


def _central(mean: float, second: float, third: float, lost: float, obsolete: float) -> FloatArray:
    """Mean, variance and third central moment, which all grow linearly with the list, and the two counts."""
    variance = second - mean**2
    return np.array([mean, variance, third - 3 * mean * second + 2 * mean**3, lost, obsolete])


def _off(matrix: Any) -> Any:
    return sp.csr_array(matrix - sp.diags_array(matrix.diagonal()))


def _sums(matrix: Any) -> FloatArray:
    return np.asarray(matrix.sum(axis=1)).ravel()
