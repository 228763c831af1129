"""Exports for other crawlers: Crawlee's pool obeys in node; the others are checked as far as they can be here."""

import json
import re
import shutil
import subprocess
import time

import pytest

from crawltwin.model import ThresholdPolicy, examples
from crawltwin.model.policies.policy_file import PolicyFile
from crawltwin.model.policies.schedule import Schedule, SchedulePart
from crawltwin.plan.export import exports
from crawltwin.plan.other_crawlers import IN_FORCE, promql, promql_by_part

NODE = shutil.which("node")
POLICY = ThresholdPolicy([3, 1], [4], resume=[2])
PLAIN = ThresholdPolicy([2])
SCHEDULE = Schedule(
    [
        SchedulePart(7 * 3600.0, 12 * 3600.0, ThresholdPolicy([4, 1], [2])),
        SchedulePart(19 * 3600.0, 7 * 3600.0, ThresholdPolicy([1])),
    ]
)
"""Between 12 and 19 o'clock the policy of the file holds."""
node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def files(tmp_path, policy=POLICY):
    found = exports(examples.load("paper"), policy)
    for name, text in found.items():
        (tmp_path / name).write_text(text)
    return found


def run_node(folder, script):
    (folder / "run.mjs").write_text(script)
    done = subprocess.run([NODE, "run.mjs"], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("policy", [POLICY, ThresholdPolicy([4, 2, 1], [1, 3]), ThresholdPolicy([1, 3], [2])])
def test_the_query_of_keda_is_the_policy(policy):
    plain = ThresholdPolicy(policy.robots, policy.thresholds)
    for level in range(8):
        text = promql(policy).replace("sum(indexer_backlog)", str(level)).replace("<= bool", "<=")
        assert re.fullmatch(r"[0-9+\-*()<= ]+", text)
        assert eval(text) == plain.robots_at(level)


def at_hours(found, hours=(0, 6.99, 7, 12, 18.99, 19, 23)):
    """What `found` says of the policy in force, and what the model says, through a day and with a zone."""
    for offset in (0.0, 5400.0, -36000.0):
        schedule = Schedule(SCHEDULE.parts, utc_offset=offset)
        file = PolicyFile(PLAIN, 1, schedule)
        for hour in hours:
            now = 1_714_521_600.0 + 3600 * hour
            assert found(file, now) == list(file.policy_at(now).robots_by_level(5)), (offset, hour)


def test_the_query_of_keda_follows_a_schedule():
    def robots(file, now):
        text = promql_by_part(file.policy, file.schedule).replace("time()", str(now))
        text = re.sub(r"vector\((\d+)\)", r"\1", text).replace("< bool", "<").replace("<= bool", "<=")
        return [eval(text.replace("sum(indexer_backlog)", str(level))) for level in range(6)]

    at_hours(robots)


def test_the_rule_in_python_is_that_of_the_model():
    space = {"time": time}
    exec(IN_FORCE, space)
    at_hours(lambda file, now: space["in_force"](file.to_mapping(5), now)["table"])
    plain = PolicyFile(PLAIN).to_mapping(5)
    assert space["in_force"](plain, 0.0) is plain
    local = PolicyFile(PLAIN, 1, Schedule(SCHEDULE.parts, utc_offset=None))
    now = time.time()
    assert space["in_force"](local.to_mapping(5), now)["table"] == list(local.policy_at(now).robots_by_level(5))


@node
def test_the_schedule_in_javascript_is_that_of_the_model(tmp_path):
    files(tmp_path)
    asked = []
    at_hours(lambda file, now: asked.append((file, now)) or list(file.policy_at(now).robots_by_level(5)))
    asked.append((PolicyFile(PLAIN, 1, Schedule(SCHEDULE.parts, utc_offset=None)), time.time()))
    given = json.dumps([[file.to_mapping(5), now] for file, now in asked])
    script = f"""
import {{ inForce }} from './crawlpolicy.mjs';
console.log(JSON.stringify({given}.map(([file, now]) => inForce(file, now).table)));
"""
    assert run_node(tmp_path, script) == [list(file.policy_at(now).robots_by_level(5)) for file, now in asked]


def test_keda_gets_the_limits_of_the_policy(tmp_path):
    text = files(tmp_path)["keda.yaml"]
    assert "minReplicaCount: 1" in text and "maxReplicaCount: 3" in text


def test_the_script_for_browsertrix_is_a_shell_script(tmp_path):
    files(tmp_path)
    shell = shutil.which("sh")
    if shell is None:
        pytest.skip("no shell")
    assert subprocess.run([shell, "-n", str(tmp_path / "browsertrix.sh")], check=False).returncode == 0


@node
def test_the_rule_in_javascript_is_that_of_the_model(tmp_path):
    files(tmp_path)
    levels = [0, 3, 5, 4, 3, 2, 6, 1]
    script = f"""
import {{ modeAfter }} from './crawlpolicy.mjs';
let mode = 0; const found = [];
for (const level of {levels}) {{ mode = modeAfter({json.dumps(POLICY.to_mapping())}, mode, level); found.push(mode); }}
console.log(JSON.stringify(found));
"""
    expected, mode = [], 0
    for level in levels:
        mode = POLICY.mode_after(mode, level)
        expected.append(mode)
    assert run_node(tmp_path, script) == expected


@node
@pytest.mark.slow
def test_a_pool_of_crawlee_obeys_the_policy(tmp_path):
    """A real autoscaled pool: three tasks at a backlog of 0, one at 9, still one at 3, three at 1 and when it fails."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    try:
        command = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", "@crawlee/core@3"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=180, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("npm's registry does not answer")
    if done.returncode != 0:
        pytest.skip("crawlee cannot be installed here")
    files(tmp_path)
    script = """
import core from '@crawlee/core';
import { obey } from './crawlpolicy.mjs';
let level = 0, running = 0, most = 0, done = false;
const found = [];
const pool = new core.AutoscaledPool({
    minConcurrency: 1, maxConcurrency: 10, maybeRunIntervalSecs: 0.02,
    systemStatusOptions: { maxCpuOverloadedRatio: 1, maxEventLoopOverloadedRatio: 1, maxMemoryOverloadedRatio: 1 },
    runTaskFunction: async () => {
        running += 1; most = Math.max(most, running);
        await new Promise((r) => setTimeout(r, 40));
        running -= 1;
    },
    isTaskReadyFunction: async () => !done,
    isFinishedFunction: async () => done,
});
const stop = obey(() => pool, 'policy.json', async () => {
    if (level === 'dead') throw new Error('dead');
    return level;
}, 50);
const run = pool.run();
for (const next of [0, 9, 3, 1, 'dead']) {
    level = next;
    await new Promise((r) => setTimeout(r, 900));
    most = 0;
    await new Promise((r) => setTimeout(r, 900));
    found.push(most);
}
stop(); done = true;
await run;
console.log(JSON.stringify(found));
process.exit(0);
"""
    assert run_node(tmp_path, script) == [3, 1, 1, 3, 3]
