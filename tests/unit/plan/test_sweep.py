"""Sweeps: the paper's Tables 2 to 4, the same rows whoever computes them, interruption, files, errors."""

import json

import pandas as pd
import pytest

import crawltwin.plan.what_if.sweeps as plan_sweep
from analytic import solve
from crawltwin.cli.main import main
from crawltwin.model import InputError, ThresholdPolicy, examples
from crawltwin.pages.regions import policy_map, sweep_picture
from crawltwin.plan.what_if.axes import Axis, read_axis
from crawltwin.plan.what_if.sweeps import short_policy
from crawltwin.plan.what_if.sweeps import sweep as run_sweep
from crawltwin.work import workers
from crawltwin.work.store import Store

# Rows of the paper that its list of misprints does not touch: value, policy, C*, C_1..C_4.
TABLE_2 = [
    (1, "3,1@0", 147.5, 244.7, 233.4, 187.2, 258.8),
    (2, "3,1@1", 96.8, 199.2, 174.0, 128.8, 194.4),
    (4, "3,1@2", 68.3, 158.1, 121.7, 94.7, 140.6),
    (5, "3,1@2", 63.5, 149.9, 110.0, 89.4, 130.3),
    (20, "3,1@3", 57.2, 137.0, 86.3, 87.2, 120.0),
    (30, "3,1@3", 57.2, 137.0, 86.3, 87.4, 123.6),
]
TABLE_3 = [
    (0.1, "3,1@0", 53.1, 58.58, 80.67, 104.74, 131.84),
    (0.4, "3,1@1", 43.33, 80.36, 74.27, 86.7, 117.45),
    (0.9, "3,1@2", 58.88, 140.09, 103.05, 87.14, 126.89),
    (5.0, "4,1@1", 217.02, 272.19, 254.87, 243.01, 251.25),
    (11.0, "4,1@0", 288.23, 297.59, 298.7, 304.77, 310.39),
]
TABLE_4 = [
    (0.1, "3,1@3", 52.41, 132.22, 94.24, 81.99, 119.99),
    (0.5, "3,1@2", 57.6, 140.93, 101.67, 85.24, 124.67),
    (5.0, "3,1@1", 95.64, 187.76, 152.48, 117.52, 165.21),
    (200.0, "3,1@0", 150.08, 245.97, 237.19, 192.58, 269.62),
]


@pytest.mark.parametrize(
    ("name", "rows", "last_digit"),
    [("capacity", TABLE_2, 0.1), ("service.scale", TABLE_3, 0.01), ("obsolescence.scale", TABLE_4, 0.01)],
)
def test_tables_of_the_paper(name, rows, last_digit):
    found = run_sweep(examples.load("paper"), [Axis(name, tuple(row[0] for row in rows))])
    for (value, policy, *costs), row in zip(rows, found.rows, strict=True):
        assert row["point"] == {name: value}
        assert short_policy(row["best"]) == policy
        computed = [row["best"]["cost"], *(row["fixed"][str(r)] for r in (1, 2, 3, 4))]
        # The paper mostly truncates: within one unit of its last printed digit.
        assert computed == pytest.approx(costs, abs=1.01 * last_digit)


def test_measures_are_those_of_solve_under_the_best_policy():
    scenario = examples.load("paper")
    row = run_sweep(scenario, [Axis("capacity", (7,))]).rows[0]
    best = ThresholdPolicy(row["best"]["robots"], row["best"]["thresholds"])
    solved = solve(scenario.replace(capacity=7, policy=best), method="direct").measures
    assert set(row["measures"]) == {name for name in solved if name != "level_distribution"}
    for name, value in row["measures"].items():
        expected = solved[name]
        assert value == (None if expected is None else pytest.approx(expected, rel=1e-9)), name


def test_a_policy_with_resume_points_is_named_with_them():
    row = run_sweep(examples.load("hysteresis"), [Axis("capacity", (4,))]).rows[0]
    assert row["best"]["resume"] != row["best"]["thresholds"]
    robots, thresholds, resume = row["best"]["robots"], row["best"]["thresholds"], row["best"]["resume"]
    policy = ThresholdPolicy(robots, thresholds, resume)
    assert short_policy(row["best"]) == policy.short and "/" in policy.short
    scenario = examples.load("hysteresis").replace(capacity=4, policy=policy)
    assert row["measures"]["switch_rate"] == pytest.approx(solve(scenario, method="direct").measures["switch_rate"])


