r"""Who delivered, as models: robots that the log names, independent of one another or marks of one hidden chain.

Three rivals have a likelihood for the same data, the times of the deliveries with their robots, given that a robot
:math:`m_0` delivered at the begin of a block:

- *pooled*: the chosen stream, each delivery by robot l with probability :math:`p_l`, whatever went before;
- *marked*: a stream with a law of the robot for each hidden state, by EM (`kind = "marked"`). Its chain is that of the
  chosen stream, or one of two phases that begins where the shares of the robots differ most, by the smaller BIC;
- *independent*: a process for each robot (`kind = "independent"`). Between two deliveries, x apart, robot l goes from
  the law a of its phase to :math:`a e^{D_0 x} D_1` where the delivery is its own and to :math:`a e^{D_0 x}` where it is
  not; the likelihood is the product of the sums over all robots. At the begin of a block the phase has the law after a
  delivery for :math:`m_0` and that of an arbitrary time for the others.

They are fitted without some blocks and compared on these. A rival is chosen where its gain over the pooled stream is
more than twice its standard error, from the means over parts of the blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crawltwin.model.arrivals.kinds import ControlledArrivals, IndependentRobots, MarkedStream
from crawltwin.model.errors import CrawltwinError, InputError
from fitting.choose import candidates
from fitting.choose.settings import FitOptions
from fitting.models import uniformisation
from fitting.models.em import EmSettings
from fitting.models.gap_model import GapModel
from fitting.models.general_map import GeneralMap
from fitting.models.kernels import MarkedGaps
from fitting.readers import RawLog
from fitting.robots.deliveries import Deliveries, deliveries_of
from fitting.trace import bootstrap
from fitting.trace.cleaning import Cleaning
from fitting.trace.segments import Float, Segments

JOINT_PHASES = 64
"""Phases of independent robots together: they multiply, and every policy is solved with them."""
BETTER = 1e-3
"""Nats per delivery that a rival must gain over the pooled stream on blocks left out, whatever its error."""
ERRORS = 2.0
"""Standard errors that the gain must be above."""
PARTS = 20
"""Parts of the blocks left out whose means give the error of a gain."""
WINDOW = 20
"""Deliveries of a window in which the shares of the robots are compared."""
OWN = FitOptions(methods=("poisson", "renewal", "mmpp2"), max_branches=1)
EM = EmSettings(steps=100, tolerance=1e-6, same_stages=True)
AGAIN = replace(EM, steps=12, tolerance=1e-5)
_TOLD = {
    "pooled": "one stream whose deliveries go to the {} named robots by chance tells them best",
    "marked": "the {} named robots are marks of one hidden chain",
    "independent": "the {} named robots deliver independently of one another",
}


@dataclass(frozen=True, eq=False)
class NamedRobots:
    """The robots that a log names, as a model of the arrivals.

    Attributes
    ----------
    data : Deliveries or None
        Deliveries that were used; None where no model was fitted.
    held_out : mapping
        Log-likelihood per delivery of `pooled`, `marked` and `independent` on blocks left out.
    gains : mapping
        Gain of each rival over `pooled` there, and its standard error.
    refused : mapping
        Why a rival was not looked at.
    models : mapping
        The rivals fitted to all deliveries: a stream with marks, or one model for each robot; in seconds.
    """

    data: Deliveries | None
    held_out: Mapping[str, float]
    gains: Mapping[str, tuple[float, float]]
    refused: Mapping[str, str]
    models: Mapping[str, tuple[GapModel, ...]]

    @property
    def kind(self) -> str:
        """The rival that wins: `pooled`, `marked` or `independent`."""
        won = {name: gain for name, (gain, error) in self.gains.items() if gain > max(BETTER, ERRORS * error)}
        return max(won, key=lambda name: won[name]) if won else "pooled"

    @property
    def won(self) -> bool:
        """Whether a model of the single robots is better than one stream."""
        return self.kind != "pooled"

    @property
    def robots(self) -> int:
        """How many robots the log names; 0 where no model was fitted."""
        return 0 if self.data is None else self.data.robots

    @property
    def words(self) -> tuple[str, ...]:
        """Who wins by how much, and what was not looked at."""
        left = tuple(dict.fromkeys(self.refused.values()))
        if self.data is None:
            return left
        gains = ", ".join(f"{name} {gain:+.4f} +- {error:.4f}" for name, (gain, error) in self.gains.items())
        told = _TOLD[self.kind].format(self.robots)
        apart = [f"{name} was not looked at: {why}" for name, why in self.refused.items()]
        return (f"{told}; nats per delivery gained over one stream on blocks left out: {gains or 'none'}", *apart)

    def arrivals(self, robots: int | None = None, kind: str | None = None) -> ControlledArrivals:
        """Robots in the order of their first deliveries.

        Raises
        ------
        InputError
            For another number of robots than the log names, or a model that was refused.
        """
        name = kind or self.kind
        if name not in self.models:
            why = self.refused.get(name, "one stream tells the deliveries best")
            raise InputError.at(
                "arrivals", f"arrivals must be a model that the log allows; got {name!r}: {why}", "Use --arrivals auto."
            )
        if robots not in (None, self.robots):
            raise InputError.at(
                "robots", f"robots of {name} arrivals must be the {self.robots} that the log names; got {robots}"
            )
        return _arrivals(name, self.models[name])

    def redrawn(self, robots: int, rng: np.random.Generator) -> ControlledArrivals:
        """The chosen rival fitted again, for a few steps, to gaps that are resampled in blocks."""
        assert self.data is not None
        assert robots == self.robots
        models = self.models[self.kind]
        if self.kind == "marked":
            drawn = [self.data.marked()]
        else:
            drawn = [self.data.own_gaps(robot) for robot in range(self.robots)]
        settings = replace(AGAIN, by_phase=self.kind == "marked")
        again = []
        for model, data in zip(models, drawn, strict=True):
            resampled = bootstrap.resampled(data, bootstrap.block_length(data), rng)
            # The rate of a robot is that of its model times what the resampled gaps say of it.
            found = model.refit(resampled, settings).model
            again.append(found.slowed(model.mean_gap / data.mean_gap * resampled.mean_gap / found.mean_gap))
        return _arrivals(self.kind, tuple(again))

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {
            "robots": self.robots,
            "kind": self.kind,
            "held_out": dict(self.held_out),
            "gains": {name: {"value": gain, "error": error} for name, (gain, error) in self.gains.items()},
            "refused": dict(self.refused),
            "words": list(self.words),
        }


def _arrivals(kind: str, models: tuple[GapModel, ...]) -> ControlledArrivals:
    if kind == "independent":
        return IndependentRobots(tuple(model.bmap() for model in models))
    stream = models[0]
    D = replace(stream, q=stream.q / stream.q.sum(axis=1, keepdims=True)).bmap().D
    return MarkedStream(D[0], [[own] for own in D[1:]])


def refused_named(words: str) -> NamedRobots:
    """No model of the named robots, and why."""
    return NamedRobots(None, {}, {}, {"marked": words, "independent": words}, {})


def learn_named(log: RawLog, cleaning: Cleaning, stream: GapModel, *, steady: bool) -> NamedRobots | None:
    """Fit the rivals and compare them; None where the log does not name two robots.

    Parameters
    ----------
    log, cleaning
        What was read, and which stretches are used.
    stream : GapModel
        The chosen model of the gaps, in seconds.
    steady : bool
        Whether the rate of all robots together holds over the log.

    Notes
    -----
    Cost: two fits for each robot, and three of the stream with marks: some seconds.
    """
    found = deliveries_of(log, cleaning)
    if found is None:
        return None
    if isinstance(found, str):
        return refused_named(found)
    if not steady:
        return refused_named("the rate or the number of robots changes over the log, for all robots together")
    return compared(found.sample(), stream)


def compared(data: Deliveries, stream: GapModel) -> NamedRobots:
    """The rivals fitted to the deliveries and compared on blocks left out."""
    unit = float(data.marked().gaps.mean())
    scaled = data.scaled(1 / unit)
    train, held = scaled.split()
    gaps, left = train.marked(), held.marked()
    base = stream.slowed(1 / unit).without_batches().refit(gaps, EM).model
    pooled = base.with_batch_sizes(gaps.batch_shares)
    scores = {"pooled": pooled.scores(left)}
    refused: dict[str, str] = {}
    models: dict[str, tuple[GapModel, ...]] = {}
    by_phase = replace(EM, by_phase=True)
    marked = _marked(pooled, gaps, data.robots)
    scores["marked"] = marked.scores(left)
    models["marked"] = (_at_rate(marked.refit(scaled.marked(), by_phase).model, unit, 1 / unit),)
    try:
        own = [_own_model(train.own_gaps(robot), robot, data.robots) for robot in range(data.robots)]
        # The gaps over the borders of the blocks are missing, the long ones more often: the rate is counted instead.
        steady = [_at_rate(model, 1.0, train.rate(robot)) for robot, model in enumerate(own)]
        scores["independent"] = independent_scores(steady, held)
        final = [model.refit(scaled.own_gaps(robot), EM).model for robot, model in enumerate(own)]
        models["independent"] = tuple(_at_rate(one, unit, data.rate(robot)) for robot, one in enumerate(final))
    except CrawltwinError as error:
        refused["independent"] = str(error)
    held_out = {name: float(found.mean()) - math.log(unit) for name, found in scores.items()}
    gains = {name: _gain(found - scores["pooled"]) for name, found in scores.items() if name != "pooled"}
    return NamedRobots(data, held_out, gains, refused, models)


def _at_rate(model: GapModel, unit: float, rate: float) -> GapModel:
    """The model, fitted in units of so many seconds, in seconds and with so many deliveries per second."""
    slow = model.slowed(unit)
    return slow.slowed(1 / (rate * slow.mean_gap))


def _gain(apart: Float) -> tuple[float, float]:
    """Mean of the differences of the scores, and its standard error."""
    parts = np.array([part.mean() for part in np.array_split(apart, PARTS)])
    return float(apart.mean()), float(parts.std(ddof=1) / math.sqrt(PARTS))


def _marked(pooled: GapModel, gaps: Segments, robots: int) -> GapModel:
    """The better of two streams with a law of the robot for each state, see this file's head."""
    by_phase = replace(EM, by_phase=True)
    fits = [start.refit(gaps, by_phase).model for start in (pooled, _by_marks(gaps, robots)) if start.states > 1]

    def bic(model: GapModel) -> float:
        numbers = model.structure.parameters + model.states * (robots - 1)
        return numbers * math.log(len(gaps)) - 2 * model.log_likelihood(gaps)

    return min(fits, key=bic)


