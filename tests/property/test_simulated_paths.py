"""On the path of every run, whatever the model: conservation exactly, Little's law, and both engines alike."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from crawltwin.model import (
    ADMISSIONS,
    BMAP,
    IndependentRobots,
    LevelPolicy,
    ModeMatrices,
    PhaseType,
    ScaledStream,
    Scenario,
    ThinnedStream,
)
from simulate.engine.length import Start
from tests.unit.simulate.cases import assert_same, job_of

rates = st.floats(0.05, 5.0)


@st.composite
def bmaps(draw, phases: int | None = None) -> BMAP:
    size = draw(st.integers(1, 3)) if phases is None else phases
    blocks = [
        np.array(draw(st.lists(st.lists(rates, min_size=size, max_size=size), min_size=size, max_size=size)))
        for _ in range(draw(st.integers(2, 4)))
    ]
    D0 = blocks[0] - np.diag(np.diag(blocks[0]))
    D0 -= np.diag(D0.sum(axis=1) + sum(block.sum(axis=1) for block in blocks[1:]))
    return BMAP([D0, *blocks[1:]])


@st.composite
def phase_types(draw) -> PhaseType:
    size = draw(st.integers(1, 3))
    jumps = np.array(
        draw(st.lists(st.lists(rates, min_size=size + 1, max_size=size + 1), min_size=size, max_size=size))
    )
    S = jumps[:, :size] - np.diag(np.diag(jumps[:, :size]))
    S -= np.diag(S.sum(axis=1) + jumps[:, size])
    weights = np.array(draw(st.lists(rates, min_size=size, max_size=size)))
    initial = weights / weights.sum()
    initial[-1] = 1 - initial[:-1].sum()
    return PhaseType(initial, S)


@st.composite
def scenarios(draw) -> Scenario:
    kind = draw(st.sampled_from(["modes", "independent", "thinned", "scaled"]))
    if kind == "modes":
        phases = draw(st.integers(1, 3))
        arrivals = ModeMatrices({1: draw(bmaps(phases)), 2: draw(bmaps(phases))})
    elif kind == "independent":
        arrivals = IndependentRobots((draw(bmaps()), draw(bmaps())))
    elif kind == "thinned":
        arrivals = ThinnedStream(draw(bmaps()), (draw(st.floats(0.1, 0.9)), 1.0))
    else:
        arrivals = ScaledStream(draw(bmaps()), 2)
    capacity = draw(st.integers(1, 6))
    table = draw(st.lists(st.integers(1, 2), min_size=capacity + 1, max_size=capacity + 1))
    return Scenario(
        capacity,
        arrivals,
        draw(phase_types()),
        draw(st.none() | phase_types()),
        LevelPolicy(table),
        admission=draw(st.sampled_from(ADMISSIONS)),
    )


@settings(max_examples=40)
@given(scenarios(), st.integers(0, 2**32), st.booleans())
def test_every_path_is_accounted_for(scenario: Scenario, seed: int, from_full: bool):
    start = Start(np.eye(scenario.capacity + 1)[-1]) if from_full else None
    run, pages = assert_same(job_of(scenario, seed=seed, start=start, pages=400))
    # Conservation, exactly.
    assert run.check_conservation() == 0
    delivered, _, lost, obsolete, served = run.counts.sum(axis=0)
    assert run.initial + delivered == lost + obsolete + served + run.present
    assert pages.fate.size == run.initial + delivered
    # Little's law: the area under the level is the time that pages have spent, to rounding.
    assert abs(run.check_little()) < 1e-11
    # Time is where it should be.
    assert abs(run.time_at_level.sum() - run.time) < 1e-9 * max(1.0, run.time)
    assert run.time_at_level.shape[1] == scenario.top_level + 1
