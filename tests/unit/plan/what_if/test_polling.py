"""What polling costs a plan: against solutions with `check_every`, limits, and policies that never change."""

import pytest

from analytic import solve
from crawltwin.model import ThresholdPolicy, examples
from crawltwin.plan.what_if.polling import MULTIPLES, PolledPoint, polling_of, rounded
from fitting.season.pace import PacePart

PAPER = examples.load("paper")


def test_each_point_is_the_same_policy_looked_at_every_so_often():
    found = polling_of([PAPER])
    assert len(found) == len(MULTIPLES) + 1
    assert found[0].every == 0 and found[0].extra == 0
    policy = PAPER.policy_in_force.as_thresholds()
    for point in found[1:]:
        polled = ThresholdPolicy(policy.robots, policy.thresholds, policy.resume, point.every)
        alone = solve(PAPER.replace(policy=polled)).measures
        assert point.measures["loss_probability"] == alone["loss_probability"]
        assert point.extra == pytest.approx(alone["cost"] / found[0].measures["cost"] - 1)


def test_a_look_at_every_moment_is_the_plan_and_a_blind_controller_is_not():
    """Losses lie between those at once and those of the mode in which a look comes too late to matter."""
    found = polling_of([PAPER])
    losses = [point.measures["loss_probability"] for point in found]
    robots = [point.measures["mean_active_robots"] for point in found]
    assert losses == sorted(losses)
    most = solve(PAPER.replace(policy=ThresholdPolicy([max(PAPER.policy_in_force.robots_used)]))).measures
    assert all(loss < most["loss_probability"] for loss in losses)
    assert all(1 <= number <= 4 for number in robots)
    near = polling_of([PAPER.replace(policy=ThresholdPolicy([3, 1], [2]))])[0]
    tiny = solve(PAPER.replace(policy=ThresholdPolicy([3, 1], [2], check_every=1e-6))).measures
    assert tiny["loss_probability"] == pytest.approx(near.measures["loss_probability"], rel=1e-4)


def test_a_number_of_robots_that_never_changes_needs_no_looking():
    assert polling_of([PAPER.replace(policy=ThresholdPolicy([3]))]) == ()


@pytest.mark.parametrize(
    ("time", "near"),
    [
        (1.0, 1.0),
        (0.0035, 0.005),
        (7.5, 10.0),
        (86_400.0, 86_400.0),
        (1_000.0, 1_200.0),
        (40_000.0, 43_200.0),
        (3 * 86_400.0, 2 * 86_400.0),
    ],
)
def test_distances_are_numbers_that_people_would_choose(time: float, near: float):
    assert rounded(time) == pytest.approx(near)


def test_over_the_day_every_part_counts():
    """Two parts, the quiet one under another policy: rates are means of both, losses a quotient of these."""
    parts = (PacePart(0.0, 1.0, 1.0, 0.0, 0.25), PacePart(1.0, 2.0, 1.0, 0.0, 0.75))
    busy, quiet = PAPER, PAPER.replace(policy=ThresholdPolicy([1]))
    point = polling_of([busy, quiet], parts)[2]
    policy = PAPER.policy_in_force.as_thresholds()
    polled = solve(PAPER.replace(policy=ThresholdPolicy(policy.robots, policy.thresholds, policy.resume, point.every)))
    pages, lost = (
        0.25 * float(getattr(polled.rates, name)) + 0.75 * float(getattr(solve(quiet).rates, name))
        for name in ("pages", "lost")
    )
    assert point.measures["loss_probability"] == pytest.approx(lost / pages)


def test_a_cost_above_the_double_is_written_out():
    assert PolledPoint(60.0, polling_of([PAPER])[1].measures, 1.42).shown()[-1] == "142%"


def test_rows_for_people_and_machines():
    first, *_, last = polling_of([PAPER])
    assert first.shown()[0] == "at once" and last.shown()[0].startswith("every ")
    assert set(last.to_json()) == {"check_every", "measures", "extra_cost"}
