"""Ages of the pages in the system, against sojourn times found without them."""

import numpy as np
import pytest

from analytic import solve
from analytic.chain.primitives import Chain
from analytic.response.ages import AgeMoments
from analytic.response.poisson_equation import Deviation
from crawltwin.model import ThresholdPolicy, examples

CASES = [
    (name, admission)
    for name in ("mm1k", "paper", "thinned", "independent", "measured")
    for admission in ("partial", "all-or-nothing", "overflow")
]


@pytest.mark.parametrize(("name", "admission"), CASES)
def test_ages_at_departure_are_sojourn_times(name, admission):
    """Pages in service leave served with their age, waiting ones obsolete: moments one and two of both sojourn laws."""
    scenario = examples.load(name)
    known = scenario.arrivals.robot_numbers
    scenario = scenario.replace(capacity=6, admission=admission, policy=ThresholdPolicy([known[-1], known[0]], [2]))
    chain = Chain.of(scenario)
    ages = AgeMoments.of(Deviation.of(chain))
    solution = solve(scenario)
    pages = solution.measures["arrival_rate"]
    served = pages * solution.measures["success_probability"]
    obsolete = pages * solution.measures["obsolescence_probability"]
    leave = np.tile(chain.service.exit_rates, chain.arrival_phases)
    rate = float(chain.Gamma0[0])
    assert (ages.first[0] @ leave).sum() == pytest.approx(served * solution.sojourn.moment(1, "served"), rel=1e-10)
    assert (ages.second[0][0] @ leave).sum() == pytest.approx(served * solution.sojourn.moment(2, "served"), rel=1e-10)
    for k, expected in ((1, solution.sojourn.moment(1, "obsolete")), (2, solution.sojourn.moment(2, "obsolete"))):
        waiting = range(1, chain.top)
        own = sum(ages.first[j].sum() if k == 1 else ages.second[j][j].sum() for j in waiting)
        assert rate * own == pytest.approx(obsolete * expected, rel=1e-10)


def test_the_older_page_is_the_one_ahead():
    ages = AgeMoments.of(Deviation.of(Chain.of(examples.load("paper"))))
    for k in range(1, 5):
        for j in range(k):
            assert (ages.first[j][k - j :] >= ages.first[k] * (1 - 1e-12)).all()
            # E[A_j A_k] lies between E[A_k^2] and E[A_j^2], for A_j >= A_k.
            assert (ages.second[k][j] >= ages.second[k][k] * (1 - 1e-12)).all()
