"""Gaps between batches are no pauses, however much longer than those inside a batch; and the fit drawn again."""

import numpy as np

from crawltwin.plan import demo_trace
from fitting import FitOptions, fit
from fitting.cleaning import auto_limit
from fitting.refit import Resampler


def test_long_gaps_between_batches_are_kept_and_a_stop_is_cut():
    rng = np.random.default_rng(5)
    inside, between = rng.uniform(0.004, 0.006, 7000), rng.exponential(60.0, 3000) + 1.0
    gaps = np.concatenate([inside, between, [200_000.0]])
    limit = auto_limit(gaps)
    assert between.max() < limit < 200_000


def test_few_gaps_beyond_a_jump_are_pauses():
    rng = np.random.default_rng(6)
    gaps = np.concatenate([rng.uniform(1.0, 3.0, 300), [7200.0, 9000.0]])
    assert 3.0 < auto_limit(gaps) < 7200


def test_redrawn_models_scatter_around_the_fit(tmp_path):
    path = tmp_path / "demo.crawl.log"
    path.write_text(demo_trace.demo_log(1, 8000))
    result = fit(path, options=FitOptions(methods=("erlang",), max_branches=2, repetitions=20, refits=0))
    resampler = Resampler.of(result)
    draws = [resampler.draw(np.random.default_rng([7, k])) for k in range(12)]
    rates = np.array([process.page_rate for process, _ in draws])
    sizes = np.array([law.mean for _, law in draws])
    assert rates.min() < result.process.page_rate < rates.max()
    assert sizes.min() < result.sizes.distribution.mean < sizes.max()
    again, _ = resampler.draw(np.random.default_rng([7, 0]))
    assert again == draws[0][0]
