r"""How the number of active robots changes the arrivals: the paper's four interpretations, and `scaled`.

Each kind gives, for every number r of active robots that it knows, one BMAP on a phase space common to all r, so that
the phase stays when the number of robots changes.

1. `IndependentRobots`: robots 1..N are independent BMAPs in order of activation. With r active, robots r+1..N move on
   without delivering:

   .. math:: \mathcal D_0^{(r)} = D_0^{(1)} \oplus \dots \oplus D_0^{(r)} \oplus D^{(r+1)}(1) \oplus \dots \oplus
      D^{(N)}(1), \quad \mathcal D_k^{(r)} = D_k^{(1)} \oplus \dots \oplus D_k^{(r)} \oplus 0 \oplus \dots \oplus 0 .

   The paper prints Kronecker products from robot r+1 on for :math:`\mathcal D_0`, which gives no generator.
2. `ThinnedStream`: one BMAP, each batch kept with probability q_r.
3. `MarkedStream`: one marked BMAP; batches of robots above r are not delivered, their phase changes happen.
4. `ModeMatrices`: matrices given for each r.
5. `ScaledStream`: r times the rates of one BMAP (the paper's measured crawler).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from crawltwin.model import checks
from crawltwin.model.arrivals.matrices import ArrivalMatrices
from crawltwin.model.bmap import BMAP, check_generator, check_matrices
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Fault, Faults, InputError, TooLargeError
from crawltwin.model.value import Value

MAX_PHASES = 2_000
"""Most arrival phases: each mode holds dense matrices of that size."""

MAX_ROBOTS = 1_000
"""Most robots of a scaled stream."""


class ControlledArrivals(Value, ABC):
    """What every kind offers: the numbers of robots it knows, and a BMAP for each."""

    kind: ClassVar[str]

    @cached_property
    def modes(self) -> Mapping[int, BMAP]:
        """The BMAP for each number of active robots, in rising order."""
        return MappingProxyType(dict(sorted(self._modes().items())))

    @abstractmethod
    def _modes(self) -> dict[int, BMAP]:
        """The BMAP for each number of active robots, in any order."""

    def mode(self, robots: int) -> BMAP:
        """The BMAP with `robots` active robots."""
        if robots not in self.modes:
            known = ", ".join(map(str, self.modes))
            raise InputError(f"robots must be one of {known}; got {robots}")
        return self.modes[robots]

    @property
    def robot_numbers(self) -> tuple[int, ...]:
        """The numbers of active robots that are possible; kinds that know them without their modes say so."""
        return tuple(self.modes)

    @property
    def phases(self) -> int:
        """Number of phases, common to all modes."""
        return next(iter(self.modes.values())).phases

    @property
    def max_batch(self) -> int:
        """Largest batch over all modes."""
        return max(mode.max_batch for mode in self.modes.values())

    def matrices(self, robots: Sequence[int]) -> ArrivalMatrices:
        """D, and the matrices U and R where the phase does not stay, for a controller that wants only these numbers."""
        modes = {number: self.mode(number) for number in sorted(set(robots))}
        most = max(mode.max_batch for mode in modes.values())
        nothing = checks.frozen(np.zeros((self.phases, self.phases)))
        D = {number: (*mode.D, *(nothing,) * (most - mode.max_batch)) for number, mode in modes.items()}
        return ArrivalMatrices(D, {number: mode.phase_distribution for number, mode in modes.items()})

    def page_rate(self, robots: int) -> float:
        """Pages per unit of time with so many robots active for ever."""
        return self.mode(robots).page_rate

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """Arrivals of the same kind that bring `factor` times as many pages per unit of time."""

    def __repr__(self) -> str:
        rates = ", ".join(f"{r}: {mode.page_rate:.4g}" for r, mode in self.modes.items())
        return f"{type(self).__name__}({self.phases} phases, pages per unit of time {{{rates}}})"


@dataclass(frozen=True, eq=False, repr=False)
class ModeMatrices(ControlledArrivals):
    """Interpretation 4: a BMAP given for each number of active robots.

    Examples
    --------
    >>> ModeMatrices({1: BMAP.poisson(1.0), 2: BMAP.poisson(1.7)}).mode(2).page_rate
    1.7
    """

    kind: ClassVar[str] = "modes"
    given: Mapping[int, BMAP]

    def __post_init__(self) -> None:
        faults = Faults()
        if not self.given:
            faults.add("modes", "modes must be at least one number of robots; got none")
        for robots, mode in self.given.items():
            checks.integer(robots, "robots", faults, at_least=1)
            _check_bmap(mode, f"modes[{robots}]", faults)
        faults.raise_if_any()
        sizes = {int(robots): mode.phases for robots, mode in self.given.items()}
        if len(set(sizes.values())) > 1:
            faults.add(
                "modes",
                f"all modes must have the same number of phases; got {sizes}",
                "The phase stays when the number of robots changes, so the phase space is shared.",
            )
        faults.raise_if_any()
        ordered = {int(robots): mode for robots, mode in sorted(self.given.items())}
        object.__setattr__(self, "given", MappingProxyType(ordered))

    def _content(self) -> tuple[Any, ...]:
        return tuple(self.given.items())

    def _modes(self) -> dict[int, BMAP]:
        return dict(self.given)

    def scaled(self, factor: float) -> Self:
        """Every rate of every mode times `factor`."""
        return type(self)({robots: mode.scaled(factor) for robots, mode in self.given.items()})


@dataclass(frozen=True, eq=False, repr=False)
class IndependentRobots(ControlledArrivals):
    """Interpretation 1: one independent BMAP for each robot, in order of activation."""

    kind: ClassVar[str] = "independent"
    robots: tuple[BMAP, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "robots", tuple(self.robots))
        faults = Faults()
        if not self.robots:
            faults.add("robots", "robots must be at least one BMAP; got none")
        for index, robot in enumerate(self.robots):
            _check_bmap(robot, f"robots[{index}]", faults)
        faults.raise_if_any()

    def _content(self) -> tuple[Any, ...]:
        return self.robots

    # Known without the modes, whose phase space grows as the product of the robots' own: a simulation walks each robot
    # by itself and never builds it.
    @property
    def robot_numbers(self) -> tuple[int, ...]:
        """One robot to all of them."""
        return tuple(range(1, len(self.robots) + 1))

    @property
    def phases(self) -> int:
        """Product of the robots' numbers of phases."""
        return math.prod(robot.phases for robot in self.robots)

    @property
    def max_batch(self) -> int:
        """Largest batch of any robot."""
        return max(robot.max_batch for robot in self.robots)

    def __repr__(self) -> str:
        rates = ", ".join(f"{robot.page_rate:.4g}" for robot in self.robots)
        return f"IndependentRobots({self.phases} phases, pages per unit of time of each robot [{rates}])"

    def _modes(self) -> dict[int, BMAP]:
        if self.phases > MAX_PHASES:
            raise TooLargeError(
                [
                    Fault(
                        "robots",
                        f"the robots' phases together must be at most {MAX_PHASES:,}; got {checks.count(self.phases)}",
                        "Independent robots multiply their phases: use fewer for each robot, or kind marked or scaled.",
                    )
                ]
            )
        sizes = [robot.phases for robot in self.robots]
        modes = {}
        for active in range(1, len(self.robots) + 1):
            count = max(robot.max_batch for robot in self.robots[:active])
            blocks = [np.zeros((int(np.prod(sizes)),) * 2) for _ in range(count + 1)]
            for index, robot in enumerate(self.robots):
                before, after = int(np.prod(sizes[:index])), int(np.prod(sizes[index + 1 :]))
                parts = robot.D if index < active else (robot.generator,)
                for k, Dk in enumerate(parts):
                    blocks[k] += np.kron(np.kron(np.eye(before), Dk), np.eye(after))
            modes[active] = BMAP(blocks)
        return modes

    def scaled(self, factor: float) -> Self:
        """Every rate of every robot times `factor`."""
        return type(self)(tuple(robot.scaled(factor) for robot in self.robots))


