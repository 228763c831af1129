"""Functions of time from their transforms, against closed forms."""

import math

import pytest

from crawltwin.model import hyperexponential
from crawltwin.model.laws.inversion import invert


@pytest.mark.parametrize("x", [1e-8, 1e-6, 1.0, 1e3, 1e6, 1e7])
def test_the_tail_of_rates_twelve_orders_apart(x):
    law = hyperexponential([0.5, 0.5], [1e-6, 1e6])
    exact = 0.5 * math.exp(-1e-6 * x) + 0.5 * math.exp(-1e6 * x)
    assert invert(lambda s: (1 - law.transform(s)) / s, x) == pytest.approx(exact, abs=1e-8)
    assert float(law.survival(x)) == pytest.approx(exact, rel=1e-9)
