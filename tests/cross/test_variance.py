"""The chain plans the simulation: its variances against the scatter of simulated runs."""

import numpy as np
import pytest
from scipy.stats import t as student

from analytic import asymptotic_variance
from crawltwin.model import examples
from simulate import simulate


@pytest.mark.parametrize(
    ("name", "time"), [pytest.param("measured", 1e6, marks=pytest.mark.slow), ("paper", 1000.0), ("mm1k", 1500.0)]
)
def test_variances_are_those_of_simulated_runs(name, time):
    scenario = examples.load(name)
    runs, warmup = 600, 0.02 * time
    result = simulate(scenario, time=time, replications=runs, seed=12, warmup=warmup, quantiles=(0.5,), workers=1)
    planned = asymptotic_variance(scenario)
    assert planned.approximate == frozenset()
    for measure, expected in planned.variances.items():
        if expected:
            interval = result[measure]
            error = (interval.high - interval.low) / 2 / student.ppf(0.975, runs - 1)
            # A variance over n runs scatters by sqrt(2/n), more where the runs are skewed; four of these.
            measured = error**2 * runs * (time - warmup)
            assert measured == pytest.approx(expected, rel=4 * np.sqrt(2 / runs)), measure
