"""The founding paper: the misprints that were known beforehand are found, nothing else is called wrong.

The expected corrections below come from reading the paper by hand; the program must find them by itself.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crawltwin.model import BMAP, examples
from crawltwin.work import workers
from crawltwin.work.store import Store, key_of
from tests.reproduction import shared_store, whole
from validate.paper import Reproduction, compare, reproduce, reproduction
from validate.paper.printed import matrices, source
from validate.paper.printed.source import PrintedTable
from validate.paper.printed.systems import first_example
from validate.paper.reproduction import PaperPiece
from validate.paper.tables import first_table, measured, sweeps
from validate.paper.text import correlations

KNOWN = {
    ("section 2, interpretation 1", "D_0^(l) with Kronecker products"): None,
    ("section 5, equation (20)", "B^_0"): None,
    ("section 7, arrival matrices", "D_0^(3), entry (2,2)"): -3.48,
    ("section 7, arrival matrices", "D_1^(2), entry (1,1)"): 0.01,
    ("section 7, arrival matrices", "D_2^(2), entry (1,1)"): 0.02,
    ("Table 1", "4 or 3 or 1, cost"): 67.52,
    ("Table 2", "K = 3, j*"): "1",
    ("Table 2", "K = 6, j*"): "2",
    ("Table 2", "K = 7, j*"): "2",
    ("Table 2", "K = 8, C_1"): 139.7,
    ("Table 2", "K = 9, C_1"): 138.5,
    ("Table 2", "K = 10, C_1"): 137.9,
    ("Table 2", "K = 1, R"): 21.2,
    ("Table 3", "s = 3, robots"): "4,3,1",
    ("Table 3", "s = 3, j*"): "1,3",
    ("Table 3", "s = 15, C*"): 303.47,
    ("Table 4", "s = 0.01, C*"): 51.07,
    ("Table 4", "s = 30, C_1"): 230.43,
    ("section 7, measured data", "D_0 and A of the measured crawler"): None,
    **{("section 7, measured data", f"correlation of gaps at lag {lag}"): None for lag in range(1, 7)},
    # Found by counting the states of the built chain: the formula leaves out the highest level.
    ("section 3, after equation (4)", "number of states"): 4094,
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return whole(shared_store(tmp_path_factory))


def test_every_known_misprint_is_found_and_nothing_else(found: Reproduction) -> None:
    misprints = {(item.where, item.what): item for item in found.of("misprint")}
    assert set(misprints) == set(KNOWN)
    assert found.of("not reproducible") == ()
    for place, correction in KNOWN.items():
        if isinstance(correction, str):
            assert misprints[place].ours == correction
        elif correction is not None:
            unit = 10.0 ** -len(str(correction).partition(".")[2])
            assert misprints[place].value == pytest.approx(correction, abs=unit)
    assert all(item.words for item in misprints.values())


def test_kinds_of_the_misprints(found: Reproduction) -> None:
    kinds = {(item.where, item.what): item.how for item in found.of("misprint")}
    assert kinds["Table 1", "4 or 3 or 1, cost"] == "row"
    assert {kinds["Table 2", f"K = {K}, C_1"] for K in (8, 9, 10)} == {"column slipped by a row"}
    assert (
        kinds["Table 4", "s = 0.01, C*"] == kinds["Table 4", "s = 30, C_1"] == kinds["Table 2", "K = 1, R"] == "digit"
    )
    assert kinds["Table 3", "s = 15, C*"] == "other policy"
    words = {(item.where, item.what): item.words for item in found.of("misprint")}
    assert "robots 4,1 at threshold 0" in words["Table 3", "s = 15, C*"]
    assert "robots 4,1 at threshold 1: 162.83" in words["Table 3", "s = 3, robots"]


def test_repaired_matrices_are_those_of_the_ready_example() -> None:
    ours, ready = first_example().arrivals, examples.load("paper").arrivals
    for robots in (1, 2, 3, 4):
        assert len(matrices.sign_repairs(robots)) == 1
        for left, right in zip(ours.mode(robots).D, ready.mode(robots).D, strict=True):
            assert np.array_equal(left, right)


def _with_cell(printed: PrintedTable, row: int, column: str, text: str) -> PrintedTable:
    rows = [list(cells) for cells in printed.rows]
    rows[row][printed.columns.index(column)] = text
    return replace(printed, rows=tuple(map(tuple, rows)))


@pytest.mark.parametrize(
    ("row", "column", "text", "kind"),
    [
        (4, "C_2", "119.0", "digit"),  # 110.0 with one digit changed
        (4, "C_4", "103.3", "digits exchanged"),  # 130.3
        (4, "C_3", "86.7", "row below"),  # the value of K = 6
        (4, "C_3", "94.7", "row above"),  # the value of K = 4
        (4, "C*", "67.4", "other policy"),  # threshold 1 instead of 2
        (4, "C_3", "149.9", "other column"),  # C_1
        (4, "j*", "3", "another policy"),
        (4, "C_3", "777.7", "unexplained"),
    ],
)
def test_planted_misprints_are_found(monkeypatch, row: int, column: str, text: str, kind: str) -> None:
    # Capacities up to 7 are enough here, and quick.
    planted = _with_cell(replace(source.table(2), rows=source.table(2).rows[:7]), row, column, text)
    monkeypatch.setattr(sweeps, "table", lambda number: planted)
    judged = sweeps.findings(sweeps.SWEEPS[0])
    wrong = {item.what for item in judged if item.verdict != "reproduced"}
    known = {what for where, what in KNOWN if where == "Table 2"}
    cell = f"K = 5, {column}"
    item = next(item for item in judged if item.what == cell)
    assert item.how == kind
    assert item.verdict == ("not reproducible" if kind == "unexplained" else "misprint")
    assert wrong - known == {cell}  # no right number beside it is called wrong


def test_corrected_table_is_reproduced_whole(monkeypatch) -> None:
    corrected = source.table(1)
    corrected = _with_cell(corrected, 12, "cost", "67.52")
    monkeypatch.setattr(first_table, "table", lambda number: corrected)
    assert {item.verdict for item in first_table.findings()} == {"reproduced"}


def test_planted_sign_is_found(monkeypatch) -> None:
    blocks = matrices.printed_matrices(4)
    blocks[0][0, 1] *= -1
    monkeypatch.setattr(matrices, "printed_matrices", lambda robots: blocks)
    matrices.sign_repairs.cache_clear()
    try:
        assert matrices.sign_repairs(4) == (((0, 0, 1),),)
    finally:
        matrices.sign_repairs.cache_clear()


def test_table_5_inputs_round_to_the_print(found: Reproduction) -> None:
    rng = np.random.default_rng(5)
    given = source.paper()["measured"]
    for t in [*rng.random((20, 7)), np.zeros(7), np.ones(7)]:
        inputs = measured.in_box(t)
        A = np.array(inputs.A)
        printed = np.array([[float(text) for text in row] for row in given["A"]])
        half = np.array([[5e-5, 5e-8], [5e-6, 5e-5]])
        assert (np.abs(A - printed) <= half * (1 + 1e-9)).all()
        out = A.sum(axis=1)
        assert (np.abs(out - [0.0038, 0.0066]) <= 5e-5 * (1 + 1e-9)).all()
    for item in found.intervals:
        assert item.low < item.printed < item.high
        assert item.witness == pytest.approx(item.printed, abs=0.01)


def test_no_map_of_order_two_passes_the_bound() -> None:
    rng = np.random.default_rng(9)
    for _ in range(300):
        rates = rng.exponential(size=(2, 4)) ** 2
        D0 = np.array([[-rates[0].sum() + rates[0, 0], rates[0, 1]], [rates[1, 0], -rates[1].sum() + rates[1, 1]]])
        D1 = np.array([[rates[0, 2], rates[0, 3]], [rates[1, 2], rates[1, 3]]])
        D0[0, 0], D0[1, 1] = -(rates[0, 1] + D1[0].sum()), -(rates[1, 0] + D1[1].sum())
        process = BMAP([D0, D1])
        scv = process.interval_variance / process.interval_moment(1) ** 2
        limit = abs(scv - 1) / (2 * scv)
        assert abs(process.correlation(1)) <= limit + 1e-9
        assert abs(process.correlation(2)) <= limit + 1e-9
    assert correlations.bound() == pytest.approx(0.0623, abs=5e-5)
    assert correlations.nearest_power() == 1


def test_claims(found: Reproduction) -> None:
    verdicts = {claim.name: claim.holds for claim in found.claims}
    refuted = {name for name, holds in verdicts.items() if not holds}
    assert refuted == {"more robots cost more but starve less", "two modes at every service variance"}
    words = {claim.name: claim.words for claim in found.claims}
    assert "5: robots 4,3,1 at thresholds (1,2)" in words["two modes at every service variance"]


def test_other_authors(found: Reproduction) -> None:
    assert {item.verdict for item in found.others} == {"reproduced"}
    assert len({item.where for item in found.others}) >= 3


def test_interrupted_run_goes_on_and_gives_the_same(tmp_path: Path) -> None:
    # Short pieces stand in for the long ones; what is kept and how it is put together is the real thing.
    names = ["matrices", "formulas", "trace", "numbers"]
    pieces = [PaperPiece("findings", name) for name in names]
    calls: list[str] = []
    real = reproduction.compute

    def counted(piece: PaperPiece):
        calls.append(piece.name)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(piece)

    store = Store(tmp_path)
    keys = [key_of("reproduce", name) for name in names]
    with pytest.raises(KeyboardInterrupt):
        list(workers.run(counted, pieces, workers=1, store=store, keys=keys))
    again = list(workers.run(counted, pieces, workers=1, store=store, keys=keys))
    assert calls == ["matrices", "formulas", "trace", "trace", "numbers"]
    assert json.dumps(again) == json.dumps([real(piece) for piece in pieces])


def test_second_run_takes_everything_from_the_store(found: Reproduction, tmp_path_factory, monkeypatch) -> None:
    monkeypatch.setattr("validate.paper.reproduction.compute", None)  # nothing may be computed again
    again = reproduce(workers=1, store=Store(shared_store(tmp_path_factory)))
    assert json.dumps(again.to_json()) == json.dumps(found.to_json())


def test_compare_finds_what_changed(found: Reproduction) -> None:
    answer = found.to_json()
    assert compare(answer, answer) == []
    changed = json.loads(json.dumps(answer))
    changed["findings"][40]["value"] *= 1 + 1e-6
    changed["findings"][41]["verdict"] = "misprint"
    changed["claims"][0]["holds"] = False
    changed["figures"]["4"][0]["costs"][0] += 1e-3
    changed["others"].pop()
    assert len(compare(answer, changed)) == 5
    changed = json.loads(json.dumps(answer))
    changed["findings"][40]["value"] *= 1 + 1e-12  # rounding of another machine
    changed["findings"][40]["words"] = "other words"
    assert compare(answer, changed) == []
