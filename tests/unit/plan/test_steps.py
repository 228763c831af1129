"""Progress: which step of how many, and how far it is."""

import io

import pytest
from rich.console import Console

from crawltwin.cli.terminal import progress_line
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


def test_a_fit_tells_how_far_it_is():
    told = []
    steps = Steps(13, told.append)
    steps.run(
        "fitting", lambda: [steps.say(words) for words in ("cleaning", "MMPP(2) by EM", "robots", "content sizes")]
    )
    assert [(one.done, one.total > 0) for one in told[1:3]] == [(0.0, False), (0.1, True)]
    assert told[2].done < told[3].done < told[4].done < told[4].total


@pytest.mark.parametrize("words", ["resampling, refitting, choosing again", "fitting: content sizes, goodness of fit"])
def test_a_line_of_progress_fits_into_80_columns(monkeypatch, words):
    narrow = Console(width=80, file=io.StringIO(), force_terminal=True)
    monkeypatch.setattr(progress_line, "console", lambda error: narrow)
    bar = progress_line._line()
    bar.add_task(f"step 12 of 13: {words}", total=9, completed=1)
    bar.tasks[0].start_time = bar.get_time() - 600.0
    lines = narrow.render_lines(bar.get_renderable())
    shown = "".join(segment.text for segment in lines[0])
    assert len(lines) == 1
    assert shown.rstrip().endswith("left")
