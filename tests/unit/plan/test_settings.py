"""What the operator may say: on the command line, in a file, both; and every complaint."""

import pytest

from crawltwin.model import CostWeights, InputError
from crawltwin.plan.settings import PlanSettings, read_cost, read_settings


def test_weights_on_the_command_line():
    assert read_cost("loss=200, robots=20") == CostWeights(loss=200, robots=20)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("loss", "--cost must be NAME=WEIGHT"),
        ("lost=3", "with the names loss, obsolescence, response, robots, starvation; got 'lost=3'"),
        ("loss=3,loss=4", "got loss again"),
        ("loss=x", "--cost loss must be a number; got 'x'"),
        ("loss=inf", "--cost loss must be finite; got 'inf'"),
        ("loss=-1", "loss must be at least 0; got -1"),
    ],
)
def test_wrong_weights(text, complaint):
    with pytest.raises(InputError, match=complaint):
        read_cost(text)


def test_the_command_line_overrules_the_file(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("robots = 4\ncapacity = 30\nprocessing-rate = 6000\n[cost]\nloss = 2\n")
    found = read_settings(path, {"capacity": 20, "seed": None})
    assert (found.robots, found.capacity, found.processing_rate, found.seed) == (4, 20, 6000, 1)
    assert found.cost == CostWeights(loss=2)
    assert found.given == {"robots", "capacity", "processing_rate", "cost"}


def test_wrong_files(tmp_path):
    path = tmp_path / "plan.toml"
    with pytest.raises(InputError, match="--config must be a file that can be read"):
        read_settings(path, {})
    path.write_text("robots = [")
    with pytest.raises(InputError, match="--config must be TOML"):
        read_settings(path, {})
    path.write_text("robts = 4\n[cost]\nlosses = 1\n")
    with pytest.raises(InputError) as caught:
        read_settings(path, {})
    assert "Did you mean 'robots'?" in str(caught.value)
    assert "cost must be a table with the keys loss" in str(caught.value)


def test_all_faults_at_once():
    with pytest.raises(InputError) as caught:
        PlanSettings(
            robots=0, capacity=0, service_mean=1.0, processing_rate=2.0, timeout=-1.0, admission="maybe", control="no"
        )
    text = str(caught.value)
    for part in (
        "robots must be at least 1; got 0",
        "capacity must be at least 1; got 0",
        "must not both be given",
        "timeout must be greater than 0; got -1",
        "admission must be one of partial",
        "control must be one of thinned, scaled; got 'no'",
    ):
        assert part in text
    with pytest.raises(InputError, match="A stream can be thinned, not thickened"):
        PlanSettings(robots=4, robots_in_log=2, control="thinned")


def test_robots_that_were_not_there_scale_the_clock():
    assert PlanSettings(robots=4).control_in_force == "thinned"
    assert PlanSettings(robots=4, robots_in_log=2).control_in_force == "scaled"
