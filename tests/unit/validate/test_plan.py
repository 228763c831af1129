"""The declared plan: defaults, margins, and every complaint."""

import pytest

from crawltwin.model import InputError
from validate.plan import ValidationPlan


def test_margins_are_relative_except_for_small_probabilities():
    plan = ValidationPlan(margin=0.01)
    assert plan.margin_of("mean_sojourn", 3.0) == pytest.approx(0.03)
    assert plan.margin_of("loss_probability", 0.5) == pytest.approx(0.005)
    assert plan.margin_of("loss_probability", 1e-6) == pytest.approx(0.001)
    assert ValidationPlan(margin=0.01, absolute_margin=0).margin_of("loss_probability", 1e-6) == pytest.approx(1e-8)


def test_a_plan_is_a_value():
    assert ValidationPlan(seed=2) == ValidationPlan(seed=2)
    assert ValidationPlan(seed=2).content_hash != ValidationPlan(seed=3).content_hash


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"margin": 0.0}, "margin must be greater than 0; got 0.0 at margin."),
        ({"margin": float("nan")}, "margin must be a finite number; got nan at margin."),
        ({"absolute_margin": -1.0}, "absolute_margin must be at least 0; got -1.0 at absolute_margin."),
        ({"confidence": 1.0}, "confidence must be less than 1; got 1 at confidence. 0.99 is usual."),
        ({"power": -0.5}, "power must be greater than 0; got -0.5 at power."),
        ({"budget": 10}, "budget must be at least 1000; got 10 at budget. It counts pages."),
        ({"pages": 1.5}, "pages must be a whole number; got 1.5 at pages."),
        ({"replications": 2}, "replications must be at least 10; got 2 at replications."),
        ({"seed": -1}, "seed must be a whole number, 0 or more; got -1"),
        ({"engine": "guess"}, "engine must be one of compiled, simpy; got 'guess' at engine."),
        ({"quantiles": (0.5, 1.0)}, "quantiles must be between 0 and 1; got 1 at quantiles[1]."),
        ({"measures": ("loss",)}, "got 'loss' at measures[0]."),
    ],
)
def test_complaints(given, words):
    with pytest.raises(InputError) as caught:
        ValidationPlan(**given)
    assert words in str(caught.value)


def test_all_faults_at_once():
    with pytest.raises(InputError) as caught:
        ValidationPlan(margin=-1, confidence=2.0, engine="x")
    assert len(caught.value.faults) == 3