@dataclass(frozen=True, eq=False, repr=False)
class ThinnedStream(ControlledArrivals):
    """Interpretation 2: one BMAP whose batches are kept whole with probability `keep[r-1]` when r robots are active."""

    kind: ClassVar[str] = "thinned"
    stream: BMAP
    keep: tuple[float, ...]

    def __post_init__(self) -> None:
        faults = Faults()
        _check_bmap(self.stream, "stream", faults)
        q = checks.vector(list(self.keep), "keep", faults)
        if q is not None:
            for j in np.flatnonzero((q <= 0) | (q > 1))[:3]:
                faults.add(f"keep[{j}]", f"keep must be in (0, 1]; got {q[j]:g}")
            if (np.diff(q) <= 0).any():
                faults.add(
                    "keep",
                    f"keep must increase with the number of robots; got {checks.show(q)}",
                    "Entry r - 1 is the probability that a batch is kept when r robots are active.",
                )
        faults.raise_if_any()
        object.__setattr__(self, "keep", tuple(float(value) for value in self.keep))

    def _modes(self) -> dict[int, BMAP]:
        return {robots: self.stream.thinned(q) for robots, q in enumerate(self.keep, start=1)}

    def scaled(self, factor: float) -> Self:
        """The stream's rates times `factor`; as many of its batches are kept."""
        return replace(self, stream=self.stream.scaled(factor))


