"""The replayed trace against the fitted model: it must agree for the truth and must not for a Poisson stream."""

from dataclasses import replace

import numpy as np
import pytest

from crawltwin.model import BMAP, InputError
from fitting import FitOptions, fit
from tests.oracle.fitting.made import TRUTH, trace
from validate.logs.losses import compare_losses


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "gaps.txt"
    np.savetxt(path, trace(20_000, 3)[0])
    return fit(path, options=FitOptions(methods=("poisson", "erlang"), repetitions=20, refits=0))


def test_the_fit_loses_what_the_trace_loses(result):
    check = compare_losses(result, loads=(0.5, 0.9))
    # 20,000 gaps with such correlations tell losses of 0.22 to within a fifth, but not those of 0.07.
    assert [row.verdict for row in check.rows] == ["inconclusive", "equivalent"]
    assert check.verdict == "inconclusive"
    assert check.words.startswith("the trace is too short to tell")
    assert all(0 <= row.low <= row.replayed <= row.high <= 1 for row in check.rows)
    # So does the truth itself, which has seen nothing of this trace.
    truth = compare_losses(replace(result, process=TRUTH.bmap()), loads=(0.5, 0.9))
    for own, other in zip(check.rows, truth.rows, strict=True):
        assert own.solved == pytest.approx(other.solved, rel=0.15)
        assert own.replayed == other.replayed


def test_a_wrong_model_is_told(result):
    """A Poisson stream in the fit's place: it loses almost nothing where the trace loses one page in twenty."""
    wrong = replace(result, process=BMAP.poisson(result.process.page_rate))
    check = compare_losses(wrong, loads=(0.5, 0.9))
    assert check.verdict == "different"
    assert check.words.startswith("the model does not lose")
    assert all(row.solved == pytest.approx(row.poisson, abs=2e-3) for row in check.rows)


def test_loads_are_checked(result):
    with pytest.raises(InputError, match="loads must be positive numbers; got \\[0\\]"):
        compare_losses(result, loads=(0,))