def test_own_policy_where_it_fits():
    scenario = examples.load("paper")
    rows = run_sweep(scenario, [Axis("capacity", (1, 5))]).rows
    assert rows[0]["own"] is None  # its threshold 2 is above the capacity 1
    assert rows[1]["own"] == pytest.approx(solve(scenario).measures["cost"], rel=1e-12)


def test_without_cost_the_own_policy_is_solved():
    scenario = examples.load("paper").replace(cost=None)
    row = run_sweep(scenario, [Axis("capacity", (6,))]).rows[0]
    assert row["best"] is None
    assert row["measures"]["loss_probability"] == solve(scenario.replace(capacity=6)).measures["loss_probability"]


def test_grid_order_and_the_same_rows_in_processes():
    axes = [Axis("capacity", (2, 3)), Axis("cost.loss", (1.0, 50.0))]
    scenario = examples.load("paper")
    here, there = run_sweep(scenario, axes), run_sweep(scenario, axes, workers=2)
    assert [tuple(row["point"].values()) for row in here.rows] == [(2, 1.0), (2, 50.0), (3, 1.0), (3, 50.0)]
    assert here.rows == there.rows


def test_interrupted_sweeps_go_on(tmp_path, monkeypatch):
    scenario, axes = examples.load("paper"), [Axis("capacity", (2, 3, 4, 5))]
    whole = run_sweep(scenario, axes)
    seen = []
    real = plan_sweep.evaluate

    def breaks_after_two(piece):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(piece[0].capacity)
        return real(piece)

    monkeypatch.setattr(plan_sweep, "evaluate", breaks_after_two)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(scenario, axes, store=Store(tmp_path))
    assert seen == [2, 3]

    def counted(piece):
        seen.append(piece[0].capacity)
        return real(piece)

    monkeypatch.setattr(plan_sweep, "evaluate", counted)
    resumed = run_sweep(scenario, axes, store=Store(tmp_path))
    assert seen == [2, 3, 4, 5]  # nothing twice
    assert resumed.rows == whole.rows


def test_a_changed_scenario_is_not_taken_from_the_store(tmp_path):
    scenario, axes = examples.load("paper"), [Axis("capacity", (3,))]
    first = run_sweep(scenario, axes, store=Store(tmp_path)).rows
    other = run_sweep(scenario.replace(service=scenario.service.scaled(2)), axes, store=Store(tmp_path)).rows
    assert first != other


def test_a_cluster_gives_the_same_rows():
    distributed = pytest.importorskip("distributed")
    scenario, axes = examples.load("paper"), [Axis("capacity", (2, 3))]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        there = run_sweep(scenario, axes, cluster=cluster.scheduler_address)
    assert there.rows == run_sweep(scenario, axes).rows


def test_a_point_that_fails_says_so_and_the_others_go_on(monkeypatch):
    real = plan_sweep._evaluate

    def fails_at_three(scenario, method):
        if scenario.capacity == 3:
            raise InputError("too hot")
        return real(scenario, method)

    monkeypatch.setattr(plan_sweep, "_evaluate", fails_at_three)
    found = run_sweep(examples.load("paper"), [Axis("capacity", (2, 3))])
    assert [row["error"] for row in found.rows] == ["", "too hot."]
    assert found.frame["error"].tolist() == [None, "too hot."]


def test_points_that_fail_are_no_rows_of_dashes(monkeypatch, tmp_path, capsys):
    def refuses(scenario, method):
        if scenario.capacity > 2:
            raise InputError("too large")
        return real(scenario, method)

    real, file = plan_sweep._evaluate, tmp_path / "paper.toml"
    monkeypatch.setattr(plan_sweep, "_evaluate", refuses)
    main(["example", "paper", "--out", str(file)])
    capsys.readouterr()
    assert main(["sweep", str(file), "--vary", "capacity=2:9", "--workers", "1"]) == 3
    table, reasons = capsys.readouterr()
    assert "3,1@1" in table
    assert " - " not in table
    assert reasons.count("too large") == 5
    assert "2 more points were not solved" in reasons
    assert main(["sweep", str(file), "--vary", "capacity=3,4", "--workers", "1"]) == 3
    assert "no point was solved" in capsys.readouterr().out


