"""Printed numbers and the search for where wrong ones come from."""

import pytest

from validate.paper.judging.neighbours import NearbyValue, explain, slip_of_the_pen
from validate.paper.printed.number import Printed
from validate.paper.printed.source import paper, robots_of, table, thresholds_of


@pytest.mark.parametrize(
    ("text", "ours", "how"),
    [
        ("89.40", 89.4049, "rounded and truncated"),
        ("89.40", 89.4099, "truncated"),
        ("89.41", 89.4099, "rounded"),
        ("0.02", 0.0291, "truncated"),
        ("-0.218", -0.2189, "truncated"),
        ("1.43", 1.4250, "rounded"),
        ("33.7", 33.6001, "within one unit"),
        ("33.7", 33.5999, ""),
        ("33.7", 33.8001, ""),
        ("2046", 4094, ""),
        ("6.58e-5", 6.5849e-5, "rounded and truncated"),
    ],
)
def test_agreement(text: str, ours: float, how: str) -> None:
    assert Printed(text).agreement(ours) == how


def test_dropped_zeros_keep_the_unit_of_their_column() -> None:
    assert Printed("110").agreement(110.4)  # on its own: one unit is 1
    assert not Printed("110", decimals=2).agreement(110.4)
    assert Printed("110", decimals=2).agreement(110.009) == "truncated"


@pytest.mark.parametrize(
    ("text", "ours", "kind"),
    [
        ("52.07", 51.0774, "digit"),
        ("12.34", 13.24, None),  # two digits that did not change places as neighbours
        ("12.34", 21.34, "digits exchanged"),
        ("3.48", -3.48, "sign"),
        ("-0.02", 0.02, "sign"),
        ("622", 62.2, "decimal point"),
        ("0.622", 6.22, "decimal point"),
        ("80.50", 67.5207, None),
    ],
)
def test_slips_of_the_pen(text: str, ours: float, kind: str | None) -> None:
    found = slip_of_the_pen(Printed(text), ours)
    assert (found.kind if found else None) == kind


def test_nearest_explanation_wins() -> None:
    row, far = (
        NearbyValue("row below", "those of the next row", 52.071, next_row=True),
        NearbyValue("other policy", "another's", 52.072),
    )
    found = explain(Printed("52.07"), 51.0774, [row, far])
    assert found is not None
    assert found.kind == "row below"
    found = explain(Printed("52.07"), 51.0774, [far])
    assert found is not None
    assert found.kind == "digit"
    found = explain(Printed("80.50"), 67.5, [NearbyValue("row", "no", 1.0), NearbyValue("other policy", "yes", 80.504)])
    assert found is not None
    assert (found.kind, found.tried) == ("other policy", 2)
    assert explain(Printed("80.50"), 67.5, []) is None


def test_data_files_are_whole() -> None:
    assert [len(table(n).rows) for n in range(1, 6)] == [15, 12, 15, 22, 15]
    assert all(len(row) == len(table(n).columns) for n in range(1, 6) for row in table(n).rows)
    assert {item["place"] for item in paper()["numbers"]}
    assert len(paper()["claims"]) == 16
    assert robots_of("4 or 3 or 1") == robots_of("1,3,4") == (4, 3, 1)
    assert thresholds_of("--") == ()
    assert thresholds_of("0,2,2") == (0, 2, 2)
