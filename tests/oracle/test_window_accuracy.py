"""The claim of docs/accuracy.md: no estimate is smaller than the true error."""

import pytest

from tests.oracle.accuracy_table import CASES, TOLERANCES, judge


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)))
def test_no_estimate_is_smaller_than_its_error(number: int) -> None:
    case = CASES[number]
    truth = case.truth
    for tolerance in TOLERANCES:
        verdict = judge(case, truth, tolerance)
        assert verdict.worst <= 1.0, (case.words, verdict.where, verdict.worst)