def test_faults_of_a_grid_are_told_together():
    scenario = examples.load("paper").replace(obsolescence=None)
    with pytest.raises(InputError) as caught:
        run_sweep(
            scenario,
            [
                Axis("capacity", (0, 3)),
                Axis("obsolescence.scale", (2.0,)),
                Axis("capacity", (4,)),
                Axis("robots", (9,)),
            ],
        )
    text = str(caught.value)
    for part in ("got 0 at capacity=0", "got capacity again", "obsolescence must be given", "got 9 at robots=9"):
        assert part in text, text
    with pytest.raises(InputError, match="at least one quantity must be varied"):
        run_sweep(scenario, [])
    with pytest.raises(InputError, match="at most 100,000 points; got 1,000,000"):
        run_sweep(scenario, [read_axis("capacity=1:1000"), read_axis("service.scale=1:2:1000lin")])


def test_files_hold_the_same_numbers(tmp_path, capsys):
    scenario = tmp_path / "paper.toml"
    examples.load("paper").write(scenario)
    words = ["sweep", str(scenario), "--vary", "capacity=2:4", "--workers", "1"]
    for ending in ("csv", "parquet", "json"):
        assert main([*words, "--out", str(tmp_path / f"t.{ending}"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out.split("\n}\n")[0] + "\n}")
    assert [point["point"]["capacity"] for point in answer["points"]] == [2, 3, 4]
    csv, parquet = pd.read_csv(tmp_path / "t.csv"), pd.read_parquet(tmp_path / "t.parquet")
    assert csv["cost"].tolist() == pytest.approx(parquet["cost"].tolist(), rel=1e-15)
    assert parquet["policy"].tolist() == ["3,1@1", "3,1@1", "3,1@2"]
    assert pd.read_json(tmp_path / "t.json")["cost"].tolist() == pytest.approx(csv["cost"].tolist(), rel=1e-12)


def test_the_command_refuses_before_it_works(tmp_path, capsys):
    scenario = tmp_path / "paper.toml"
    examples.load("paper").write(scenario)
    words = ["sweep", str(scenario), "--vary", "capacty=1", "--vary", "robots=x", "--out", "t.xls"]
    assert main([*words, "--picture", "p.png"]) == 2
    said = capsys.readouterr().err
    for part in ("Did you mean 'capacity'", "robots must be whole numbers", "--out must end in", "must end in .svg"):
        assert part in said


def test_the_command_interrupted(tmp_path, capsys, monkeypatch):
    scenario = tmp_path / "paper.toml"
    examples.load("paper").write(scenario)

    def stop(*_, **__):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(workers, "run", stop)
    out = tmp_path / "t.csv"
    assert (
        main(["sweep", str(scenario), "--vary", "capacity=2", "--resume", str(tmp_path / "s"), "--out", str(out)])
        == 130
    )
    assert "the same command goes on" in capsys.readouterr().err
    assert not out.exists()


def test_pictures():
    scenario = examples.load("paper")
    line = sweep_picture(run_sweep(scenario, [read_axis("service.scale=0.1:15")]), "line")
    assert "from 0.1 on 3,1@0" in line.alternative
    grid = run_sweep(scenario, [Axis("capacity", (2, 4, 6)), Axis("cost.loss", (1.0, 5.0, 50.0))])
    plane = sweep_picture(grid, "plane", {"capacity": 4, "cost.loss": 5.0})
    assert plane.data["best"][1][1] == "3,1@2"  # the paper's optimum at K = 4
    assert "cross" in plane.caption
    with pytest.raises(InputError, match="one or two numeric quantities"):
        sweep_picture(run_sweep(scenario, [Axis("admission", ("partial",))]), "words")


def test_every_letter_on_a_map_is_in_its_legend():
    names = [[f"4,1@{10 + 4 * y + x}" for x in range(4)] for y in range(4)]
    picture = policy_map("plane", ("across", "up"), ([1, 2, 3, 4], [1, 2, 3, 4]), names)
    for number in range(16):
        assert picture.svg.count(f"{chr(ord('A') + number)}: 4,1@{10 + number}<") == 1
    many = [[f"4,1@{10 + 6 * y + x}" for x in range(6)] for y in range(6)]
    svg = policy_map("plane", ("across", "up"), ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]), many).svg
    assert "no letter: 12 more" in svg
    assert ">Y<" not in svg and ">X<" in svg
