"""Phase types against closed forms, quadrature and sampling."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy import integrate, stats

from crawltwin.model import (
    InputError,
    PhaseType,
    coxian,
    deterministic_like,
    erlang,
    exponential,
    from_mean_and_scv,
    from_moments,
    from_three_moments,
    hyper_erlang,
    hyperexponential,
)
from tests.random_models import random_phase_type

PAPER_SERVICE = PhaseType([0.4, 0.6], [[-3, 1], [2, -3]])
PAPER_OBSOLESCENCE = PhaseType([0.3, 0.7], [[-0.6, 0.4], [0.1, -0.3]])


def test_paper_means():
    assert round(PAPER_SERVICE.mean, 3) == 0.657
    assert PAPER_OBSOLESCENCE.mean == pytest.approx(5, rel=1e-14)


@pytest.mark.parametrize("stages", [1, 2, 7])
def test_erlang_against_scipy(stages):
    law, known = erlang(stages, 3.0), stats.gamma(stages, scale=3.0 / stages)
    x = np.array([0.0, 0.1, 1.0, 3.0, 20.0])
    np.testing.assert_allclose(law.cdf(x), known.cdf(x), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(law.survival(x), known.sf(x), rtol=1e-10)
    np.testing.assert_allclose(law.pdf(x), known.pdf(x), rtol=1e-11, atol=1e-15)
    assert law.quantile(0.9) == pytest.approx(known.ppf(0.9), rel=1e-11)
    for k in range(1, 6):
        assert law.moment(k) == pytest.approx(known.moment(k), rel=1e-12)


def test_hyperexponential_in_closed_form():
    law = hyperexponential([0.25, 0.75], [0.5, 3.0])
    assert law.moment(3) == pytest.approx(6 * (0.25 / 0.5**3 + 0.75 / 3**3), rel=1e-14)
    u = 0.7 + 0.2j
    assert law.transform(u) == pytest.approx(0.25 * 0.5 / (u + 0.5) + 0.75 * 3 / (u + 3), rel=1e-14)
    assert law.variance == pytest.approx(law.moment(2) - law.mean**2)


def test_coxian_in_closed_form():
    law = coxian([2.0, 5.0], [0.3])
    assert law.mean == pytest.approx(1 / 2 + 0.3 / 5, rel=1e-14)
    u = 1.3
    assert law.transform(u) == pytest.approx(2 / (u + 2) * (0.7 + 0.3 * 5 / (u + 5)), rel=1e-14)


def test_hyper_erlang_is_a_mixture():
    law = hyper_erlang([0.2, 0.8], [3, 1], [1.0, 4.0])
    x = np.linspace(0, 10, 7)
    expected = 0.2 * stats.gamma(3).cdf(x) + 0.8 * stats.expon(scale=0.25).cdf(x)
    np.testing.assert_allclose(law.cdf(x), expected, atol=1e-13)


def test_deterministic_like_is_narrow():
    assert deterministic_like(2.0).scv == pytest.approx(1 / 20)
    assert deterministic_like(2.0, 50).mean == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(5))
def test_moments_and_transform_against_quadrature(seed):
    law = random_phase_type(np.random.default_rng(seed), 3)
    for k in (1, 2, 3):
        value, _ = integrate.quad(lambda x, k=k: k * x ** (k - 1) * float(law.survival(x)), 0, np.inf, epsabs=1e-12)
        assert law.moment(k) == pytest.approx(value, rel=1e-7)
    value, _ = integrate.quad(lambda x: math.exp(-0.8 * x) * float(law.pdf(x)), 0, np.inf, epsabs=1e-12)
    assert law.transform(0.8).real == pytest.approx(value, rel=1e-8)
    assert float(law.cdf(law.quantile(0.3))) == pytest.approx(0.3, abs=1e-11)


def test_many_points_agree_with_few():
    law = hyper_erlang([0.3, 0.7], [2, 3], [0.05, 20.0])
    x = np.linspace(0, 120, 50)
    np.testing.assert_allclose(law.survival(x), [float(law.survival(point)) for point in x], rtol=1e-10)
    np.testing.assert_allclose(law.pdf(x), [float(law.pdf(point)) for point in x], rtol=1e-9, atol=1e-14)


def test_sampling_has_the_right_law():
    law = hyper_erlang([0.3, 0.7], [2, 3], [0.5, 2.0])
    drawn = law.sample(np.random.default_rng(7), 40_000)
    assert stats.kstest(drawn, lambda x: law.cdf(x)).pvalue > 0.001


def test_scaling_is_a_change_of_the_time_unit():
    assert PAPER_SERVICE.scaled(3).mean == pytest.approx(PAPER_SERVICE.mean / 3)
    assert PAPER_SERVICE.scaled(3).scv == pytest.approx(PAPER_SERVICE.scv)


def test_papers_obsolescence_is_exponential():
    lumped = PAPER_OBSOLESCENCE.lumped()
    assert lumped.order == 1
    np.testing.assert_allclose(lumped.exit_rates, 0.2, rtol=1e-15)


def test_lumping_finds_the_blocks_of_a_split_phase():
    # Phase 1 of a Coxian chain split into two copies with the same behaviour: three phases that are really two.
    split = PhaseType([0.5, 0.3, 0.2], [[-2.0, 0.6, 0.4], [0.0, -5.0, 0.0], [0.0, 0.0, -5.0]])
    lumped = split.lumped()
    assert lumped.order == 2
    x = np.linspace(0, 4, 9)
    np.testing.assert_allclose(lumped.cdf(x), split.cdf(x), atol=1e-14)


def test_lumping_leaves_the_irreducible_alone():
    assert PAPER_SERVICE.lumped() is PAPER_SERVICE
    assert erlang(4, 1.0).lumped().order == 4
    nearly = PhaseType([0.5, 0.5], [[-1.0, 0.0], [0.0, -1.0 - 1e-6]])
    assert nearly.lumped().order == 2


@pytest.mark.parametrize("scv", [1 / 200, 0.05, 0.3, 0.5, 0.999, 1.0, 1.3, 86.03])
def test_two_moments_are_met(scv):
    law = from_mean_and_scv(2.5, scv)
    assert law.mean == pytest.approx(2.5, rel=1e-12)
    assert law.scv == pytest.approx(scv, rel=1e-10)


@pytest.mark.parametrize(
    "moments",
    [(1.0, 1.3, 1.95), (1.0, 1.5, 3.0), (2.0, 10.0, 120.0), (1.0, 1.2, 1.7), (49207.0356, 2.0527e11, 2.5773e18)],
)
def test_three_moments_are_met(moments):
    law = from_three_moments(*moments)
    for k, value in enumerate(moments, start=1):
        assert law.moment(k) == pytest.approx(value, rel=1e-9)


def test_papers_content_sizes_give_its_hyperexponential():
    law = from_three_moments(49207.0356, 2.0527e11, 2.5773e18)
    assert law.order == 2
    light, heavy = sorted(law.initial, reverse=True)
    # Printed: weights 0.0057 and 0.9943, rates 0.0014 and 0.2409 up to the processing rate, so their ratio is 172.07.
    assert round(float(heavy), 4) in (0.0057, 0.0058)
    assert round(float(light), 4) in (0.9942, 0.9943)
    rates = -np.diag(law.subgenerator)
    assert rates.max() / rates.min() == pytest.approx(0.2409 / 0.0014, rel=0.04)


def test_impossible_moments_name_the_broken_bound():
    with pytest.raises(InputError, match=r"m2 must be greater than m1\^2"):
        from_three_moments(1.0, 0.9, 3.0)
    with pytest.raises(InputError, match=r"m3 must be greater than m2\^2/m1"):
        from_three_moments(1.0, 2.0, 3.9)
    with pytest.raises(InputError, match="within reach of 200 phases"):
        from_three_moments(1.0, 1.0001, 1.0003)
    with pytest.raises(InputError, match="scv must be at least"):
        from_mean_and_scv(1.0, 1e-4)
    assert from_moments(2.0).scv == pytest.approx(1)
    assert from_moments(1.0, 3.0).moment(2) == pytest.approx(3.0)
    with pytest.raises(InputError, match="one, two or three"):
        from_moments(1.0, 2.0, 3.0, 4.0)


@pytest.mark.parametrize(
    ("initial", "subgenerator", "words"),
    [
        ([0.5, 0.4], [[-1, 0], [0, -1]], "initial must sum to 1"),
        ([1.5, -0.5], [[-1, 0], [0, -1]], "not negative"),
        ([1.0], [[-1, 0], [0, -1]], "as long as the subgenerator"),
        ([1.0, 0.0], [[-1, 0], [0, -1]], "no path leads to"),
        ([1.0], [[1.0]], "diagonal must be negative"),
        ([0.5, 0.5], [[-1, 2], [0, -1]], "must not sum to more than 0"),
        ([0.5, 0.5], [[-1, 1], [1, -1]], "never does"),
        ([0.5, 0.5], [[-1, -0.5], [0, -1]], "not negative"),
        ([0.5, 0.5], [[-1, 0]], "must be square"),
        ([0.5, 0.5], [[-1, 0], [0]], "square matrix"),
        ([float("nan"), 1], [[-1, 0], [0, -1]], "finite"),
        ([0.5, 0.5], [[-1, float("inf")], [0, -1]], "finite"),
        ("ab", [[-1]], "list of numbers"),
        ([], [[-1]], "non-empty"),
        ([True], [[-1]], "plain number"),
        ([1.0], [["x"]], "plain number"),
    ],
)
def test_wrong_phase_types_are_refused(initial, subgenerator, words):
    with pytest.raises(InputError, match=words):
        PhaseType(initial, subgenerator)


def test_all_faults_come_at_once():
    with pytest.raises(InputError) as caught:
        PhaseType([0.5, 0.4], [[1, 0], [0, -1]])
    assert len(caught.value.faults) == 2
    assert caught.value.faults[1].place == "subgenerator[0][0]"


def test_values_are_immutable_and_equal_by_content():
    given = np.array([[-3.0, 1.0], [2.0, -3.0]])
    law = PhaseType([0.4, 0.6], given)
    given[0, 0] = 99
    assert law == PAPER_SERVICE
    assert hash(law) == hash(PAPER_SERVICE)
    assert law != PAPER_OBSOLESCENCE
    assert law != "something else"
    with pytest.raises(ValueError, match="read-only"):
        law.subgenerator[0, 0] = 1
    again = pickle.loads(pickle.dumps(law))
    assert again == law
    assert not again.subgenerator.flags.writeable
    assert PhaseType([1.0], [[-2.0]]) == PhaseType([1.0], [[-2.0]])
    assert exponential(1.0) == PhaseType([1.0], [[-1.0]])


def test_rare_exits_are_exits():
    law = PhaseType([1.0], [[-1.0]])
    rare = PhaseType([1.0, 0.0], [[-1.0, 1.0 - 1e-9], [1.0, -1.0]])
    assert rare.mean == pytest.approx(2e9, rel=1e-6)
    assert law.mean == 1


def test_calls_outside_their_range_are_refused():
    for call in (
        lambda: PAPER_SERVICE.quantile(1.0),
        lambda: PAPER_SERVICE.moment(-1),
        lambda: PAPER_SERVICE.scaled(0),
    ):
        with pytest.raises(InputError):
            call()
    assert PAPER_SERVICE.quantile(0) == 0
    assert float(PAPER_SERVICE.pdf(-1.0)) == 0
    assert "2 phases" in repr(PAPER_SERVICE)
