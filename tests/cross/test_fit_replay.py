"""The replayed trace against the fitted model: it must agree for the truth and must not for a Poisson stream."""

from dataclasses import replace

import numpy as np
import pytest

from crawltwin.model import BMAP, InputError
from fitting import FitOptions, fit
from tests.oracle.fitting.made import TRUTH, trace
from validate.fit_replay import replay_fit


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "gaps.txt"
    np.savetxt(path, trace(20_000, 3)[0])
    return fit(path, options=FitOptions(methods=("poisson", "erlang"), repetitions=20, refits=0))


def test_the_fit_loses_what_the_trace_loses(result):
    check = replay_fit(result, loads=(0.5, 0.9))
    assert check.verdict == "equivalent"
    # So does the truth itself, which has seen nothing of this trace.
    truth = replay_fit(replace(result, process=TRUTH.bmap()), loads=(0.5, 0.9))
    for own, other in zip(check.rows, truth.rows, strict=True):
        assert own.solved == pytest.approx(other.solved, rel=0.15)
        assert own.replayed == other.replayed


def test_a_wrong_model_is_told(result):
    """A Poisson stream in the fit's place: it loses almost nothing where the trace loses one page in twenty."""
    wrong = replace(result, process=BMAP.poisson(result.process.page_rate))
    check = replay_fit(wrong, loads=(0.5, 0.9))
    assert check.verdict == "different"
    assert check.words.startswith("the model does not lose")
    assert all(row.solved == pytest.approx(row.poisson, abs=2e-3) for row in check.rows)


def test_loads_are_checked(result):
    with pytest.raises(InputError, match="loads must be positive numbers; got \\[0\\]"):
        replay_fit(result, loads=(0,))
