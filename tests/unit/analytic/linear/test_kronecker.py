"""Triangular bases of clocks, count vectors and their neighbours, small inverses without subtraction."""

from math import comb

import mpmath
import numpy as np
import pytest

from analytic.linear.count_vectors import count_index, count_states, counts, one_less, one_more, ordered_classes
from analytic.linear.kronecker import PhaseBasis, inverse_table
from crawltwin.model import PhaseType, coxian, erlang, hyperexponential

CLOCKS = {
    "hyperexponential": hyperexponential([0.9, 0.1], [1.0, 0.02]),
    "erlang": erlang(4, 5.0),
    "coxian": coxian([3.0, 2.0, 1.0], [0.5, 0.25]),
    "backwards": PhaseType([0.0, 1.0], [[-1.0, 0.0], [2.0, -2.0]]),
    "cycle of two": PhaseType([0.3, 0.7], [[-0.6, 0.4], [0.1, -0.5]]),
    "cycle of three": PhaseType([0.5, 0.3, 0.2], [[-1.0, 0.9, 0], [0, -1.2, 1.1], [0.8, 0, -1.0]]),
}


@pytest.mark.parametrize("name", CLOCKS)
def test_basis_is_triangular_and_has_the_same_moments(name: str) -> None:
    clock = CLOCKS[name]
    basis = PhaseBasis.of(clock.initial, clock.subgenerator, clock.exit_rates)
    assert not np.tril(basis.matrix, -1).any()
    assert basis.natural == ("cycle" not in name)
    inverse = np.linalg.inv(-basis.matrix)
    for k in (1, 2, 3):
        moment = basis.start @ np.linalg.matrix_power(inverse, k) @ basis.ones * np.prod(range(1, k + 1))
        assert moment == pytest.approx(clock.moment(k), rel=1e-12)
    assert basis.start @ inverse @ basis.leave == pytest.approx(1.0, rel=1e-12)


def test_complex_eigenvalues_take_the_complex_form() -> None:
    clock = CLOCKS["cycle of three"]
    basis = PhaseBasis.of(clock.initial, clock.subgenerator, clock.exit_rates)
    assert basis.matrix.dtype == np.complex128
    assert np.abs(np.diag(basis.matrix).imag).max() > 0.1


@pytest.mark.parametrize(("pages", "phases"), [(0, 1), (5, 1), (0, 3), (4, 2), (5, 3), (3, 5)])
def test_counts_are_all_there_once_and_numbered_in_order(pages: int, phases: int) -> None:
    vectors = counts(pages, phases)
    assert len(vectors) == count_states(pages, phases) == comb(pages + phases - 1, phases - 1)
    assert len({tuple(vector) for vector in vectors.tolist()}) == len(vectors)
    assert (vectors.sum(axis=1) == pages).all()
    assert count_index(vectors, phases).tolist() == list(range(len(vectors)))


def test_moving_a_page_to_a_later_phase_leads_further_down() -> None:
    vectors = counts(4, 3)
    for vector in vectors[(vectors[:, 0] > 0)]:
        moved = vector + np.array([-1, 0, 1])
        assert count_index(moved[None], 3)[0] > count_index(vector[None], 3)[0]


def test_one_more_and_one_less_undo_each_other() -> None:
    more, less = one_more(3, 3), one_less(4, 3)
    for place in range(len(more)):
        for phase in range(3):
            assert less[more[place, phase], phase] == place
    assert (less[counts(4, 3) == 0] == -1).all()


def test_ordered_strings_know_their_counts() -> None:
    classes = ordered_classes(3, 2)
    for string in range(8):
        ones = string.bit_count()
        assert counts(3, 2)[classes[string]].tolist() == [3 - ones, ones]


def test_small_inverses_are_right_in_every_entry_however_small() -> None:
    rates = np.array([[0.0, 1e-9, 0.0], [2.0, 0.0, 1e-12], [0.0, 3.0, 0.0]])
    row_sums, shifts = np.array([1.0, 1e-3, 0.5]), np.array([0.0, 2.0])
    table = np.empty((2, 3, 3))
    inverse_table(rates, row_sums, shifts, table)
    for shift, inverse in zip(shifts, table):
        with mpmath.workdps(60):
            block = mpmath.diag([mpmath.mpf(r) + shift + mpmath.fsum(row) for r, row in zip(row_sums, rates)])
            exact = (block - mpmath.matrix(rates.tolist())) ** -1
        np.testing.assert_allclose(inverse, np.array(exact.tolist(), dtype=float), rtol=1e-14)
