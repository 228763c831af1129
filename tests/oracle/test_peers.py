"""The peers of the benchmarks simulate the queue that we think they do; the harness finds and compares them."""

import json

import pytest

from benchmarks.__main__ import discover, main
from benchmarks.peers_simulation import Queue, ciw_run, simpy_process_run
from benchmarks.rows import Row, as_markdown, with_ratios
from tests.oracle.closed_forms import mm1k_reneging


@pytest.mark.parametrize("peer", [ciw_run, simpy_process_run])
def test_the_peers_simulate_the_same_queue(peer):
    if peer is ciw_run:
        pytest.importorskip("ciw")
    queue = Queue(arrival_rate=1.0, service_rate=1.0, obsolescence_rate=0.5, capacity=3)
    run = peer(20_000, queue, seed=2)
    exact = mm1k_reneging(1.0, 1.0, 0.5, 3)
    # 20,000 pages, neighbours correlated: an effective 5,000 independent ones; four standard errors.
    for name, count in (("loss_probability", run.lost), ("obsolescence_probability", run.obsolete)):
        margin = 4 * (exact[name] * (1 - exact[name]) / 5_000) ** 0.5
        assert count / run.arrived == pytest.approx(exact[name], abs=margin)
    assert run.arrived == pytest.approx(20_000, abs=4 * 20_000**0.5)
    assert run.events == run.arrived + run.served + run.obsolete


def test_ratios_say_how_much_better_ours_is():
    rows = [
        Row("solve", "crawltwin", 2.0, "s"),
        Row("solve", "peer", 6.0, "s"),
        Row("simulate", "peer", 100.0, "events/s"),
        Row("simulate", "crawltwin, compiled", 4000.0, "events/s"),
        Row("alone", "peer", 1.0, "s"),
    ]
    table = with_ratios(rows)
    assert [row["ratio"] for row in table] == [None, 3.0, 40.0, None, None]
    assert "| simulate | peer | 100 | events/s | 40 x |" in as_markdown(table)


def test_the_benchmarks_are_found_and_written(tmp_path, monkeypatch, capsys):
    assert {"peers_chain", "peers_simulation"} <= discover().keys()
    monkeypatch.setattr("benchmarks.peers_chain.run", lambda: [Row("a case", "a peer", 1.5, "s", "a note")])
    for name in ("rows.md", "rows.json"):
        assert main(["peers_chain", "--out", str(tmp_path / name)]) == 0
    assert "| a case | a peer | 1.5 | s |" in (tmp_path / "rows.md").read_text()
    assert json.loads((tmp_path / "rows.json").read_text())["rows"][0]["contestant"] == "a peer"
    assert "a case" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["nothing"], ["peers_chain", "--out", "rows.txt"]])
def test_a_wrong_name_or_ending_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "must" in capsys.readouterr().err
