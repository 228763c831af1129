"""The algebra of measures: hand-computed values, derivatives against differences, runs and equilibria."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from crawltwin.model import CostWeights, InputError, Rates, cost_error
from crawltwin.model.measures import LINEAR_MEASURES, QUOTIENT_MEASURES, SCALAR_MEASURES

NAMES = ("pages", "lost", "obsolete", "served", "robots", "starvation", "level", "sojourn_served")
WEIGHTS = CostWeights(loss=5, obsolescence=10, response=2, robots=20, starvation=300, switching=7)
EQUILIBRIUM = {
    "pages": 4.0,
    "lost": 0.5,
    "obsolete": 1.5,
    "served": 2.0,
    "robots": 2.25,
    "starvation": 0.125,
    "level": 6.0,
    "sojourn_served": 4.5,
    "switches": 0.25,
    "fetches": 1.75,
}
# A run of length 8 that saw 30 of the 32 delivered pages decided.
RUN = {
    "pages": 32.0,
    "decided": 30.0,
    "lost": 3.0,
    "obsolete": 12.0,
    "served": 15.0,
    "robots": 20.0,
    "starvation": 1.0,
    "level": 50.0,
    "sojourn_served": 33.0,
    "sojourn_obsolete": 15.0,
    "switches": 4.0,
    "fetches": 16.0,
}


def test_measures_of_an_equilibrium_by_hand():
    found = {name: float(value) for name, value in Rates(**EQUILIBRIUM).measures(WEIGHTS).items()}
    assert found == {
        "arrival_rate": 4.0,
        "loss_rate": 0.5,
        "starvation_probability": 0.125,
        "mean_active_robots": 2.25,
        "mean_pages": 6.0,
        "switch_rate": 0.25,
        "mean_fetches": 1.75,
        "loss_probability": 0.125,
        "obsolescence_probability": 0.375,
        "success_probability": 0.5,
        "mean_sojourn": 1.5,
        "mean_sojourn_served": 2.25,
        "mean_sojourn_obsolete": 1.0,
        # 5 x 0.5 + 10 x 1.5 + 2 x 2.25 + 20 x 2.25 + 300 x 0.125 + 7 x 0.25
        "cost": 2.5 + 15 + 4.5 + 45 + 37.5 + 1.75,
    }


def test_measures_of_a_run_by_hand():
    found = {name: float(value) for name, value in Rates(**RUN, time=8.0).measures(WEIGHTS).items()}
    assert found == {
        "arrival_rate": 4.0,
        "loss_rate": 0.375,
        "starvation_probability": 0.125,
        "mean_active_robots": 2.5,
        "mean_pages": 6.25,
        "switch_rate": 0.5,
        "mean_fetches": 2.0,
        "loss_probability": 0.1,
        "obsolescence_probability": 0.4,
        "success_probability": 0.5,
        "mean_sojourn": 1.6,
        "mean_sojourn_served": 2.2,
        "mean_sojourn_obsolete": 1.25,
        # 4 pages per unit of time, of which 0.1 lost and 0.4 obsolete
        "cost": pytest.approx(4 * (5 * 0.1 + 10 * 0.4) + 2 * 2.2 + 20 * 2.5 + 300 * 0.125 + 7 * 0.5, rel=1e-15),
    }


def test_every_scalar_measure_is_a_rate_or_a_quotient_or_the_cost():
    assert {*SCALAR_MEASURES} <= {*LINEAR_MEASURES, *QUOTIENT_MEASURES, "cost"}


@pytest.mark.parametrize("held", [EQUILIBRIUM, RUN])
@pytest.mark.parametrize("measure", [*LINEAR_MEASURES, *QUOTIENT_MEASURES, "cost"])
def test_gradients_are_the_differences(held, measure):
    rates = Rates(**held)
    found = rates.gradient(measure, list(held), WEIGHTS)
    for name, slope in zip(held, found, strict=True):
        step = 1e-5
        up, down = (Rates(**{**held, name: held[name] + side * step}) for side in (1, -1))
        difference = (up.value(measure, WEIGHTS) - down.value(measure, WEIGHTS)) / (2 * step)
        assert slope == pytest.approx(float(difference), rel=1e-8, abs=1e-8), name


@pytest.mark.parametrize("measure", [*LINEAR_MEASURES, *QUOTIENT_MEASURES, "cost"])
def test_slopes_are_sums_over_the_gradient_and_amounts_count_by_their_time(measure):
    direction = {name: 0.1 * place for place, name in enumerate(RUN, start=1)}
    whole, rate = Rates(**RUN, time=8.0), Rates(**{name: amount / 8 for name, amount in RUN.items()})
    along = whole.gradient(measure, list(direction), WEIGHTS) @ np.array(list(direction.values()))
    assert float(whole.slope(measure, direction, WEIGHTS)) == pytest.approx(float(along), rel=1e-12)
    assert float(rate.slope(measure, direction, WEIGHTS)) == pytest.approx(float(along), rel=1e-12)


def test_errors_add_with_the_same_sign():
    rates = Rates(**EQUILIBRIUM)
    # 0.125 = lost/pages: (0.04 + 0.125 x 0.08) / 4
    assert float(rates.error("loss_probability", {"lost": 0.04, "pages": 0.08})) == pytest.approx(0.0125, rel=1e-14)
    assert float(rates.error("loss_probability", {"lost": -0.04, "pages": 0.08})) == pytest.approx(0.0125, rel=1e-14)


def test_variance_is_the_delta_method():
    draws = np.random.default_rng(7).multivariate_normal([0, 0], [[4e-8, 1e-8], [1e-8, 9e-8]], 200_000)
    rates = Rates(**{**EQUILIBRIUM, "lost": 0.5 + draws[:, 0], "pages": 4 + draws[:, 1]})
    found = Rates(**EQUILIBRIUM).variance("loss_probability", [[4e-8, 1e-8], [1e-8, 9e-8]], ["lost", "pages"])
    # (4 - 2 x 0.125 x 1 + 0.125^2 x 9) / 16 by hand
    assert float(found) == pytest.approx((4 - 0.25 + 9 / 64) / 16 * 1e-8, rel=1e-12)
    assert float(rates.value("loss_probability").var()) == pytest.approx(float(found), rel=0.02)


def test_many_policies_at_once_are_the_single_ones():
    table = np.array([list(EQUILIBRIUM.values()), [3.0, 0.25, 0.5, 2.25, 1, 0.25, 2, 1.5, 0, 1.0]])
    many = Rates.from_table(table, tuple(EQUILIBRIUM))
    single = [Rates.from_table(row, tuple(EQUILIBRIUM)) for row in table]
    for name, values in many.measures(WEIGHTS).items():
        assert values.tolist() == [float(one.value(name, WEIGHTS)) for one in single]
    covariances = np.stack([np.eye(2), 2 * np.eye(2)])
    found = many.variance("success_probability", covariances, ("served", "pages"))
    assert found.shape == (2,)
    assert found[1] == pytest.approx(
        2 * float(single[1].variance("success_probability", np.eye(2), ("served", "pages")))
    )


def test_the_cost_is_its_linear_part_and_one_quotient():
    rates = Rates(**EQUILIBRIUM)
    linear, response = rates.linear_cost(WEIGHTS), rates.sojourn_served / rates.served
    assert float(rates.cost(WEIGHTS)) == pytest.approx(float(linear + WEIGHTS.response * response), rel=1e-15)
    doubled = Rates(**{name: 2 * rate for name, rate in EQUILIBRIUM.items()})
    assert float(doubled.linear_cost(WEIGHTS)) == 2 * float(linear)


def test_what_does_not_exist_is_nan_and_an_unserved_equilibrium_costs_infinitely_much():
    nothing = Rates(**{**EQUILIBRIUM, "served": 0.0, "sojourn_served": 0.0, "obsolete": 0.0})
    assert np.isnan(nothing.value("mean_sojourn_served"))
    assert np.isnan(nothing.value("mean_sojourn_obsolete"))
    assert np.isnan(nothing.slope("mean_sojourn_served", {"served": 1.0}))
    assert np.isposinf(nothing.cost(WEIGHTS))
    assert float(nothing.cost(CostWeights(loss=2))) == 1.0
    unseen = Rates(**{**RUN, "served": 0.0, "sojourn_served": 0.0})
    assert np.isnan(unseen.cost(WEIGHTS))


def test_unknown_rates_give_no_measure():
    held = {name: rate for name, rate in EQUILIBRIUM.items() if name not in ("switches", "fetches")}
    rates = Rates(**held)
    assert {"switch_rate", "mean_fetches"}.isdisjoint(rates.measures())
    with pytest.raises(InputError, match="fetches must be known for this measure; got none"):
        rates.value("mean_fetches")
    with pytest.raises(InputError, match="switches must be known"):
        rates.cost(WEIGHTS)


def test_measures_give_their_rates_and_the_error_of_the_cost():
    measures = {name: float(value) for name, value in Rates(**RUN, time=8.0).measures(WEIGHTS).items()}
    found = Rates.from_measures(measures).measures(WEIGHTS)
    assert {name: pytest.approx(measures[name], rel=1e-14) for name in found if name != "loss_rate"} == {
        name: float(value) for name, value in found.items() if name != "loss_rate"
    }
    errors = {"arrival_rate": 0.1, "loss_probability": 0.01, "mean_sojourn_served": 0.2, "switch_rate": 0.3}
    by_hand = 0.1 * (5 * 0.1 + 10 * 0.4) + 4 * 5 * 0.01 + 2 * 0.2 + 7 * 0.3
    assert cost_error(measures, errors, WEIGHTS) == pytest.approx(by_hand, rel=1e-13)
    gone = {**measures, "mean_sojourn_obsolete": None, "obsolescence_probability": 0.0}
    assert np.isnan(Rates.from_measures(gone).value("mean_sojourn_obsolete"))


def test_rates_are_values():
    rates = Rates(**RUN, time=8.0)
    assert rates == Rates(**RUN, time=8.0) == pickle.loads(pickle.dumps(rates))
    assert rates != Rates(**RUN)
    with pytest.raises(ValueError, match="read-only"):
        rates.lost[...] = 1
    assert rates.in_equilibrium is False


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Rates(**{**EQUILIBRIUM, "lost": [1.0, 2.0], "served": [1.0, 2.0, 3.0]}), "shapes go together"),
        (lambda: Rates(**EQUILIBRIUM).value("speed"), "measure must be one of arrival_rate, .*; got 'speed'"),
        (lambda: Rates(**EQUILIBRIUM).value("cost"), "weights must be given for the cost; got none"),
    ],
)
def test_wrong_calls_are_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
