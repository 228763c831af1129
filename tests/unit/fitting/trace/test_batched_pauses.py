"""Gaps between batches are no pauses, however much longer than those inside a batch; and the fit drawn again."""

import numpy as np
import pytest

from crawltwin.model import InputError
from crawltwin.plan import demo_trace
from fitting import FitOptions, fit
from fitting.choose.procedure import _check_rate
from fitting.choose.refit import Resampler
from fitting.trace.pauses import auto_limit


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


def test_no_page_is_lost_between_log_and_model(tmp_path):
    """One batch in fifty has 300 pages: most pages are in those, and the model brings all of them."""
    rng = np.random.default_rng(9)
    sizes = np.where(rng.random(1500) < 0.02, 300, 1)
    times = 1.46e9 + np.cumsum(rng.exponential(2.0, 1500))
    path = tmp_path / "batches"
    path.write_text("\n".join(f"{t:.3f}" for t in np.repeat(times, sizes)))
    result = fit(path, options=FitOptions(methods=("poisson", "renewal"), repetitions=20, refits=0))
    rate = sizes.sum() / (times[-1] - times[0])
    assert result.process.page_rate == pytest.approx(rate, rel=0.01)
    assert result.to_json()["chosen"]["rate_ratio"] == pytest.approx(1, abs=0.01)
    assert any("largest batch holds 300 pages" in words for words in result.warnings)


def test_a_rate_that_changes_for_good_is_taken_out_and_the_model_has_the_rate_of_the_log(tmp_path):
    """Branches that followed the change would settle elsewhere: 30 times slower after 600 of 1,200 gaps."""
    rng = np.random.default_rng(2)
    gaps = np.concatenate([rng.exponential(1.0, 600), rng.exponential(30.0, 600)])
    path = tmp_path / "step"
    path.write_text("\n".join(f"{1.46e9 + t:.3f}" for t in np.cumsum(gaps)))
    for methods in (("erlang",), FitOptions().methods):
        found = fit(path, options=FitOptions(methods=methods, max_branches=2, repetitions=20, refits=0))
        assert found.process.page_rate == pytest.approx(1 / gaps[1:].mean(), rel=0.01)
        assert any("the mean gap changes once" in words for words in found.warnings)
    # No model with another rate is let through, whatever brought it about.
    with pytest.raises(InputError, match="the model must bring as many pages per second as the log; got"):
        _check_rate(found.process.scaled(1.2), found.batches)
