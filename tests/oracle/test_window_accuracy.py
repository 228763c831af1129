"""The claim of docs/accuracy.md: no estimate is smaller than the true error."""

import pytest

from crawltwin.model import BMAP, ModeMatrices, Scenario, erlang, hyperexponential
from tests.oracle.accuracy_table import ALONE, ALONE_TOLERANCES, CASES, TOLERANCES, Case, alone, judge


def batches(size: int, load: float) -> ModeMatrices:
    rate = load / size
    return ModeMatrices({1: BMAP([[[-rate]], *[[[0.0]]] * (size - 1), [[rate]]])})


HARD = {
    # The windows are exact long before all pages are in order, while their differences still look geometric.
    "ends early": (
        Scenario(
            13, batches(5, 2.99), erlang(2, 1.0), hyperexponential([0.4, 0.6], [1.58, 0.8]), admission="all-or-nothing"
        ),
        2e-5,
    ),
    # The differences of the sojourn time of served pages change their sign.
    "cancels": (Scenario(14, batches(6, 1.9154), erlang(2, 1.0), erlang(2, 1.0231)), 6e-5),
}


@pytest.mark.parametrize("name", HARD)
def test_batches_that_come_alone_do_not_deceive(name: str) -> None:
    scenario, tolerance = HARD[name]
    case = Case(name, scenario)
    verdict = judge(case, case.truth, tolerance)
    assert not verdict.found.exact
    assert verdict.worst <= 1.0, (verdict.where, verdict.worst)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_no_estimate_for_batches_that_come_alone_is_smaller_than_its_error(part: int) -> None:
    for case in map(alone, range(part, ALONE, 10)):
        truth = case.truth
        for tolerance in ALONE_TOLERANCES:
            verdict = judge(case, truth, tolerance)
            assert verdict.worst <= 1.0, (case.words, verdict.where, verdict.worst)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)))
def test_no_estimate_is_smaller_than_its_error(number: int) -> None:
    case = CASES[number]
    truth = case.truth
    for tolerance in TOLERANCES:
        verdict = judge(case, truth, tolerance)
        assert verdict.worst <= 1.0, (case.words, verdict.where, verdict.worst)
