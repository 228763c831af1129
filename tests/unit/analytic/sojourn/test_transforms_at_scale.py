"""Transforms of the sojourn time by every method, against the explicit chain's sparse solve."""

from __future__ import annotations

import pytest

from analytic import solve
from crawltwin.model import ThresholdPolicy, erlang, examples


@pytest.mark.parametrize("fate", ["served", "obsolete", "all"])
@pytest.mark.parametrize("u", [0.0, 0.4, 1.5 + 2.0j])
def test_matrix_free_and_window_agree_with_the_explicit_chain(fate, u):
    scenario = examples.load("hyperexponential").replace(capacity=4, obsolescence=erlang(2, 3.0))
    exact = solve(scenario, method="direct").sojourn.transform(u, fate)
    assert solve(scenario, method="matrix-free").sojourn.transform(u, fate) == pytest.approx(exact, rel=1e-9)
    assert solve(scenario, method="window").sojourn.transform(u, fate) == pytest.approx(exact, rel=1e-6)


def test_no_page_no_transform():
    scenario = examples.load("hyperexponential").replace(capacity=1, policy=ThresholdPolicy([3]))
    assert solve(scenario, method="matrix-free").sojourn.transform(0.5, "obsolete") is None
