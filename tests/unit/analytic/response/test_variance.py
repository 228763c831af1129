"""Asymptotic variances: closed forms, integrated autocovariances, counting processes, and a simulated chain."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm

from analytic import asymptotic_variance, solve
from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from analytic.response.poisson_equation import Deviation
from analytic.response.variances import FUNCTIONALS
from crawltwin.model import (
    BMAP,
    CostWeights,
    InputError,
    ModeMatrices,
    Scenario,
    ThresholdPolicy,
    examples,
)
from crawltwin.model.laws import families

PAGES, SERVED, LOST = (FUNCTIONALS.index(name) for name in ("pages", "served", "lost"))


def queue(rate, mean_service, capacity, **more):
    return Scenario(
        capacity=capacity,
        arrivals=ModeMatrices({1: BMAP.poisson(rate)}),
        service=families.exponential(mean_service),
        **more,
    )


def test_two_states_by_hand():
    """M/M/1/1: the share of idle time alternates exponential periods; sigma^2 = 2 l s / (l + s)^3."""
    rate, service = 0.7, 1.9
    found = asymptotic_variance(queue(rate, 1 / service, 1))
    expected = 2 * rate * service / (rate + service) ** 3
    assert found.variances["starvation_probability"] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(found.level_distribution, [expected, expected], rtol=1e-12)


def test_served_pages_of_a_single_server_without_buffer_are_a_renewal_process():
    """Cycles of an idle and a busy period: sigma^2 of the count is variance / mean^3 of the cycle."""
    rate, service = 0.7, 1.9
    mean, variance = 1 / rate + 1 / service, 1 / rate**2 + 1 / service**2
    found = asymptotic_variance(queue(rate, 1 / service, 1))
    assert found.covariances[SERVED, SERVED] == pytest.approx(variance / mean**3, rel=1e-12)


def test_poisson_arrivals_have_the_variance_of_a_poisson_process():
    found = asymptotic_variance(queue(0.8, 1.0, 6))
    assert found.variances["arrival_rate"] == pytest.approx(0.8, rel=1e-12)


@pytest.mark.parametrize("robots", [1, 2, 3, 4])
def test_batch_arrivals_have_their_index_of_dispersion(robots):
    """The count of delivered pages does not depend on the queue; nearly all are served when nothing is lost."""
    mode = examples.load("paper").arrivals.mode(robots)
    scenario = Scenario(capacity=150, arrivals=ModeMatrices({robots: mode}), service=families.exponential(0.1))
    found = asymptotic_variance(scenario)
    expected = mode.page_rate * mode.dispersion()
    assert found.covariances[PAGES, PAGES] == pytest.approx(expected, rel=1e-10)
    assert found.covariances[SERVED, SERVED] == pytest.approx(expected, rel=1e-6)
    assert found.covariances[LOST, LOST] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("name", ["mm1k", "paper", "hyperexponential", "thinned"])
def test_time_averages_by_integrating_the_autocovariance(name):
    """sigma^2 = 2 int_0^inf Cov(f(X_0), f(X_t)) dt, with the matrix exponential."""
    scenario = examples.load(name).replace(capacity=3, policy=ThresholdPolicy([1]))
    deviation = Deviation.of(Chain.of(scenario))
    Q, p = deviation.events.matrix.toarray(), deviation.p
    found = asymptotic_variance(scenario)
    level = deviation.events.levels.astype(float)
    slowest = -np.sort(np.linalg.eigvals(Q).real)[-2]
    for measure, f in (("mean_pages", level), ("starvation_probability", (level == 0).astype(float))):
        centred = f - p @ f
        total, _ = quad(
            lambda t, c=centred: (p * c) @ expm(Q * t) @ c, 0, 40 / slowest, epsrel=1e-9, epsabs=0, limit=200
        )
        assert found.variances[measure] == pytest.approx(2 * total, rel=1e-6)


def test_levels_agree_with_the_general_formula():
    scenario = examples.load("paper")
    found = asymptotic_variance(scenario)
    assert found.level_distribution[0] == pytest.approx(found.variances["starvation_probability"], rel=1e-10)
    assert (found.level_distribution > 0).all()


def test_counts_that_must_balance():
    """Delivered = lost + obsolete + served + a bounded remainder: the difference has variance zero."""
    for name in ("paper", "hyperexponential", "measured"):
        found = asymptotic_variance(examples.load(name))
        direction = np.zeros(len(found.covariances))
        for functional, sign in (("pages", 1), ("lost", -1), ("obsolete", -1), ("served", -1)):
            direction[FUNCTIONALS.index(functional)] = sign
        scale = found.covariances[PAGES, PAGES]
        assert direction @ found.covariances @ direction == pytest.approx(0.0, abs=1e-10 * scale)


def simulate_counts(scenario, time, runs, seed):
    """Jump chain of the explicit rates: final counts and integrals of many independent stationary runs."""
    rng = np.random.default_rng(seed)
    events = Generator.of(Chain.of(scenario))
    p = Deviation.of(Chain.of(scenario)).p
    kinds = [(e.rates.toarray(), e) for e in events.kinds]
    rows = [np.concatenate([matrix[s] for matrix, _ in kinds]) for s in range(events.states)]
    totals = np.array([row.sum() for row in rows])
    cumulative = [np.cumsum(row) / row.sum() for row in rows]
    out = []
    for _ in range(runs):
        state, now = int(rng.choice(p.size, p=p / p.sum())), 0.0
        counts = dict.fromkeys(("pages", "lost", "served", "obsolete", "level"), 0.0)
        while True:
            step = rng.exponential() / totals[state]
            counts["level"] += events.levels[state] * min(step, time - now)
            now += step
            if now > time:
                break
            pick = int(np.searchsorted(cumulative[state], rng.random(), side="right"))
            kind, state = divmod(pick, events.states)
            for name in ("pages", "lost", "served", "obsolete"):
                counts[name] += getattr(kinds[kind][1], name)
        out.append([counts[name] / time for name in ("pages", "lost", "served", "obsolete", "level")])
    return np.array(out)


def test_against_simulated_runs():
    scenario = examples.load("paper").replace(capacity=3)
    time, runs = 150.0, 300
    sample = simulate_counts(scenario, time, runs, seed=20_26)
    found = asymptotic_variance(scenario)
    order = [FUNCTIONALS.index(name) for name in ("pages", "lost", "served", "obsolete", "level")]
    expected = found.covariances[np.ix_(order, order)] / time
    measured = np.cov(sample.T)
    # The standard error of a variance over n normal runs is sqrt(2/n) of it: 7%; four of these.
    np.testing.assert_allclose(np.diag(measured), np.diag(expected), rtol=4 * np.sqrt(2 / runs))
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(measured / scale, expected / scale, atol=4 * np.sqrt(2 / runs))
    ratio = sample[:, 1] / sample[:, 0]
    assert ratio.var(ddof=1) * time == pytest.approx(found.variances["loss_probability"], rel=4 * np.sqrt(2 / runs))


def test_without_obsolescence_the_response_time_is_exact_and_equals_the_general_one_without_loss():
    scenario = queue(0.5, 1.0, 200)
    found = asymptotic_variance(scenario)
    assert found.approximate == frozenset()
    assert found.variances["mean_sojourn_served"] == pytest.approx(found.variances["mean_sojourn"], rel=1e-9)
    assert found.variances["mean_sojourn_obsolete"] is None


def test_values_are_those_of_solve():
    scenario = examples.load("hyperexponential")
    found, expected = asymptotic_variance(scenario).values, solve(scenario).measures
    assert found == pytest.approx({name: expected[name] for name in found}, rel=1e-10)


def test_cost_is_a_combination():
    scenario = queue(0.8, 1.0, 5, cost=CostWeights(robots=7, starvation=3))
    found = asymptotic_variance(scenario)
    assert found.variances["cost"] == pytest.approx(9 * found.variances["starvation_probability"], rel=1e-10)
    assert "cost" not in found.approximate


def test_run_length_and_standard_error_say_the_same():
    found = asymptotic_variance(examples.load("paper"))
    time = found.run_length("mean_pages", 0.02, 0.95)
    half = 1.959963984540054 * found.standard_error("mean_pages", time)
    assert half == pytest.approx(0.02 * found.values["mean_pages"], rel=1e-12)
    assert found.approximate == frozenset()
    frame = found.to_frame()
    assert frame.loc[frame["measure"] == "mean_pages", "run_length"].item() == pytest.approx(4 * time)
    assert set(found.to_json()["run_length"]) == set(found.variances)


def test_what_is_approximate_is_said():
    several_clocks = asymptotic_variance(examples.load("hyperexponential"))
    assert several_clocks.approximate == {"mean_sojourn_served", "mean_sojourn_obsolete", "cost"}
    long = asymptotic_variance(examples.load("mm1k").replace(capacity=300))
    assert long.approximate == {"mean_sojourn_served", "mean_sojourn_obsolete", "cost"}
    # Beyond some thirty pages nothing happens in this queue: the exact value is that of a shorter one.
    exact = asymptotic_variance(examples.load("mm1k").replace(capacity=60))
    assert long.variances["mean_pages"] == pytest.approx(exact.variances["mean_pages"], rel=1e-9)


def test_faults_come_together():
    found = asymptotic_variance(examples.load("mm1k"))
    with pytest.raises(InputError) as error:
        found.run_length("mean_pages", 2.0, 95)
    assert "relative_half_width must be in (0, 1); got 2.0" in str(error.value)
    assert "confidence must be in (0, 1); got 95" in str(error.value)
    with pytest.raises(InputError, match=r"measure must be one of .*; got 'speed'"):
        found.run_length("speed")
    with pytest.raises(InputError, match="time must be greater than 0; got -1"):
        found.standard_error("mean_pages", -1)
    never = asymptotic_variance(queue(0.5, 1.0, 3))
    with pytest.raises(InputError, match="measure must exist in this scenario"):
        never.run_length("mean_sojourn_obsolete")
    with pytest.raises(InputError, match="measure must not be 0 for a relative half width"):
        never.run_length("obsolescence_probability")
