"""Sojourn times: transforms against moments, moments against quadrature, and known laws."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from analytic import solve
from crawltwin.model import BMAP, InputError, ModeMatrices, ThresholdPolicy, examples
from tests.random_models import random_scenario

FATES = ("served", "obsolete", "all")


@pytest.mark.parametrize("name", ["paper", "hyperexponential", "mm1k", "marked"])
@pytest.mark.parametrize("fate", FATES)
def test_moments_are_derivatives_of_the_transform(name, fate):
    law = solve(examples.load(name)).sojourn
    for order in (1, 2):
        # Derivative at 0 by Cauchy's integral over a circle of radius h: exact to rounding for an analytic function.
        h, points = 0.05, 32
        circle = [law.transform(h * np.exp(2j * math.pi * k / points), fate) for k in range(points)]
        phases = [np.exp(-2j * math.pi * order * k / points) for k in range(points)]
        derivative = math.factorial(order) * sum(v * w for v, w in zip(circle, phases, strict=True)) / points / h**order
        assert (-1) ** order * derivative.real == pytest.approx(law.moment(order, fate), rel=1e-7)


@pytest.mark.parametrize("name", ["paper", "hyperexponential"])
@pytest.mark.parametrize("fate", FATES)
def test_distribution_has_the_right_moments(name, fate):
    law = solve(examples.load(name)).sojourn
    for order in (1, 2):
        value, _ = integrate.quad(
            lambda x, k=order: k * x ** (k - 1) * float(law.survival(x, fate)),
            0,
            60,
            epsabs=1e-10,
            limit=200,
        )
        assert value == pytest.approx(law.moment(order, fate), rel=1e-6)


def test_equation_16_and_22():
    solution = solve(examples.load("paper"))
    law, measures = solution.sojourn, solution.measures
    for u in (0.0, 0.3, 2.0 + 1.0j):
        parts = (
            law.transform(u, "served") * measures["success_probability"]
            + law.transform(u, "obsolete") * measures["obsolescence_probability"]
            + measures["loss_probability"]
        )
        assert law.transform(u, "all") == pytest.approx(parts, rel=1e-12)
    mean = (
        measures["mean_sojourn_served"] * measures["success_probability"]
        + measures["mean_sojourn_obsolete"] * measures["obsolescence_probability"]
    )
    assert measures["mean_sojourn"] == pytest.approx(mean, rel=1e-12)


def test_mm1k_sojourn_is_a_mixture_of_erlangs():
    # No obsolescence: an accepted page that finds i pages stays an Erlang(i + 1) time.
    rate, capacity = 0.8, 5
    scenario = examples.load("mm1k").replace(obsolescence=None)
    law = solve(scenario).sojourn
    weights = rate ** np.arange(capacity)
    weights /= weights.sum()
    for x in (0.0, 0.5, 3.0, 12.0):
        expected = sum(w * stats.gamma(i + 1).cdf(x) for i, w in enumerate(weights))
        assert float(law.cdf(x, "served")) == pytest.approx(expected, abs=1e-12)
    q = law.quantile(0.95, "served")
    assert sum(w * stats.gamma(i + 1).cdf(q) for i, w in enumerate(weights)) == pytest.approx(0.95, abs=1e-10)


def test_lost_pages_count_as_zero():
    solution = solve(examples.load("paper"))
    loss = solution.measures["loss_probability"]
    assert float(solution.sojourn.cdf(0.0, "all")) == pytest.approx(loss, rel=1e-12)
    assert solution.sojourn.quantile(loss / 2, "all") == 0
    assert float(solution.sojourn.cdf(-1.0, "served")) == 0


def test_single_batches_of_two_by_hand():
    # Empty system only (K = 2, rare pairs): the first page is served at once, the second waits for it or goes stale.
    scenario = examples.load("mm1k").replace(
        capacity=2, arrivals=ModeMatrices({1: BMAP.poisson(1e-9, [0.0, 1.0])}), policy=ThresholdPolicy([1])
    )
    law = solve(scenario).sojourn
    mu, theta = 1.0, 0.25
    served_second = mu / (mu + theta)
    assert law.probability("served") == pytest.approx((1 + served_second) / 2, rel=1e-7)
    mean = (1 / mu + served_second * (1 / (mu + theta) + 1 / mu)) / (1 + served_second)
    assert law.moment(1, "served") == pytest.approx(mean, rel=1e-7)
    assert law.moment(1, "obsolete") == pytest.approx(1 / (mu + theta), rel=1e-7)


def test_transform_against_the_papers_recursion():
    # Equations (20), (21) word for word in dense mpmath-free numpy, with B^_0 = S_0 beta (x) e_R, at K = 3.
    scenario = examples.load("hyperexponential").replace(capacity=3)
    solution = solve(scenario, method="direct")
    service, stale = scenario.service, scenario.obsolescence
    S, S0, beta = service.subgenerator, service.exit_rates, service.initial
    G, G0, R, M = stale.subgenerator, stale.exit_rates, stale.order, service.order
    u = 0.4

    def ksum(*blocks):
        total = blocks[0]
        for block in blocks[1:]:
            total = np.kron(total, np.eye(len(block))) + np.kron(np.eye(len(total)), block)
        return total

    def B(i):
        first = np.kron(np.kron(np.outer(S0, beta), np.ones((R, 1))), np.eye(R ** (i - 1)))
        return first + sum(np.kron(np.kron(np.eye(M * R**j), G0[:, None]), np.eye(R ** (i - 1 - j))) for j in range(i))

    B_hat = {0: np.kron(np.outer(S0, beta), np.ones((R, 1))), 1: np.kron(B(1), np.eye(R))}
    v = {0: np.linalg.solve(u * np.eye(M) - S, S0)}
    w = {0: np.zeros(M)}
    for i in (1, 2):
        A = ksum(S, *[G] * i)
        own = np.kron(np.ones(M * R ** (i - 1)), G0)
        v[i] = np.linalg.solve(u * np.eye(len(A)) - A, B_hat[i - 1] @ v[i - 1])
        w[i] = np.linalg.solve(u * np.eye(len(A)) - A, B_hat[i - 1] @ w[i - 1] + own)
    starts, at = solution.sojourn.tagged.start, 0
    served = obsolete = 0.0
    for i in (0, 1, 2):
        part = starts[at : at + M * R**i]
        served, obsolete, at = served + part @ v[i], obsolete + part @ w[i], at + M * R**i
    assert solution.sojourn.transform(u, "served").real == pytest.approx(
        served / solution.measures["success_probability"], rel=1e-11
    )
    assert solution.sojourn.transform(u, "obsolete").real == pytest.approx(
        obsolete / solution.measures["obsolescence_probability"], rel=1e-11
    )


@pytest.mark.parametrize("seed", range(4))
def test_distribution_by_numerical_inversion_of_the_transform(seed):
    # An independent road to the distribution function: mpmath's inversion of v(u)/u.
    law = solve(random_scenario(seed, max_capacity=3)).sojourn
    t = law.moment(1, "served")
    inverted = mpmath.invertlaplace(lambda u: law.transform(complex(u), "served") / u, t, method="talbot", degree=16)
    assert float(inverted) == pytest.approx(float(law.cdf(t, "served")), abs=2e-6)


def test_wrong_questions_are_refused():
    law = solve(examples.load("mm1k")).sojourn
    for call in (lambda: law.moment(0), lambda: law.quantile(1.0), lambda: law.moment(1, "lost")):
        with pytest.raises(InputError):
            call()