def _by_marks(gaps: Segments, robots: int) -> GeneralMap:
    """Two phases of an MMPP, told apart by the shares of the robots in windows."""
    window = np.arange(len(gaps)) // WINDOW
    counts = np.zeros((int(window[-1]) + 1, robots))
    np.add.at(counts, (window, gaps.sizes - 1), 1.0)
    apart = counts / counts.sum(axis=1, keepdims=True)
    apart = apart - apart.mean(axis=0)
    side = apart @ np.linalg.svd(apart, full_matrices=False)[2][0] > 0
    high = side[window]
    q, rate = np.empty((2, robots)), np.empty(2)
    for row, here in enumerate((~high, high)):
        here = here if here.any() else np.ones_like(here)
        q[row] = np.bincount(gaps.sizes[here] - 1, minlength=robots) + 1.0
        rate[row] = 1 / gaps.gaps[here].mean()
    change = float(rate.mean()) / (2 * WINDOW)
    D0 = np.array([[-rate[0] - change, change], [change, -rate[1] - change]])
    return GeneralMap(D0, np.diag(rate), q=q / q.sum(axis=1, keepdims=True), family="mmpp2")


def _own_model(gaps: Segments, robot: int, robots: int) -> GapModel:
    """The process of one robot, of few enough phases for so many robots."""
    unit = float(gaps.gaps.mean())
    found, failed = candidates.fit_candidates(gaps.scaled(1 / unit), OWN)
    if not found:
        raise InputError(f"the gaps of robot {robot + 1} must be fitted by a model; got none: {'; '.join(failed)}")
    allowed = int(JOINT_PHASES ** (1 / robots) + 1e-9)
    best = candidates.choose(found, "bic", OWN.max_phases)
    small = [one for one in found if one.order <= allowed and one.right_mean]
    if not small or (allowed == 1 and best.order > 1):
        raise InputError(
            f"the phases of {robots} independent robots must be at most {JOINT_PHASES} together, {allowed} for each; "
            f"got {best.order} for robot {robot + 1}"
        )
    return candidates.choose(small, "bic", allowed).model.slowed(unit)


def independent_scores(robots: list[GapModel], data: Deliveries) -> Float:
    """Log-likelihood of each delivery, and of its robot, given all before it, for independent robots."""
    gaps, openers = data.marked(), data.openers()
    total = np.zeros(len(gaps))
    for number, model in enumerate(robots):
        process = model.bmap()
        D0, D1 = (np.array(block, dtype=np.float64) for block in process.D[:2])
        after, arbitrary = GeneralMap(D0, D1).start, np.asarray(process.phase_distribution)
        entering = np.where((openers == number)[:, None], after, arbitrary)
        own = (gaps.sizes == number + 1).astype(np.int64)
        trace = MarkedGaps(gaps.gaps, gaps.log_gaps, own, gaps.first)
        law = uniformisation.Phases(after, D0, D1, np.ones((after.size, 1)))
        total += uniformisation.watched(trace, law, np.ascontiguousarray(entering))
    return total
