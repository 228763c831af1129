"""One loop for every EM fit: E step, M step, and a monitor that keeps the history.

An EM step cannot lower the likelihood. A fall beyond rounding is a fault of the program, never of the data, and is
raised. A run has converged when a step gained less than the tolerance; to reach the cap on steps is not convergence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from crawltwin.model.errors import ConvergenceError

MAX_STAGES = 10
"""Most stages of one Erlang branch by default: a coefficient of variation below 0.32 within a branch is not followed,
so that the chain stays small."""
FALL = 1e-9
"""How far the log-likelihood may fall in a step, relative to its size, before it counts as a fault: rounding only."""

Model = TypeVar("Model")
Expected = TypeVar("Expected")


@dataclass(frozen=True)
class EmSettings:
    """How a run goes.

    Parameters
    ----------
    steps : int
        Steps at most.
    tolerance : float
        A step that gains less than so many nats per observation ends the run.
    by_phase : bool
        Fit the batch sizes of each hidden state too; else the batch law of the start stays.
    whole : bool
        Erlang branches: whole numbers of stages, or real ones.
    max_stages : int
        Erlang branches: most stages of one.
    same_stages : bool
        Erlang branches: keep the stages of the start, so that its phases stay.
    """

    steps: int = 500
    tolerance: float = 1e-7
    by_phase: bool = False
    whole: bool = True
    max_stages: int = MAX_STAGES
    same_stages: bool = False


@dataclass(frozen=True)
class EmRun(Generic[Model]):
    """How a run went: its result, the log-likelihood at every step, and whether it came to rest."""

    model: Model
    history: tuple[float, ...]
    converged: bool


class EmSteps(Protocol[Model, Expected]):
    """The two steps of one family of models on one set of data."""

    observations: float

    def expect(self, model: Model) -> tuple[float, Expected]:
        """Log-likelihood of the model, and expected sufficient statistics."""

    def improve(self, model: Model, expected: Expected) -> Model | None:
        """The model that is most likely given the statistics; None where the run must end without it."""


@dataclass
class Monitor:
    """Watches one run: keeps the log-likelihoods, refuses a fall, and tells when the run has come to rest."""

    observations: float
    tolerance: float
    history: list[float] = field(default_factory=list)
    converged: bool = False

    def take(self, likelihood: float) -> bool:
        """Take the log-likelihood of one more step; whether the run has converged.

        Raises
        ------
        ConvergenceError
            When the likelihood fell, which EM cannot do.
        """
        if self.history:
            gain = likelihood - self.history[-1]
            if gain < -FALL * max(abs(likelihood), self.observations):
                raise ConvergenceError(
                    f"the log-likelihood must not fall in an EM step; got {self.history[-1]!r} then {likelihood!r} "
                    f"at step {len(self.history)}"
                )
            self.converged = gain < self.tolerance * self.observations
        self.history.append(likelihood)
        return self.converged


def run_em(steps: EmSteps[Model, Expected], model: Model, settings: EmSettings) -> EmRun[Model]:
    """EM from `model` until a step gains less than the tolerance, or for as many steps as allowed."""
    monitor = Monitor(steps.observations, settings.tolerance)
    for _ in range(settings.steps):
        likelihood, expected = steps.expect(model)
        if monitor.take(likelihood):
            break
        better = steps.improve(model, expected)
        if better is None:
            break
        model = better
    return EmRun(model, tuple(monitor.history), monitor.converged)