@dataclass(frozen=True, eq=False, repr=False)
class MarkedStream(ControlledArrivals):
    """Interpretation 3: one batch marked process; `robots[l-1]` holds D_1, D_2, ... of robot l.

    Parameters
    ----------
    D0 : array_like
        Rates without a delivery by any robot.
    robots : sequence of sequences of array_like
        For each robot its D_1, D_2, ...
    """

    kind: ClassVar[str] = "marked"
    D0: FloatArray
    robots: tuple[tuple[FloatArray, ...], ...]

    def __init__(self, D0: npt.ArrayLike, robots: Sequence[Sequence[npt.ArrayLike]]) -> None:
        faults = Faults()
        checked: list[tuple[FloatArray, ...]] = []
        zero = checks.square_matrix(D0, "D0", faults)
        if not isinstance(robots, Sequence) or isinstance(robots, str) or not robots:
            faults.add("robots", f"robots must be a non-empty list of lists D_1, D_2, ...; got {checks.show(robots)}")
        elif zero is not None:
            for index, own in enumerate(robots):
                inner = Faults()
                if not isinstance(own, Sequence) or isinstance(own, str) or not own:
                    inner.add("D", f"D must be a non-empty list of matrices D_1, D_2, ...; got {checks.show(own)}")
                    blocks = None
                else:
                    blocks = check_matrices([zero, *own], "D", inner)
                    if blocks is not None and not any(block.any() for block in blocks[1:]):
                        inner.add("D", "every robot must bring pages; got no positive rate")
                with faults.under(f"robots[{index}]"):
                    inner.raise_if_any()
                if blocks is not None:
                    checked.append(tuple(checks.frozen(block) for block in blocks[1:]))
        if not faults and zero is not None:
            check_generator(zero, zero + np.asarray(sum(sum(own) for own in checked)), "D0", faults)
        faults.raise_if_any()
        assert zero is not None
        object.__setattr__(self, "D0", checks.frozen(zero))
        object.__setattr__(self, "robots", tuple(checked))

    def _modes(self) -> dict[int, BMAP]:
        modes = {}
        for active in range(1, len(self.robots) + 1):
            blocks = [self.D0.copy()]
            blocks += [np.zeros_like(self.D0) for _ in range(max(map(len, self.robots[:active])))]
            for index, own in enumerate(self.robots):
                for k, Dk in enumerate(own, start=1):
                    blocks[k if index < active else 0] += Dk
            modes[active] = BMAP(blocks)
        return modes

    def scaled(self, factor: float) -> Self:
        """Every rate of every robot times `factor`."""
        return type(self)(factor * self.D0, [[factor * D for D in own] for own in self.robots])


@dataclass(frozen=True, eq=False, repr=False)
class ScaledStream(ControlledArrivals):
    """r robots bring the BMAP of one robot at r times its rates; up to `count` robots."""

    kind: ClassVar[str] = "scaled"
    stream: BMAP
    count: int

    def __post_init__(self) -> None:
        faults = Faults()
        _check_bmap(self.stream, "stream", faults)
        count = checks.integer(self.count, "robots", faults, at_least=1, at_most=MAX_ROBOTS)
        faults.raise_if_any()
        object.__setattr__(self, "count", count)

    def _modes(self) -> dict[int, BMAP]:
        return {robots: self.stream.scaled(robots) for robots in range(1, self.count + 1)}

    def scaled(self, factor: float) -> Self:
        """The rates of each robot times `factor`."""
        return replace(self, stream=self.stream.scaled(factor))


def _check_bmap(value: object, place: str, faults: Faults) -> None:
    if not isinstance(value, BMAP):
        faults.add(place, f"{place} must be a BMAP; got {checks.show(value)}")
