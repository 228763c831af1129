"""MAPs of order two: the paper's measured crawler, and processes drawn at random."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crawltwin.model import BMAP, InputError
from fitting.choose.service import from_moments as ph_from_moments
from fitting.models.map2 import (
    decay_bounds,
    decay_of,
    diamond_alfa,
    from_lag1,
    from_moments,
    lag1_bounds,
    third_moment_bounds,
)

PRINTED = (0.622, 0.574, 0.555, 0.537, 0.523, 0.507)
MEAN, VARIANCE = 212.03, 51352.38


def test_the_papers_decay_is_its_correlations_slope():
    """Its matrices have the decay 0.9626 (an eigenvalue of their jump chain); least squares gives the same."""
    D0, A = np.diag([0.0038, 0.0066]), np.array([[0.0037, 6.58e-5], [1.3e-4, 0.0064]])
    jump = np.linalg.solve(D0, A)
    jump /= jump.sum(axis=1, keepdims=True)
    assert decay_of(PRINTED) == pytest.approx(np.trace(jump) - 1, abs=5e-4)


def test_the_papers_map_up_to_its_rounding():
    """Some third moment gives every printed entry to the digits printed."""
    low, _ = third_moment_bounds(MEAN, VARIANCE / MEAN**2)
    found = []
    for excess in np.geomspace(0.03, 0.1, 400):
        fitted = diamond_alfa(MEAN, VARIANCE, PRINTED, third=low * (1 + excess))
        rates, A = -np.diag(fitted.D0), fitted.D1
        if (
            np.allclose(rates, [0.0038, 0.0066], rtol=0, atol=5e-5)
            and np.allclose(np.diag(A), [0.0037, 0.0064], rtol=0, atol=1e-4)
            and abs(A[0, 1] - 6.58e-5) < 2e-6
            and abs(A[1, 0] - 1.3e-4) < 5e-6
        ):
            found.append(fitted)
    assert found
    process = found[0].bmap()
    assert process.interval_moment(1) == pytest.approx(MEAN, rel=1e-9)
    assert process.interval_variance == pytest.approx(VARIANCE, rel=1e-8)


def test_the_printed_correlations_belong_to_no_map2():
    verdict = diamond_alfa(MEAN, VARIANCE, PRINTED).verdict
    assert not verdict.feasible
    assert "lag-1 correlation must be below (c2 - 1)/(2 c2) = 0.0623, " in str(verdict)
    assert "got 0.622" in str(verdict)
    # One tenth of the printed values is possible.
    assert diamond_alfa(MEAN, VARIANCE, [rho / 10 for rho in PRINTED]).verdict.feasible
    assert diamond_alfa(MEAN, VARIANCE, [rho / 9.9 for rho in PRINTED]).verdict.broken


def test_the_papers_content_sizes():
    law = ph_from_moments(49207.0356, 2.0527e11, 2.5773e18).distribution
    assert law.order == 2
    for k, wanted in enumerate((49207.0356, 2.0527e11, 2.5773e18), start=1):
        assert law.moment(k) == pytest.approx(wanted, rel=1e-9)
    scaled = law.scaled(49207.0356 / 8.2)
    slow = int(np.argmin(-np.diag(scaled.subgenerator)))
    # The paper truncates: 0.0057 and 0.0014; its fast rate 0.2409 follows from those two and the mean 8.2.
    weight = np.floor(scaled.initial[slow] * 1e4) / 1e4
    rate = np.floor(-scaled.subgenerator[slow, slow] * 1e4) / 1e4
    assert weight == pytest.approx(0.0057)
    assert rate == pytest.approx(0.0014)
    assert (1 - weight) / (scaled.mean - weight / rate) == pytest.approx(0.2409, abs=1.5e-4)


RATES = st.floats(0.01, 10.0)


@st.composite
def processes(draw):
    D0 = np.array([[0.0, draw(RATES)], [draw(RATES), 0.0]])
    D1 = np.array([[draw(RATES), draw(RATES)], [draw(RATES), draw(RATES)]])
    zero = draw(st.sampled_from([None, (0, 0), (0, 1), (1, 0), (1, 1)]))
    if zero is not None:
        D1[zero] = 0.0
    return D0 - np.diag(D0.sum(axis=1) + D1.sum(axis=1)), D1


@given(processes())
def test_every_map2_is_judged_feasible_and_found_again(matrices):
    """Four numbers are the whole process: from those of a random one, an equivalent one comes back."""
    process = BMAP(list(matrices))
    moments = [process.interval_moment(k) for k in (1, 2, 3)]
    scv = moments[1] / moments[0] ** 2 - 1
    assume(abs(scv - 1) > 1e-4)
    decay = float(np.trace(np.linalg.solve(-matrices[0], matrices[1])) - 1)
    fitted = from_moments(moments[0], scv, decay, moments[2], lag1=process.correlation(1))
    assert fitted.verdict.feasible, str(fitted.verdict)
    again = fitted.bmap()
    for k in (1, 2, 3):
        assert again.interval_moment(k) == pytest.approx(moments[k - 1], rel=1e-6)
    for lag in (1, 2, 5):
        assert again.correlation(lag) == pytest.approx(process.correlation(lag), abs=1e-8)
        assert process.correlation(lag) == pytest.approx(decay**lag * (scv - 1) / (2 * scv), abs=1e-9)


@given(st.floats(0.55, 20.0), st.floats(0.0, 1.0), st.floats(-1.2, 1.2))
def test_whatever_is_asked_the_answer_is_a_process_with_the_mean_and_scv(scv, place, decay):
    assume(abs(scv - 1) > 1e-3)
    low, high = third_moment_bounds(1.0, scv)
    third = low + (place if np.isfinite(high) else 10 * place + 1e-3) * (min(high, 2 * low) - low)
    fitted = from_moments(1.0, scv, decay, third)
    process = fitted.bmap()
    assert process.interval_moment(1) == pytest.approx(1.0, rel=1e-6)
    assert process.interval_variance == pytest.approx(scv, rel=1e-5)
    bounds = decay_bounds(1.0, scv, fitted.verdict.nearest["third_moment"])
    assert bounds[0] - 1e-9 <= fitted.verdict.nearest["decay"] <= bounds[1]
    inside = bounds[0] < decay < bounds[1]
    assert fitted.verdict.feasible == (inside and not any("third" in words for words in fitted.verdict.broken))


def test_bounds_are_named():
    assert "squared coefficient of variation must be at least 1/2; got 0.2" in str(from_moments(1, 0.2, 0.0).verdict)
    assert "third moment must be above" in str(from_moments(1, 1.2, 0.0, 1.0).verdict)
    assert "third moment must be in [" in str(from_moments(1, 0.8, 0.0, 50.0).verdict)
    assert "decay of the correlations must be at least" in str(from_moments(1, 3.0, 1.5).verdict)
    assert from_moments(1, 3.0, 1.5).verdict.nearest["decay"] < 1
    with pytest.raises(InputError, match="mean must be positive and finite; got -1"):
        from_moments(-1, 1.0, 0.0)
    low, high = lag1_bounds(3.0)
    assert high == pytest.approx(1 / 3)
    assert low < 0


def test_closed_form_from_the_lag1_correlation():
    fitted = from_lag1(2.0, 4.0, 6 * 8 * 12.0, 0.2)
    process = fitted.bmap()
    assert fitted.verdict.feasible
    assert process.correlation(1) == pytest.approx(0.2, abs=1e-9)
    assert process.interval_moment(3) == pytest.approx(576.0, rel=1e-6)
