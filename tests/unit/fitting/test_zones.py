"""Local times, against the zone database."""

import datetime as dt
import zoneinfo

import numpy as np
import pytest

from crawltwin.model.errors import InputError
from fitting import read_log
from fitting.readers.times.zones import mend_steps_back, to_utc

PARIS = zoneinfo.ZoneInfo("Europe/Paris")
# From two hours before the clocks go back to two hours after, a page a minute.
BEGIN = dt.datetime(2023, 10, 28, 23, 0, tzinfo=dt.UTC)
MOMENTS = [BEGIN + dt.timedelta(minutes=i) for i in range(300)]


def wall(moment):
    return moment.astimezone(PARIS).strftime("%Y-%m-%d %H:%M:%S")


def as_ns(moments):
    return np.array([round(moment.timestamp()) * 10**9 for moment in moments])


def local_ns(moments):
    return as_ns([moment.astimezone(PARIS).replace(tzinfo=dt.UTC) for moment in moments])


def test_the_hour_that_comes_twice_is_told_apart_by_order():
    assert to_utc(local_ns(MOMENTS), "Europe/Paris").tolist() == as_ns(MOMENTS).tolist()


def test_summer_and_winter_have_their_own_offsets():
    moments = [dt.datetime(2023, month, 15, 12, tzinfo=dt.UTC) for month in range(1, 13)]
    assert to_utc(local_ns(moments), "Europe/Paris").tolist() == as_ns(moments).tolist()


def test_a_step_back_is_mended_without_a_zone():
    mended, rows = mend_steps_back(local_ns(MOMENTS))
    assert len(rows) == 1
    assert (np.diff(mended) == 60 * 10**9).all()


def test_rows_out_of_order_are_no_step():
    shuffled = as_ns(MOMENTS)
    shuffled[[50, 51]] = shuffled[[51, 50]]
    shuffled[100] -= 3600 * 10**9
    assert mend_steps_back(shuffled)[1] == []


@pytest.mark.parametrize("zone", ["Europe/Paris", None])
def test_a_scrapy_log_over_the_change(tmp_path, zone):
    path = tmp_path / "log"
    path.write_text("".join(
        f"{wall(m)} [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a/> (referer: None)\n" for m in MOMENTS
    ))  # fmt: skip
    log = read_log(path, timezone=zone)
    assert (np.diff(log.time) == 60 * 10**9).all()
    if zone:
        assert log.time.tolist() == as_ns(MOMENTS).tolist()


def test_an_unknown_zone_is_told(tmp_path):
    with pytest.raises(InputError, match="timezone must be a name of the zone database; got 'Mars/Base'"):
        read_log(tmp_path / "x", timezone="Mars/Base")
