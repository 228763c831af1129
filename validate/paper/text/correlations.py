r"""The lag correlations printed for the measured trace: no MAP of order two can have them.

For any MAP of order two, with M = (-D_0)^{-1} and P = M D_1 the phase chain between arrivals, P is a stochastic 2 x 2
matrix, so P^k = e pi + gamma^k (I - e pi), with gamma <= 1 its second eigenvalue. Then

.. math:: E[X_0 X_k] = \pi M P^k M e = (\pi M e)^2 + \gamma^k \left(\pi M^2 e - (\pi M e)^2\right)
          = m_1^2 + \gamma^k (m_2/2 - m_1^2),

and with c^2 the squared coefficient of variation :math:`\rho_k = \gamma^k (c^2 - 1)/(2 c^2)`. For c^2 > 1 no lag
correlation exceeds :math:`(c^2-1)/(2c^2)`, whatever the third moment.
"""

from __future__ import annotations

import numpy as np

from crawltwin.model import BMAP
from validate.paper.judging.finding import Finding, TextPlace
from validate.paper.printed.source import paper
from validate.paper.tables.measured import from_A


def bound() -> float:
    """The largest lag correlation of a MAP of order two with the printed mean and variance of the gaps."""
    given = paper()["measured"]
    scv = float(given["gap_variance"]) / float(given["gap_mean"]) ** 2
    return (scv - 1) / (2 * scv)


def fitted() -> BMAP:
    """The printed MAP of batches, D_0 from the rows of A."""
    A = np.array(from_A().A)
    return BMAP([np.diag(-A.sum(axis=1)), A])


def nearest_power() -> int:
    """The power of ten that brings the printed correlations nearest to those of the printed MAP, as a divisor."""
    printed = np.array([float(text) for text in paper()["measured"]["gap_correlations"]])
    ours = np.array([fitted().correlation(lag) for lag in range(1, len(printed) + 1)])
    return min(range(-3, 4), key=lambda power: float(np.abs(np.log(printed / 10.0**power / ours)).max()))


def findings() -> tuple[Finding, ...]:
    """One finding per lag."""
    limit, mode, power = bound(), fitted(), nearest_power()
    given = paper()["measured"]
    results = []
    for lag, text in enumerate(given["gap_correlations"], start=1):
        ours, moved = mode.correlation(lag), float(text) / 10.0**power
        impossible = float(text) > limit
        words = (
            f"With the printed mean {given['gap_mean']} and variance {given['gap_variance']} no MAP of order two has a "
            f"lag correlation above {limit:.4f}, since rho_k = gamma^k (c2 - 1)/(2 c2); so the MAP fitted to this "
            f"trace cannot have {text}. It has {ours:.4f}. Divided by {10**power} the print is {moved:.4f}: within the "
            f"bound, and within {100 * abs(moved / ours - 1):.0f}% of the printed MAP. The trace itself is not "
            "published."
        )
        results.append(
            Finding(
                TextPlace("section 7, measured data", f"correlation of gaps at lag {lag}"),
                text,
                f"{ours:.4f}",
                "misprint" if impossible and power and moved < limit else "not reproducible",
                "decimal point" if power else "unexplained",
                words,
                ours,
            )
        )
    return tuple(results)
