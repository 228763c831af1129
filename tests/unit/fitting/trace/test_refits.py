"""A model that is fitted again to resampled traces scatters as the traces do."""

from __future__ import annotations

import numpy as np
import pytest

from crawltwin.model import hyperexponential
from fitting import FitOptions, RawLog, fit
from fitting.choose.refit import Resampler, at_latest_rate
from fitting.models.em import EmSettings
from fitting.models.erlang_map import ErlangMap
from fitting.trace import bootstrap
from fitting.trace.segments import Segments

FEW = EmSettings(steps=20, tolerance=1e-5)
LAW = hyperexponential([0.9, 0.1], [1.9, 0.19])
BRANCHES = ErlangMap(np.ones(2), np.array([1.9, 0.19]), np.tile([0.9, 0.1], (2, 1)), family="erlang")


def trace(gaps: int = 1500) -> Segments:
    return Segments.of(LAW.sample(np.random.default_rng(5), gaps))


def test_a_renewal_process_stays_one_and_keeps_the_mean_of_the_trace():
    data = bootstrap.resampled(trace(), 1.0, np.random.default_rng(0))
    found = ErlangMap.renewal(LAW).refit(data, FEW).model
    assert np.ptp(found.P, axis=0).max() == 0
    assert found.correlations(1)[0] == pytest.approx(0, abs=1e-12)
    assert found.mean_gap == pytest.approx(data.gaps.mean(), rel=1e-9)


def test_rates_of_refits_scatter_as_the_mean_of_uncorrelated_gaps_does():
    data = trace()
    assert bootstrap.block_length(data) < 3  # the gaps do not know one another
    rates = [
        BRANCHES.refit(bootstrap.resampled(data, 1.0, np.random.default_rng([1, k])), FEW).model.mean_gap
        for k in range(30)
    ]
    theory = np.sqrt(data.gaps.var() / len(data)) / data.gaps.mean()
    # 30 draws know their deviation to 13%; hidden states add a little to that of the mean.
    assert 0.6 < np.std(np.log(rates)) / theory < 2


def test_the_latest_rate_is_known_from_the_last_part_alone():
    drawn = np.random.default_rng(3)
    gaps = np.concatenate([drawn.exponential(2.0, 3000), drawn.exponential(0.5, 300)])
    log = RawLog.of_times(np.rint(np.cumsum(gaps) * 1e9).astype(np.int64))
    found = at_latest_rate(fit(log, options=FitOptions(methods=("poisson",), repetitions=100, refits=0)))
    assert found.stationarity.changed and found.stationarity.latest > 3
    resampler = Resampler.of(found)
    assert resampler.latest == pytest.approx(300, abs=60)
    rates = [resampler.draw(np.random.default_rng([2, k]))[0].page_rate for k in range(60)]
    theory = 1 / np.sqrt(resampler.latest)
    assert np.std(np.log(rates)) == pytest.approx(theory, rel=0.35)
    rate = found.numbers["page_rate"]
    assert np.log(rate.high / rate.low) / (2 * 1.96) == pytest.approx(theory, rel=0.35)
