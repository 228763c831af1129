"""Sojourn times with several indexers, hysteresis, polling and fetching robots: every moment, tail and quantile."""

from __future__ import annotations

import pytest

from analytic import solve
from tests.oracle.tagged_crawler import TaggedCrawler
from tests.random_crawlers import random_crawler


@pytest.mark.parametrize(("seed", "clock"), [(seed, 1 + seed % 2) for seed in range(24)])
def test_sojourn_times(seed, clock):
    scenario = random_crawler(seed, capacity=4, clock=clock)
    truth = TaggedCrawler.of(scenario)
    for method in ("auto", "direct", *(("matrix-free",) if clock > 1 else ())):
        solution = solve(scenario, method)
        law = solution.sojourn
        for fate in ("served", "obsolete", "all"):
            assert law.probability(fate) == pytest.approx(truth.probability(fate), rel=1e-9, abs=1e-12), fate
            if truth.probability(fate) < 1e-12:
                assert law.moment(1, fate) is None
                continue
            for k in (1, 2):
                assert law.moment(k, fate) == pytest.approx(truth.moment(k, fate), rel=1e-8), (method, fate, k)
            for x in (0.3, 1.5):
                assert float(law.survival(x, fate)) == pytest.approx(truth.survival(x, fate), rel=1e-8), (method, fate)
            # Among all pages the lost ones have sojourn time 0, so a quantile may be 0.
            if truth.survival(0.0, fate) > 0.5:
                assert truth.survival(law.quantile(0.5, fate), fate) == pytest.approx(0.5, abs=1e-8)
        if solution.measures["mean_sojourn_obsolete"] is not None:
            assert solution.measures["mean_sojourn_obsolete"] == pytest.approx(truth.moment(1, "obsolete"), rel=1e-8)
