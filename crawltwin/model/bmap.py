r"""Batch Markovian arrival processes (section 2 of the paper, equation (1)).

Matrices :math:`D_0, D_1, \dots, D_B`: :math:`D_0` holds the rates of phase changes without a delivery (and minus the
total rates on its diagonal), :math:`D_k` those with a batch of k pages. :math:`D = \sum_k D_k` is the generator of the
phase; :math:`\theta D = 0`.

Between batches the phase at batch instants is a discrete chain with transition matrix
:math:`P = (-D_0)^{-1}(D - D_0)`; the intervals have :math:`E X = 1/\lambda_g` and the correlations below follow from
powers of P. The number of pages in (0, t] has variance

.. math:: t\,\theta M_2 e + 2\,\theta M_1 [t Z - Z^2 (I - e^{Dt})] M_1 e,
          \quad M_j = \sum_k k^j D_k, \quad Z = (e\theta - D)^{-1} - e\theta .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crawltwin.model import checks
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError, Faults, InputError
from crawltwin.model.value import Value


class ArrivalSample(NamedTuple):
    """Sampled batches: arrival times, batch sizes, and the phase after each batch."""

    times: FloatArray
    sizes: npt.NDArray[np.int64]
    phases: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class BMAP(Value):
    """A batch Markovian arrival process.

    Parameters
    ----------
    matrices : sequence of array_like
        D_0, D_1, ..., D_B, square and of one size. Rows of their sum are zero within the documented tolerance, the sum
        is irreducible, and at least one page arrives.

    Examples
    --------
    >>> BMAP.poisson(2.0).page_rate
    2.0
    """

    D: tuple[FloatArray, ...]

    def __init__(self, matrices: Sequence[npt.ArrayLike | Sequence[Any]]) -> None:
        faults = Faults()
        D = check_matrices(matrices, "D", faults)
        if D is not None:
            check_generator(D[0], sum(D[1:], start=D[0]), "D", faults)
            if not any((block > 0).any() for block in D[1:]):
                faults.add("D", "D_1, D_2, ... must bring at least one page; got no positive rate in any of them")
        faults.raise_if_any()
        assert D is not None
        while len(D) > 2 and not D[-1].any():
            D = D[:-1]
        object.__setattr__(self, "D", tuple(checks.frozen(block) for block in D))

    def __repr__(self) -> str:
        return (
            f"BMAP({self.phases} phases, batches up to {self.max_batch}, {self.page_rate:.6g} pages per unit of time)"
        )

    @classmethod
    def poisson(cls, rate: float, batch_sizes: Sequence[float] = (1.0,)) -> BMAP:
        """Poisson batches at `rate`; `batch_sizes[k-1]` is the probability of a batch of k pages."""
        faults = Faults()
        value = checks.number(rate, "rate", faults, above=0)
        sizes = checks.probability_vector(batch_sizes, "batch_sizes", faults)
        faults.raise_if_any()
        assert value is not None
        assert sizes is not None
        return cls([[[-value * float(sizes.sum())]], *[[[value * d]] for d in sizes]])

    @classmethod
    def from_map(cls, D0: npt.ArrayLike, D1: npt.ArrayLike, batch_sizes: Sequence[float]) -> BMAP:
        """Batches at the epochs of a MAP, sizes independent of the phase: D_k = d_k D_1 (the paper's section 7)."""
        faults = Faults()
        sizes = checks.probability_vector(batch_sizes, "batch_sizes", faults)
        faults.raise_if_any()
        assert sizes is not None
        return cls([D0, *[d * np.asarray(D1, dtype=np.float64) for d in sizes]])

    @property
    def phases(self) -> int:
        """Number of phases (the paper's W + 1)."""
        return int(self.D[0].shape[0])

    @property
    def max_batch(self) -> int:
        """Largest batch that can arrive."""
        return len(self.D) - 1

    @cached_property
    def generator(self) -> FloatArray:
        """D(1), the generator of the phase."""
        return checks.frozen(sum(self.D[1:], start=self.D[0]))

    @cached_property
    def phase_distribution(self) -> FloatArray:
        """Stationary distribution theta of the phase, by elimination without subtraction."""
        return checks.frozen(stationary(self.generator))

    @cached_property
    def page_rate(self) -> float:
        """Pages per unit of time, lambda."""
        return float(sum(k * (self.phase_distribution @ Dk).sum() for k, Dk in enumerate(self.D)))

    @cached_property
    def batch_rate(self) -> float:
        """Batches per unit of time, lambda_g."""
        return float(sum((self.phase_distribution @ Dk).sum() for Dk in self.D[1:]))

    @cached_property
    def batch_sizes(self) -> FloatArray:
        """Probabilities of batch sizes 1, 2, ..., B for an arbitrary batch."""
        return checks.frozen([(self.phase_distribution @ Dk).sum() / self.batch_rate for Dk in self.D[1:]])

    @cached_property
    def mean_batch(self) -> float:
        """Mean batch size."""
        return self.page_rate / self.batch_rate

    @cached_property
    def _batch_jump(self) -> FloatArray:
        return checks.frozen(np.linalg.solve(-self.D[0], sum(self.D[2:], start=self.D[1])))

    @cached_property
    def batch_phase_distribution(self) -> FloatArray:
        """Stationary distribution of the phase just after a batch."""
        return checks.frozen(self.phase_distribution @ sum(self.D[2:], start=self.D[1]) / self.batch_rate)

    def interval_moment(self, k: int) -> float:
        """The k-th raw moment of the interval between batches."""
        power: FloatArray = np.ones(self.phases)
        for j in range(1, k + 1):
            power = j * np.linalg.solve(-self.D[0], power)
        return float(self.batch_phase_distribution @ power)

    @cached_property
    def interval_variance(self) -> float:
        """Variance of the interval between batches."""
        return self.interval_moment(2) - self.interval_moment(1) ** 2

    def correlation(self, lag: int = 1) -> float:
        """Correlation of two intervals between batches, `lag` apart."""
        if lag < 0:
            raise InputError(f"lag must be at least 0; got {lag}")
        if lag == 0:
            return 1.0
        inverse = np.linalg.inv(-self.D[0])
        jump = np.linalg.matrix_power(self._batch_jump, lag)
        joint = float(self.batch_phase_distribution @ inverse @ jump @ inverse @ np.ones(self.phases))
        return (joint - self.interval_moment(1) ** 2) / self.interval_variance

    def dispersion(self, t: float = np.inf) -> float:
        """Index of dispersion for counts of pages: variance over mean of the number in (0, t]; limit by default."""
        if not t > 0:
            raise InputError(f"t must be greater than 0; got {t!r}")
        e, theta = np.ones(self.phases), self.phase_distribution
        M1 = np.asarray(sum(k * Dk for k, Dk in enumerate(self.D)))
        M2 = np.asarray(sum(k * k * Dk for k, Dk in enumerate(self.D)))
        limit = np.outer(e, theta)
        try:
            Z = np.linalg.inv(limit - self.generator) - limit
        except np.linalg.LinAlgError:
            Z = np.full_like(limit, np.nan)
        # Phases that hardly ever lead to one another leave no digit in the deviation matrix.
        known = bool(np.abs(self.generator @ Z - limit + np.eye(self.phases)).max() < 1e-6)
        if not np.isfinite(Z).all() and not np.isfinite(t):
            raise ConvergenceError(
                "the phases hardly ever lead to one another: the index of dispersion is beyond floating point. "
                "Give each class of phases a process of its own"
            )
        inner = Z @ M1 @ e
        if np.isfinite(t):
            from scipy.linalg import expm

            # The difference below loses the digits of Z squared over t.
            if known and np.abs(Z).max() ** 2 < 5e5 * t:
                inner = (Z - Z @ Z @ (np.eye(self.phases) - expm(self.generator * t)) / t) @ M1 @ e
            else:
                inner = _twice_integrated(np.asarray(self.generator), M1 @ e - self.page_rate * e, t) / t
        return float(theta @ M2 @ e + 2 * theta @ M1 @ inner) / self.page_rate

    def superposed(self, other: BMAP) -> BMAP:
        """Both processes together, independent: Kronecker sums of the matrices."""
        size = max(len(self.D), len(other.D))
        left, right = np.eye(self.phases), np.eye(other.phases)
        blocks = []
        for k in range(size):
            block = np.zeros((self.phases * other.phases,) * 2)
            if k < len(self.D):
                block += np.kron(self.D[k], right)
            if k < len(other.D):
                block += np.kron(left, other.D[k])
            blocks.append(block)
        return BMAP(blocks)

    def thinned(self, keep: float) -> BMAP:
        """Each batch kept whole with probability `keep`, else dropped whole (interpretation 2)."""
        faults = Faults()
        checks.number(keep, "keep", faults, above=0, at_most=1)
        faults.raise_if_any()
        dropped = np.asarray(sum((1 - keep) * Dk for Dk in self.D[1:]))
        return BMAP([self.D[0] + dropped, *[keep * Dk for Dk in self.D[1:]]])

    def scaled(self, factor: float) -> BMAP:
        """Every rate times `factor`: the same process on a faster clock."""
        faults = Faults()
        checks.number(factor, "factor", faults, above=0)
        faults.raise_if_any()
        return BMAP([factor * Dk for Dk in self.D])

    def sample(self, rng: np.random.Generator, batches: int, phase: int | None = None) -> ArrivalSample:
        """Draw `batches` batches; starts in `phase`, or in equilibrium at an arbitrary instant.

        Cost: about a microsecond per jump after block draws of random numbers.
        """
        rates, cumulative, size_of, phase_of = self._jump_table()
        state = int(rng.choice(self.phases, p=self.phase_distribution)) if phase is None else int(phase)
        times, sizes, phases = np.empty(batches), np.empty(batches, np.int64), np.empty(batches, np.int64)
        now, done = 0.0, 0
        while done < batches:
            block = 2 * (batches - done) + 64
            waits, picks = rng.exponential(size=block), rng.random(block)
            for wait, pick in zip(waits, picks, strict=True):
                now += wait / rates[state]
                jump = int(np.searchsorted(cumulative[state], pick, side="right"))
                state = phase_of[jump]
                if size_of[jump]:
                    times[done], sizes[done], phases[done] = now, size_of[jump], state
                    done += 1
                    if done == batches:
                        break
        return ArrivalSample(times, sizes, phases)

    def _jump_table(self) -> tuple[FloatArray, FloatArray, list[int], list[int]]:
        """Rates of leaving, cumulative jump probabilities by phase, and what a jump does (batch size, next phase)."""
        off = self.D[0] - np.diag(np.diag(self.D[0]))
        rows = np.hstack([off, *self.D[1:]])
        cumulative = np.cumsum(rows, axis=1)
        total = cumulative[:, -1].copy()
        cumulative /= total[:, None]
        size_of = [k for k in range(len(self.D)) for _ in range(self.phases)]
        phase_of = list(range(self.phases)) * len(self.D)
        return total, cumulative, size_of, phase_of


def check_matrices(matrices: Any, place: str, faults: Faults) -> list[FloatArray] | None:
    """Shapes and signs of D_0, D_1, ...; None when they cannot be used."""
    if not isinstance(matrices, Sequence | np.ndarray) or isinstance(matrices, str) or len(matrices) < 2:
        faults.add(
            place,
            f"{place} must be a list of at least two matrices D_0, D_1; got {checks.show(matrices)}",
            "D_0 holds the rates without a delivery, D_k those with a batch of k pages.",
        )
        return None
    first = checks.square_matrix(matrices[0], f"{place}[0]", faults)
    size = None if first is None else first.shape[0]
    rest = [checks.square_matrix(block, f"{place}[{k}]", faults, size) for k, block in enumerate(matrices[1:], start=1)]
    found = [first, *rest]
    for k, block in enumerate(found):
        if block is None:
            continue
        off = block - np.diag(np.diag(block)) if k == 0 else block
        for row, column in np.argwhere(off < 0)[:3]:
            place_of = f"{place}[{k}][{row}][{column}]"
            faults.add(place_of, f"rates in D_{k} must be not negative; got {block[row, column]:g}")
    if first is not None:
        for row in np.flatnonzero(np.diag(first) >= 0)[:3]:
            faults.add(
                f"{place}[0][{row}][{row}]",
                f"the diagonal of D_0 must be negative; got {first[row, row]:g}",
                "It is minus the total rate out of the phase. A lost minus sign?",
            )
    usable = [block for block in found if block is not None]
    return usable if len(usable) == len(found) else None


def check_generator(D0: FloatArray, total: FloatArray, place: str, faults: Faults) -> None:
    """Rows that sum to zero, measured against the total rates on the diagonal of D_0, and one communicating class."""
    scale = np.abs(np.diag(D0))
    sums = total.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums) > checks.ROW_SUM_TOLERANCE * scale)
    for row in wrong[:3]:
        faults.add(
            f"{place}[0][{row}]",
            f"row {row} of D_0 + D_1 + ... must sum to 0; got {sums[row]:.6g} from {checks.show(total[row])}",
            "Change the diagonal of D_0, or write the rates with more digits.",
        )
    if not wrong.size and not faults and not checks.is_irreducible(total):
        faults.add(
            place,
            "the phases must all lead to one another; got a reducible generator D_0 + D_1 + ...",
            "Remove the phases that are left for good, or give each class its own scenario.",
        )


def stationary(generator: FloatArray) -> FloatArray:
    """Stationary vector of a small irreducible generator, by Grassmann-Taksar-Heyman elimination.

    Uses the off-diagonal rates only and never subtracts, so every entry has full relative accuracy, for nearly
    decomposable generators too. Cost: n^3/3 operations.
    """
    rates = np.array(generator, dtype=np.float64)
    n = rates.shape[0]
    for last in range(n - 1, 0, -1):
        rates[:last, last] /= rates[last, :last].sum()
        rates[:last, :last] += np.outer(rates[:last, last], rates[last, :last])
    weights = np.ones(n)
    for state in range(1, n):
        weights[state] = weights[:state] @ rates[:state, state]
    return np.asarray(weights / weights.sum())


def _twice_integrated(generator: FloatArray, vector: FloatArray, t: float) -> FloatArray:
    """The integral of (t - s) e^(Ds) v over s from 0 to t: the corner of one larger exponential."""
    from scipy.linalg import expm

    n = vector.size
    larger = np.zeros((n + 2, n + 2))
    larger[:n, :n], larger[:n, n], larger[n, n + 1] = generator, vector, 1.0
    return np.asarray(expm(larger * t)[:n, n + 1])
