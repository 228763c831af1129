"""Small logs, written where a test can read them."""

import datetime as dt

import pytest


@pytest.fixture
def written(tmp_path):
    def write(content, name="log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def utc():
    def nanoseconds(text):
        moment = dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
        return round(moment.timestamp() * 1000) * 10**6

    return nanoseconds
