"""The scanner of flat JSON objects tells what the JSON parser tells, whatever the text."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fitting.readers.input.flat_json import members
from fitting.readers.input.json_objects import objects

NAMES = ("url", "status", "u")
TEXTS = st.text(st.sampled_from('ab:/-{}[],"\\\\ 0\u00e9\n\x7f'), max_size=8)
VALUES = st.one_of(
    TEXTS, st.integers(-5, 10**20), st.floats(), st.booleans(), st.none(), st.lists(st.integers(), max_size=2)
)
OBJECTS = st.dictionaries(st.one_of(st.sampled_from(NAMES), TEXTS), VALUES, max_size=4)


@st.composite
def lines(draw):
    """JSON objects, in several ways of writing, some of them damaged at one place."""
    compact, ascii_only = draw(st.booleans()), draw(st.booleans())
    separators = (",", ":") if compact else (" , ", ": ")
    line = json.dumps(draw(OBJECTS), separators=separators, ensure_ascii=ascii_only).encode()
    if draw(st.integers(0, 2)) == 0:
        at, new = draw(st.integers(0, len(line) - 1)), draw(st.sampled_from(b'{}[]",:0a \\\xff'))
        line = line[:at] + bytes([new]) + line[at + draw(st.integers(0, 1)) :]
    return line + draw(st.sampled_from([b"", b"\r", b" "]))


@given(st.lists(lines(), min_size=1, max_size=5))
def test_values_are_those_of_the_parser(texts):
    block = b"\n".join(texts) + b"\n"
    ends = np.cumsum([len(text) + 1 for text in texts]) - 1
    starts = ends - [len(text) for text in texts]
    grown, good, borders = members(block, starts, ends, NAMES)
    entries = objects(texts)
    assert good.tolist() == [entry is not None for entry in entries]
    for name in NAMES:
        for entry, first, last in zip(entries, *borders[name], strict=True):
            if entry is not None:
                assert grown[first:last] == str(entry.get(name, "")).encode("utf-8", errors="replace")


def test_plain_objects_stay_where_they_stand():
    block = b'{"url": "http://a.org/", "status": 200, "url": "b", "n": "x"}\n'
    grown, good, borders = members(block, np.array([0]), np.array([len(block) - 1]), NAMES)
    assert grown is block and good.all()
    assert [grown[a[0] : b[0]] for a, b in borders.values()] == [b"b", b"200", b""]
