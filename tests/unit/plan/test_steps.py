"""Progress: which step of how many, and how far it is."""

import pytest

from crawltwin.model import InputError
from crawltwin.plan import demo_trace
from crawltwin.plan.decide import plan
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.steps import Steps
from fitting import FitOptions


def test_every_step_is_told_with_its_number(tmp_path):
    path = tmp_path / "demo.crawl.log"
    path.write_text(demo_trace.demo_log(1, 3_000))
    told = []
    settings = PlanSettings(
        robots=2, capacity=6, processing_rate=1500.0, obsolescence_mean=2000.0, lose_at_most=0.5, urls=100,
        redraws=10, budget=100_000, margin=0.5,
    )  # fmt: skip
    quick = FitOptions(methods=("poisson",), repetitions=20, refits=0)
    found = plan(path, settings, options=quick, tell=told.append)
    numbers = sorted({one.step for one in told})
    assert numbers == list(range(1, told[0].steps + 1))  # no step is missing, none is beyond the last
    assert list(found.seconds) == [
        "reading", "fitting", "optimising", "keeping the limits", "resampling, refitting, choosing again",
        "checking by simulation", "replaying the log", "moving what was assumed", "backlog and completion",
        "when the list is done", "asking what polling costs", "asking about fewer robots",
    ]  # fmt: skip
    redraws = [one for one in told if one.words.startswith("resampling") and one.total]
    assert [one.done for one in redraws] == list(range(1, 11))
    assert found.finish.plan.low < found.finish.plan.median < found.finish.plan.high


def test_a_step_that_fails_is_left_out_with_its_reason():
    steps = Steps(1, None)

    def fails():
        raise InputError("pages must be many; got 3")

    assert steps.attempt("counting", fails) is None
    assert steps.missing == ["counting: pages must be many; got 3."]
    with pytest.raises(InputError):
        steps.run("counting", fails)
