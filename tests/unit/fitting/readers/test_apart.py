"""Several files read by worker processes or a cluster: the same bits, refusals and whole answers as in one process."""

import gzip
import json

import numpy as np
import pytest

from benchmarks.scale.made_log import write_days
from crawltwin.cli.main import main
from crawltwin.model.errors import InputError
from fitting.readers import ReadOptions, read_log
from fitting.readers.columns import OPTIONAL


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    folder = tmp_path_factory.mktemp("days")
    first, second, third = write_days(folder, 3, 800)
    packed = folder / "day-001.log.gz"
    packed.write_bytes(gzip.compress(second.read_bytes()))
    return [third, packed, first, third]


def check_same(one, other):
    assert (one.files, one.notes, one.rows, one.dropped) == (other.files, other.notes, other.rows, other.dropped)
    for name in ("time", *OPTIONAL):
        ours, theirs = getattr(one, name, None), getattr(other, name, None)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_array_equal(ours, theirs)


def test_two_processes_read_the_same_bits(days):
    here = read_log(days)
    assert len(here) == 2400
    check_same(here, read_log(days, options=ReadOptions(workers=2)))


def test_a_cluster_reads_the_same_bits(days):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        found = read_log(days, options=ReadOptions(cluster=cluster.scheduler_address))
    check_same(read_log(days), found)


@pytest.mark.parametrize("text", [None, "one\ntwo\n" * 20, "1.5\n2.5\n4.0\n" * 20], ids=["missing", "unknown", "mixed"])
def test_processes_refuse_in_the_same_words(days, tmp_path, text):
    odd = tmp_path / "odd.log"
    if text is not None:
        odd.write_text(text)
    words = []
    for workers in (1, 2):
        with pytest.raises(InputError) as caught:
            read_log([days[0], odd], options=ReadOptions(workers=workers))
        words.append(str(caught.value))
    assert words[0] == words[1]


def test_columns_that_are_gathered_on_the_way_are_the_same(days, monkeypatch):
    here = read_log(days)
    monkeypatch.setattr("fitting.readers.assemble.GATHERED", 100)
    monkeypatch.setattr("fitting.readers.input.line_blocks.blocks.__defaults__", (9_000, 4 * 2**20))
    check_same(here, read_log(days))


@pytest.fixture(scope="module")
def six_days(tmp_path_factory):
    """Six days, given out of order: one packed, one given twice, one that holds no delivery."""
    folder = tmp_path_factory.mktemp("six")
    paths = write_days(folder, 6, 100)
    packed = folder / "day-001.log.gz"
    packed.write_bytes(gzip.compress(paths[1].read_bytes(), mtime=0))
    quiet = folder / "quiet.log"
    quiet.write_text(paths[0].read_text().replace(" 200 ", " 404 "))
    return [str(path) for path in (paths[4], packed, paths[0], quiet, *paths[2:4], paths[5], paths[5])]


def answer(six_days, capsys, *how):
    assert main(["fit", *six_days, "--model", "poisson", "--no-replay", "--json", "--quiet", *how]) == 0
    return timeless(json.loads(capsys.readouterr().out))


def timeless(value):
    """The same without the seconds that it took."""
    if isinstance(value, dict):
        return {name: timeless(one) for name, one in value.items() if name != "seconds"}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def test_two_workers_give_the_answer_of_one(six_days, capsys):
    one = answer(six_days, capsys, "--workers", "1")
    assert one["trace"]["deliveries"] == 600
    assert answer(six_days, capsys, "--workers", "2") == one


@pytest.mark.slow
def test_a_cluster_gives_the_answer_of_one_worker(six_days, capsys):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        apart = answer(six_days, capsys, "--cluster", cluster.scheduler_address)
    assert apart == answer(six_days, capsys, "--workers", "1")
