"""A WARC file gives the same log whoever unpacks it: ISA-L where it is installed, zlib elsewhere; whole or damaged."""

import gzip
import random

import numpy as np
import pytest

from crawltwin.model.errors import InputError
from fitting import read_log
from fitting.readers.input import fast_gzip
from tests.warc_files import record


def pages(count=60):
    """Responses of several statuses, types and hosts, with requests, look-ups and revisits among them."""
    rng = random.Random(3)
    parts = [record("warcinfo", None, b"software: x\r\n", second=0)]
    for i in range(count):
        status, media = [(200, "text/html"), (404, "text/html"), (200, "image/png"), (301, "")][i % 4]
        body = bytes(rng.randrange(256) for _ in range(400)) + b"<p>text</p>" * 300
        http = f"HTTP/1.1 {status} X\r\nContent-Type: {media}\r\n\r\n".encode()
        address = f"http://host{i % 3}.org/{i}"
        parts.append(record("request", address, b"GET / HTTP/1.1\r\n\r\n", second=i))
        parts.append(record("revisit" if i % 7 == 6 else "response", address, http + body, second=i))
        parts.append(record("response", "dns:host.org", b"1.2.3.4", second=i))
    return parts


def answer(path):
    try:
        log = read_log(path, log_format="warc")
    except InputError as error:
        return str(error)
    columns = {name: getattr(log, name) for name in ("time", "size", "page", "content", "host")}
    return log.account(), log.notes, log.other_lines, {name: column.tobytes() for name, column in columns.items()}


def both(path, monkeypatch):
    pytest.importorskip("isal")
    fast = answer(path)
    with monkeypatch.context() as without:
        without.setattr(fast_gzip, "find_spec", lambda name: None)
        return fast, answer(path)


def test_plain_members_and_one_member_give_one_log(tmp_path, monkeypatch):
    parts = pages()
    plain, members, one = (tmp_path / name for name in ("a.warc", "members.warc.gz", "one.warc.gz"))
    plain.write_bytes(b"".join(parts))
    members.write_bytes(b"".join(map(gzip.compress, parts)))
    one.write_bytes(gzip.compress(b"".join(parts)))
    expected = answer(plain)
    assert expected[0]["deliveries"] == sum(i % 4 in (0, 2) for i in range(60))
    for path in (members, one):
        assert both(path, monkeypatch) == (expected, expected)


@pytest.mark.parametrize("whole", [True, False])
def test_damaged_and_truncated_files_give_one_log(tmp_path, monkeypatch, whole):
    parts = pages()
    good = gzip.compress(b"".join(parts)) if whole else b"".join(map(gzip.compress, parts))
    path, rng = tmp_path / "a.warc.gz", random.Random(5)
    seen = set()
    for turn in range(40):
        data = bytearray(good)
        if turn % 2:
            data = data[: rng.randrange(200, len(data))]
        else:
            data[rng.randrange(200, len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(data))
        fast, slow = both(path, monkeypatch)
        assert fast == slow
        seen.add(fast[0]["deliveries"] if isinstance(fast, tuple) else -1)
    assert len(seen) > 5


def test_garbage_between_members_is_told_and_what_came_before_counts(tmp_path, monkeypatch):
    parts = [gzip.compress(part) for part in pages()]
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(parts[:31]) + b"garbage" * 9 + b"".join(parts[31:]))
    fast, slow = both(path, monkeypatch)
    assert fast == slow
    assert fast[0]["deliveries"] == 5
    assert "breaks off" in fast[1][0]


def test_damage_in_a_long_member_loses_nothing_before_it(tmp_path):
    # Random digits, so that what is packed is long: the damage lies many pieces behind the member's beginning.
    digits = np.random.default_rng(1).integers(48, 58, 400_000, dtype=np.uint8).tobytes()
    packed = bytearray(gzip.compress(digits))
    cut = len(packed) * 3 // 4
    packed[cut : cut + 4000] = b"\xff" * 4000
    path = tmp_path / "a.gz"
    path.write_bytes(bytes(packed))
    from fitting.readers.input.opening import open_sources

    with open_sources(path) as sources:
        source = next(sources)
        found = source.read()
    assert source.broken_off
    assert len(found) > 0.74 * len(digits)
    assert digits[: int(0.74 * len(digits))] == found[: int(0.74 * len(digits))]
