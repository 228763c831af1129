"""Times, against Python's own datetime."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitting.readers.times import stamps

DAYS = st.integers(1, 106_000), st.integers(0, 86_399_999_999)
MOMENTS = st.tuples(*DAYS).map(
    lambda at: dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(days=at[0], microseconds=at[1])
)
ZONES = st.integers(-18 * 60 + 1, 18 * 60 - 1).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))


def nanoseconds(moment):
    since = moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000


@given(st.lists(MOMENTS, min_size=1, max_size=20), ZONES)
def test_iso_with_zone_is_datetime(moments, zone):
    moments = [moment.replace(tzinfo=zone) for moment in moments]
    times, zoned = stamps.iso([moment.isoformat().encode() for moment in moments])
    assert zoned
    assert times.tolist() == [nanoseconds(moment) for moment in moments]


@given(st.lists(MOMENTS, min_size=1, max_size=20))
def test_compact_and_common_log_are_datetime(moments):
    moments = [moment.replace(microsecond=0, tzinfo=dt.UTC) for moment in moments]
    wanted = [nanoseconds(moment) for moment in moments]
    assert stamps.compact([moment.strftime("%Y%m%d%H%M%S").encode() for moment in moments]).tolist() == wanted
    texts = [moment.strftime("%d/%b/%Y:%H:%M:%S +0000").encode() for moment in moments]
    assert stamps.common_log(texts).tolist() == wanted


@pytest.mark.parametrize(
    "text",
    [
        b"2023-02-29T00:00:00Z", b"2023-13-01T00:00:00Z", b"2023-00-10T00:00:00Z", b"2023-01-01T24:00:00Z",
        b"2023-01-01T00:60:00Z", b"2023-01-01T00:00:00Zx", b"9999-01-01T00:00:00Z", b"1923-01-01T00:00:00Z",
        b"2023-01-01", b"", b"2023-01-01T00:00:00+25:00", b"garbage garbage garbage",
    ],
)  # fmt: skip
def test_impossible_times_are_invalid(text):
    assert stamps.iso([text])[0][0] == stamps.INVALID


def test_leap_second_is_the_next_second():
    assert stamps.iso([b"2016-12-31T23:59:60Z"])[0][0] == stamps.iso([b"2017-01-01T00:00:00Z"])[0][0]


@pytest.mark.parametrize(("unit", "factor"), [(1, 1), (1_000_000, 1e3), (1_000, 1e6), (1, 1e9)])
def test_epoch_units_are_told_by_size(unit, factor):
    seconds = np.array([1_460_000_000.0, 1_460_000_001.0])
    expected = {1: 10**9, 1e3: 10**6, 1e6: 10**3, 1e9: 1}[factor]
    found = stamps.epoch_unit(seconds * factor)
    assert found == expected
    assert stamps.from_numbers(seconds * factor, found).tolist() == [1_460_000_000 * 10**9, 1_460_000_001 * 10**9]


def test_numbers_that_are_none():
    values = stamps.floats([b"1.5", b"", b"nan", b"x", b"1e3"])
    assert values[[0, 4]].tolist() == [1.5, 1000.0]
    assert np.isnan(values[1:4]).all()
    assert stamps.from_numbers(np.array([np.inf, np.nan, 1e300]), 10**9).tolist() == [stamps.INVALID] * 3


@pytest.mark.parametrize(("end", "kind", "shift"), [("", "local", 0), ("Z", "zoned", 0), ("+02:00", "zoned", 7200)])
def test_times_of_whole_minutes_are_read(end, kind, shift):
    moments = [dt.datetime(2024, 5, 1, 8, minute, tzinfo=dt.UTC) for minute in range(60)]
    times, found = stamps.parse_any([(moment.strftime("%Y-%m-%d %H:%M") + end).encode() for moment in moments])
    assert found == kind
    assert times.tolist() == [nanoseconds(moment) - shift * 10**9 for moment in moments]


def test_a_time_that_was_cut_is_no_time_of_a_whole_minute():
    times, _ = stamps.parse_any([b"2024-05-01 08:30:01"] * 3 + [b"2024-05-01 08:31"])
    assert times[3] == stamps.INVALID
