r"""Slow spells of a site, found from the durations of fetches in the order of their ends.

A hidden Markov chain of two spells over short bins of time. In the normal spell a duration is a mixture of exponentials
with weights :math:`w_k` and means :math:`m_k`; in the slow one all means are c times as long. EM in its usual form:
forward and backward over the bins, then closed forms for the weights, the means and the two rates of change, and for c
given the means (a conditional maximisation, so the likelihood still never falls). Whether there are spells at all is
decided by BIC against the same mixture without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crawltwin.live.record import Float
from crawltwin.model import PhaseType, hyperexponential
from crawltwin.model.arrivals.spells import Spells

STEPS = 200
TOLERANCE = 1e-6
STARTS = (1.5, 2.5, 4.0)
"""Slowness from which EM starts; the best end is kept."""


@dataclass(frozen=True)
class SpellFit:
    """Fetch times in the normal spell, and the slow spells where they are found.

    Attributes
    ----------
    weights, means : arrays
        The mixture of the normal spell.
    slowness : float
        How many times longer fetches take in a slow spell.
    change : (float, float)
        Probabilities per bin of normal to slow and of slow to normal.
    likelihood : float
    """

    weights: Float
    means: Float
    slowness: float
    change: tuple[float, float]
    likelihood: float

    @property
    def law(self) -> PhaseType:
        """Time of a fetch in the normal spell."""
        shares = [*self.weights[:-1].tolist(), 1 - float(self.weights[:-1].sum())]
        return hyperexponential(shares, (1 / self.means).tolist())

    def spells(self, width: float) -> Spells:
        """The spells, for bins of `width` seconds."""
        to, back = (-np.log1p(-min(share, 0.99)) / width for share in self.change)
        return Spells([[-to, to], [back, -back]], [1.0, 1 / self.slowness])


def find_spells(ends: Float, durations: Float, width: float = 0.5) -> tuple[SpellFit, SpellFit | None]:
    """The mixture without spells, and the fit with spells where BIC prefers it.

    Parameters
    ----------
    ends, durations : arrays
        When each fetch ended, in order, and how long it took.
    width : float
        Length of a bin in seconds; a spell should last several.
    """
    bins = np.floor((ends - ends[0]) / width).astype(np.int64)
    order = np.sort(durations)
    half = order.size // 2
    start = SpellFit(
        np.array([0.5, 0.5]), np.array([order[:half].mean(), order[half:].mean()]), 1.0, (0.05, 0.2), -np.inf
    )
    plain = _run(start, bins, durations, spells=False)
    best = max(
        (_run(replace(plain, slowness=slow, change=(0.05, 0.2)), bins, durations, spells=True) for slow in STARTS),
        key=lambda fit: fit.likelihood,
    )
    penalty = 3 / 2 * np.log(durations.size)
    found = best.likelihood - plain.likelihood > penalty and best.slowness > 1.1 and max(best.change) < 0.9
    return plain, best if found else None


def _run(fit: SpellFit, bins: np.ndarray, x: Float, spells: bool) -> SpellFit:
    before = -np.inf
    for _ in range(STEPS):
        fit, likelihood = _step(fit, bins, x, spells)
        if likelihood - before < TOLERANCE * x.size:
            break
        before = likelihood
    return replace(fit, likelihood=likelihood)


def _step(fit: SpellFit, bins: np.ndarray, x: Float, spells: bool) -> tuple[SpellFit, float]:
    factors = np.array([1.0, fit.slowness if spells else 1.0])
    scale = factors[:, None] * fit.means
    dense = fit.weights / scale * np.exp(-x[:, None, None] / scale)
    both = dense.sum(axis=2)
    if spells:
        share, likelihood, change = _smoothed(np.log(np.maximum(both, 1e-300)), bins, fit.change)
    else:
        share, likelihood, change = np.eye(2)[np.zeros(x.size, dtype=int)], float(np.log(both[:, 0]).sum()), fit.change
    part = share[:, :, None] * dense / np.maximum(both, 1e-300)[:, :, None]
    count = np.maximum(part.sum(axis=(0, 1)), 1e-9)
    means = np.maximum((part * (x[:, None, None] / factors[:, None])).sum(axis=(0, 1)) / count, 1e-9)
    slow = part[:, 1]
    slowness = float((slow * x[:, None] / means).sum() / max(float(slow.sum()), 1e-9)) if spells else 1.0
    return SpellFit(count / count.sum(), means, max(slowness, 1.0), change, likelihood), likelihood


def _smoothed(logs: Float, bins: np.ndarray, change: tuple[float, float]) -> tuple[Float, float, tuple[float, float]]:
    """Posterior of the spell at each duration, the log-likelihood, and the new probabilities of change."""
    count = int(bins[-1]) + 1
    total = np.stack([np.bincount(bins, logs[:, spell], minlength=count) for spell in (0, 1)], axis=1)
    top = total.max(axis=1)
    emit = np.exp(total - top[:, None])
    step = np.array([[1 - change[0], change[0]], [change[1], 1 - change[1]]])
    now = np.array([change[1], change[0]]) / sum(change)
    forward, scale = np.empty((count, 2)), np.empty(count)
    for t in range(count):
        now = (now @ step if t else now) * emit[t]
        scale[t] = now.sum()
        forward[t] = now = now / scale[t]
    backward = np.ones((count, 2))
    for t in range(count - 2, -1, -1):
        backward[t] = step @ (emit[t + 1] * backward[t + 1]) / scale[t + 1]
    smooth = forward * backward
    moves = step * (forward[:-1].T @ (emit[1:] * backward[1:] / scale[1:, None]))
    new = (moves[0, 1] / moves[0].sum(), moves[1, 0] / moves[1].sum())
    likelihood = float(np.log(scale).sum() + top.sum())
    return smooth[bins], likelihood, (float(np.clip(new[0], 1e-4, 0.95)), float(np.clip(new[1], 1e-4, 0.95)))
