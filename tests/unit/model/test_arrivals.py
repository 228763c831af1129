"""The four interpretations, on cases where two of them must coincide."""

from __future__ import annotations

import pickle
from functools import reduce

import numpy as np
import pytest

from crawltwin.model import (
    BMAP,
    IndependentRobots,
    InputError,
    MarkedStream,
    ModeMatrices,
    ScaledStream,
    ThinnedStream,
)
from tests.random_models import random_bmap

RNG = np.random.default_rng(11)
A, B, C = random_bmap(RNG, 2, 2), random_bmap(RNG, 3, 1), random_bmap(RNG, 2, 3)


def kron_sum(*factors):
    return reduce(lambda x, y: np.kron(x, np.eye(len(y))) + np.kron(np.eye(len(x)), y), factors)


def test_printed_formula_of_interpretation_1_is_no_generator():
    # As printed: D_0^(1) (+) ... (+) D_0^(l) (x) D^(l+1)(1) (x) ... with l = 1 of two robots.
    printed = np.kron(A.D[0], B.generator) + np.kron(A.D[1] + A.D[2], np.eye(3))
    assert np.abs(printed.sum(axis=1)).max() > 0.1
    assert (printed - np.diag(np.diag(printed)) < -1e-6).any()
    repaired = kron_sum(A.D[0], B.generator) + np.kron(A.D[1] + A.D[2], np.eye(3))
    np.testing.assert_allclose(repaired.sum(axis=1), 0, atol=1e-12)


def test_independent_robots_are_kronecker_sums():
    arrivals = IndependentRobots((A, B, C))
    both = arrivals.mode(2)
    np.testing.assert_allclose(both.D[0], kron_sum(A.D[0], B.D[0], C.generator), atol=1e-13)
    np.testing.assert_allclose(both.D[2], np.kron(A.D[2], np.eye(6)), atol=1e-13)
    for active, expected in enumerate(np.cumsum([A.page_rate, B.page_rate, C.page_rate]), start=1):
        assert arrivals.mode(active).page_rate == pytest.approx(expected, rel=1e-12)
    assert arrivals.mode(3) == IndependentRobots((A, B, C)).mode(3)
    np.testing.assert_allclose(arrivals.mode(3).generator, A.superposed(B).superposed(C).generator, atol=1e-13)
    assert arrivals.phases == 12


def test_poisson_robots_coincide_with_scaling():
    robot = BMAP.poisson(0.7, [0.5, 0.5])
    independent, scaled = IndependentRobots((robot,) * 3), ScaledStream(robot, 3)
    for active in (1, 2, 3):
        for left, right in zip(independent.mode(active).D, scaled.mode(active).D, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-14)


def test_thinning_coincides_with_marks_split_at_random():
    # Batches marked independently: robot 1 with 0.25, robot 2 with 0.35, robot 3 with 0.4 of all.
    shares = (0.25, 0.35, 0.4)
    marked = MarkedStream(A.D[0], [[share * Dk for Dk in A.D[1:]] for share in shares])
    thinned = ThinnedStream(A, (0.25, 0.6, 1.0))
    for active in (1, 2, 3):
        for left, right in zip(marked.mode(active).D, thinned.mode(active).D, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-14)


def test_independent_robots_coincide_with_marks_of_their_superposition():
    marked = MarkedStream(
        kron_sum(A.D[0], B.D[0]),
        [[np.kron(Dk, np.eye(3)) for Dk in A.D[1:]], [np.kron(np.eye(2), Dk) for Dk in B.D[1:]]],
    )
    independent = IndependentRobots((A, B))
    for active in (1, 2):
        for left, right in zip(marked.mode(active).D, independent.mode(active).D, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-14)


def test_modes_hold_what_was_given():
    arrivals = ModeMatrices({3: A, 1: C})
    assert arrivals.robot_numbers == (1, 3)
    assert arrivals.mode(3) is A
    assert arrivals.max_batch == 3
    with pytest.raises(InputError, match="one of 1, 3; got 2"):
        arrivals.mode(2)


@pytest.mark.parametrize(
    "arrivals",
    [
        ModeMatrices({1: A, 2: C}),
        IndependentRobots((A, B)),
        ThinnedStream(A, (0.5, 1.0)),
        MarkedStream(A.D[0], [[A.D[1], A.D[2]]]),
        ScaledStream(A, 4),
    ],
    ids=lambda arrivals: arrivals.kind,
)
def test_values_survive_pickling_and_compare_by_content(arrivals):
    again = pickle.loads(pickle.dumps(arrivals))
    assert again == arrivals
    assert again.modes.keys() == arrivals.modes.keys()
    assert "pages per unit of time" in repr(arrivals)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ModeMatrices({}), "at least one number of robots"),
        (lambda: ModeMatrices({1: "x"}), "must be a BMAP"),
        (lambda: IndependentRobots((1, 2)), "must be a BMAP"),
        (lambda: ThinnedStream("x", (1.0,)), "must be a BMAP"),
        (lambda: ScaledStream(A, 10**9), "at most 1000"),
        (lambda: IndependentRobots((B,) * 10).mode(1), "at most 2,000; got 59,049"),
        (lambda: ModeMatrices({0: A}), "at least 1"),
        (lambda: ModeMatrices({1: A, 2: B}), "same number of phases"),
        (lambda: IndependentRobots(()), "at least one BMAP"),
        (lambda: ThinnedStream(A, (0.5, 0.4)), "increase"),
        (lambda: ThinnedStream(A, (0.0, 1.0)), r"in \(0, 1\]"),
        (lambda: ThinnedStream(A, ()), "non-empty"),
        (lambda: ScaledStream(A, 0), "at least 1"),
        (lambda: MarkedStream(A.D[0], []), "non-empty list of lists"),
        (lambda: MarkedStream(A.D[0], [[]]), "non-empty list of matrices"),
        (lambda: MarkedStream(A.D[0], [[A.D[1]]]), "must sum to 0"),
        (lambda: MarkedStream(A.D[0], [[A.D[1], A.D[2]], [np.zeros((2, 2))]]), "every robot must bring pages"),
    ],
)
def test_wrong_arrivals_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
