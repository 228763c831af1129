"""Obeying a policy in crawlers other than Scrapy: Heritrix, Crawlee, browsertrix-crawler, and KEDA's autoscaler.

`docs/live.md` says which of these texts have been run, and against what the others were checked.
"""

from __future__ import annotations

from crawltwin.model import ThresholdPolicy

HERITRIX = """// Heritrix 3, scripting console of a running job (groovy): as many toe threads as the policy allows.
// To be run again whenever the backlog has changed. setMaxToeThreads resizes the pool of a running crawl.
def policy = new groovy.json.JsonSlurper().parse(new File(job.jobDir, "policy.json"))
def backlog = new File(job.jobDir, "backlog.txt").text.trim().toInteger()   // written by the indexer
def level = Math.min(Math.max(0, backlog), policy.table.size() - 1)
appCtx.getBean("crawlController").setMaxToeThreads(policy.threads_per_robot * policy.table[level])
rawOut.println("backlog " + backlog + ": " + policy.table[level] + " robots")
"""

CRAWLEE = """// Crawlee 3 (node): an autoscaled pool with as many tasks as the policy allows for the present backlog.
//
//   import { obey } from './crawlpolicy.mjs';
//   const stop = obey(() => crawler.autoscaledPool, 'policy.json', async () => await pagesNotYetIndexed());
//   await crawler.run(addresses);
//   stop();
import { readFileSync } from 'node:fs';

// The mode after a look at the backlog: an index into policy.robots. The same rule as everywhere in crawltwin.
export function modeAfter(policy, mode, level) {
    const down = policy.thresholds ?? [];
    const up = policy.resume ?? down;
    while (mode < down.length && level > down[mode]) mode += 1;
    while (mode > 0 && level <= up[mode - 1]) mode -= 1;
    return mode;
}

// Looks at the backlog every `every` milliseconds. A source that fails leaves the last number in force.
export function obey(pool, path, backlog, every = 1000) {
    let mode = 0;
    const look = async () => {
        const policy = JSON.parse(readFileSync(path, 'utf8'));
        const level = Number(await backlog());
        if (!Number.isInteger(level) || level < 0) throw new Error(`a backlog must be a whole number; got ${level}`);
        let robots = policy.table[Math.min(level, policy.table.length - 1)];
        if (policy.robots) {
            mode = modeAfter(policy, Math.min(mode, policy.robots.length - 1), level);
            robots = policy.robots[mode];
        }
        const tasks = robots * (policy.threads_per_robot ?? 1);
        const own = pool();
        if (!own) return;
        own.minConcurrency = tasks;
        own.maxConcurrency = tasks;
        own.desiredConcurrency = tasks;
    };
    const safely = () => look().catch((error) => console.warn(`crawlpolicy: ${error.message}; nothing is changed`));
    const timer = setInterval(safely, every);
    safely();
    return () => clearInterval(timer);
}
"""

BROWSERTRIX = """#!/bin/sh
# browsertrix-crawler: the number of workers is fixed while it runs, so the crawl goes on in slices of SLICE seconds,
# each with as many workers as the policy allows for the backlog at its beginning (the file backlog.txt).
# The saved state of one slice is the configuration of the next.
set -eu
SLICE=${SLICE:-300}
state=${1:?the first configuration, for example crawl-config.yaml, in ./crawls}
while [ -n "$state" ]; do
  workers=$(python3 -c '
import json
policy = json.load(open("policy.json"))
level = min(max(0, int(open("backlog.txt").read())), len(policy["table"]) - 1)
print(policy["threads_per_robot"] * policy["table"][level])')
  docker run --rm -v "$PWD/crawls:/crawls/" webrecorder/browsertrix-crawler crawl \\
    --config "/crawls/$state" --workers "$workers" --timeLimit "$SLICE" --saveState partial
  state=$(cd crawls && ls -t collections/*/crawls/*.yaml 2>/dev/null | head -n 1)
done
"""


def keda(policy: ThresholdPolicy) -> str:
    """KEDA: a crawler of one robot per replica, as many replicas as the policy allows for a gauge of the backlog.

    The query is the policy itself: the number of the fullest system, and a step for each threshold. Prometheus is asked
    now and then, so the policy is one that polls; `resume` cannot be said.

    Examples
    --------
    >>> promql(ThresholdPolicy([4, 2, 1], [1, 3]))
    '1 + 2 * (sum(indexer_backlog) <= bool 1) + 1 * (sum(indexer_backlog) <= bool 3)'
    """
    return f"""# KEDA: one replica per robot. The query is the policy; indexer_backlog is a gauge of yours.
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: crawler
spec:
  scaleTargetRef:
    name: crawler
  pollingInterval: 15
  minReplicaCount: {min(policy.robots)}
  maxReplicaCount: {max(policy.robots)}
  triggers:
    - type: prometheus
      metadata:
        serverAddress: http://prometheus:9090
        query: {promql(policy)}
        threshold: "1"
"""


def promql(policy: ThresholdPolicy) -> str:
    """The number of robots as a query of Prometheus."""
    steps = [
        f" {'+' if more >= fewer else '-'} {abs(more - fewer)} * (sum(indexer_backlog) <= bool {limit})"
        for more, fewer, limit in zip(policy.robots, policy.robots[1:], policy.thresholds, strict=False)
    ]
    return f"{policy.robots[-1]}" + "".join(steps) if steps else f"vector({policy.robots[0]})"
