"""What is kept comes back bit for bit, and what cannot be kept is refused."""

import math
from pathlib import Path

import numpy as np
import pytest

from crawltwin.model import InputError, examples
from crawltwin.work.store import Store, key_of


@pytest.mark.parametrize(
    "piece",
    [None, True, 3, 0.1 + 0.2, "Straße", [1, [2.5, None]], {"a": {"b": [1.5]}}, 5e-324, -0.0, 2**80, math.inf],
)
def test_plain_values_come_back(tmp_path: Path, piece: object):
    store = Store(tmp_path)
    store.put("k1", piece)
    found = Store(tmp_path).get("k1")
    assert found == piece
    assert repr(found) == repr(piece)


def test_arrays_come_back_bit_for_bit(tmp_path: Path):
    store, arrays = (
        Store(tmp_path),
        [np.array([[np.nan, -0.0], [1e-310, np.inf]]), np.arange(5, dtype=np.int8), np.zeros((0, 3))],
    )
    store.put("k", {"arrays": arrays})
    for array, found in zip(arrays, store.get("k")["arrays"], strict=True):
        assert found.dtype == array.dtype
        assert found.shape == array.shape
        assert found.tobytes() == array.tobytes()


def test_keys_depend_on_the_content():
    paper, other = examples.load("paper"), examples.load("mm1k")
    assert key_of("run", paper, 1) == key_of("run", examples.load("paper"), 1)
    keys = {key_of(*parts) for parts in [("run", paper, 1), ("run", other, 1), ("run", paper, 2), ("run", paper, 1.0)]}
    assert len(keys) == 4
    assert key_of(np.array([1.0])) != key_of(np.array([1]))


def test_a_missing_piece_is_a_key_error(tmp_path: Path):
    store = Store(tmp_path)
    assert "none" not in store
    with pytest.raises(KeyError):
        store.get("none")


@pytest.mark.parametrize("key", ["", "../up", "a/b", "a b"])
def test_keys_that_are_paths_are_refused(tmp_path: Path, key: str):
    with pytest.raises(InputError, match="key must be letters and digits"):
        Store(tmp_path).put(key, 1)


def test_what_is_not_plain_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="a piece must be made of plain values and arrays; got object"):
        Store(tmp_path).put("k", object())
    assert "k" not in Store(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="store must be a folder that can be written"):
        Store(tmp_path / "file" / "inside")


@pytest.mark.parametrize("damage", ["swapped", "one digit", "cut", "empty", "binary", "a folder"])
def test_a_damaged_piece_counts_as_missing(tmp_path: Path, damage: str):
    store = Store(tmp_path)
    store.put("k1", {"cost": 1.5})
    store.put("k2", {"cost": 2.5})
    file = tmp_path / "k1" / "k1.json"
    whole = file.read_bytes()
    made = {
        "swapped": (tmp_path / "k2" / "k2.json").read_bytes(),
        "one digit": whole.replace(b"1.5", b"1.6"),
        "cut": whole[:-2],
        "empty": b"",
        "binary": bytes(range(256)),
    }
    file.unlink()
    if damage == "a folder":
        file.mkdir()
    else:
        file.write_bytes(made[damage])
    assert "k1" not in store
    with pytest.raises(KeyError):
        store.get("k1")
    assert store.get("k2") == {"cost": 2.5}


def test_no_change_of_one_byte_goes_unseen(tmp_path: Path):
    """Neither in the content nor in the checksum, nor in the line end between them."""
    store = Store(tmp_path)
    store.put("k1", {"cost": 1.5})
    file = tmp_path / "k1" / "k1.json"
    whole = file.read_bytes()
    changed = [whole[:i] + bytes([other]) + whole[i + 1 :] for i in range(len(whole)) for other in (whole[i] ^ 1, 13)]
    longer = [whole[:i] + extra + whole[i:] for i in range(len(whole) + 1) for extra in (b"\r", b"\n", b"\0")]
    for damaged in changed + longer:
        file.write_bytes(damaged)
        assert "k1" not in store, damaged
