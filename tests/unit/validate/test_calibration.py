"""The calibration's own statistics: sound scores pass, unsound ones are caught."""

import numpy as np
import pytest

from validate.calibration import calibration_plan, judge_calibration
from validate.score_tests import check_sample, probability_plot
from validate.verdict import Comparison


def rows(count: int, shift: float = 0.0, spread: float = 1.0, odd: dict[int, float] | None = None):
    """Made-up scenarios: three measures with scores drawn from a normal law, known standard errors."""
    rng = np.random.default_rng(8)
    names = ("mean_pages", "arrival_rate", "cost")
    found = []
    for index in range(count):
        scores = shift + spread * rng.normal(size=3)
        scores[0] += (odd or {}).get(index, 0.0)
        comparisons = [
            Comparison(name, "", 1.0, 1.0 + 0.01 * float(score), 0.01, 10**6, 0.005)
            for name, score in zip(names, scores, strict=True)
        ]
        found.append(
            {
                "index": index,
                **{field: [getattr(one, field) for one in comparisons] for field in Comparison.__dataclass_fields__},
                "cases": [1e6] * 3,
                "broken": [],
                "pages": 1000,
                "seconds": 0.1,
            }
        )
    return found


def test_sound_scores_pass():
    found = judge_calibration(calibration_plan(1), rows(200))
    assert found.sound
    assert {one.name for one in found.by_measure} == {"mean_pages", "arrival_rate", "cost"}
    assert len(found.pooled.scores) == 200
    assert not found.outliers


@pytest.mark.parametrize(("shift", "spread"), [(0.5, 1.0), (0.0, 1.5), (0.0, 0.6)])
def test_a_bias_and_wrong_standard_errors_are_caught(shift, spread):
    found = judge_calibration(calibration_plan(1), rows(200, shift, spread))
    assert not found.sound


def test_a_scenario_that_stands_out_is_named_with_the_command_that_repeats_it(tmp_path):
    found = judge_calibration(calibration_plan(4), rows(200, odd={17: 9.0}))
    assert [one.index for one in found.outliers] == [17]
    assert "validate outlier-17.toml" in found.outliers[0].command
    assert "--seed 4" in found.outliers[0].command
    (path,) = found.write_outliers(tmp_path)
    assert path.name == "outlier-17.toml"
    assert "random crawler 17 of seed 4" in path.read_text()
    assert found.false_alarms == judge_calibration(calibration_plan(4), rows(200)).false_alarms + 1


def test_a_broken_identity_is_enough():
    broken = rows(200)
    broken[3]["broken"] = ["pages are conserved"]
    found = judge_calibration(calibration_plan(1), broken)
    assert not found.sound
    assert found.broken == ("pages are conserved in scenario 3",)


def test_rare_and_constant_numbers_are_left_out():
    few = rows(200)
    for row in few:
        row["cases"][0] = 10.0
        row["error"][1], row["simulated"][1] = 0.0, row["solved"][1]
    found = judge_calibration(calibration_plan(1), few)
    assert [one.name for one in found.by_measure] == ["cost"]


def test_the_anderson_darling_statistic_is_the_textbooks():
    # A^2 = -n - mean((2i-1)(ln F(x_i) + ln(1 - F(x_{n+1-i})))), written out for three points.
    from scipy.stats import norm

    x = np.array([-1.0, 0.2, 0.9])
    F = norm.cdf(x)
    weights = np.array([1, 3, 5])
    expected = -3 - np.sum(weights * (np.log(F) + np.log(1 - F[::-1]))) / 3
    assert check_sample("three", x, 1).statistic == pytest.approx(expected)


def test_probability_plot_is_sorted_against_normal_quantiles():
    scores, normal = probability_plot([0.5, -1.0, 2.0])
    assert scores.tolist() == [-1.0, 0.5, 2.0]
    assert normal[1] == pytest.approx(0.0)
    assert normal[0] == -normal[2]
