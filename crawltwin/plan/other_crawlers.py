"""Obeying a policy without crawltwin: Scrapy, Heritrix, Crawlee, browsertrix-crawler, and KEDA's autoscaler.

Each text holds the rule of `crawltwin.model.policies.schedule` by itself. `docs/live.md` says which of these texts have
been run, and against what the others were checked.
"""

from __future__ import annotations

from crawltwin.model import ThresholdPolicy
from crawltwin.model.policies.schedule import SINCE_MONDAY, Schedule

IN_FORCE = """def in_force(policy, now):
    # The policy of the present part of the day; outside all parts, and without a schedule, that of the file.
    schedule = policy.get("schedule") or {"parts": []}
    period, offset = schedule.get("period", 86400), schedule.get("utc_offset", 0)
    if offset is None:
        offset = time.localtime(now).tm_gmtoff
    moment = (now + offset + 259200) % period  # weeks begin on Monday
    for part in schedule["parts"]:
        if (moment - part["from"]) % period < ((part["to"] - part["from"]) % period or period):
            return part
    return policy
"""
"""The rule of a schedule in Python, for the texts that need it; without a single quote, for the shell."""

SCRAPY = f'''"""Scrapy extension: as many requests under way as the policy allows for the backlog and the time of day.

settings.py:  EXTENSIONS = {{"crawlpolicy.CrawlPolicy": 500}}
              CRAWL_POLICY = "policy.json"
              CRAWL_BACKLOG = "myindexer.backlog"    a function without arguments: pages delivered and not yet indexed
              CRAWL_REQUESTS_PER_ROBOT = 2           where it is not as in policy.json
"""

import json
import time

from scrapy import signals
from scrapy.utils.misc import load_object


{IN_FORCE}

class CrawlPolicy:
    @classmethod
    def from_crawler(cls, crawler):
        extension = cls()
        extension.crawler = crawler
        with open(crawler.settings["CRAWL_POLICY"]) as file:
            extension.policy = json.load(file)
        extension.backlog = load_object(crawler.settings["CRAWL_BACKLOG"])
        share = extension.policy["threads_per_robot"]
        extension.share = crawler.settings.getint("CRAWL_REQUESTS_PER_ROBOT", share)
        for moment in (signals.engine_started, signals.response_received, signals.item_scraped):
            crawler.signals.connect(extension.adjust, signal=moment)
        return extension

    def adjust(self, *args, **kwargs):
        table = in_force(self.policy, time.time())["table"]
        level = min(max(0, self.backlog()), len(table) - 1)
        self.crawler.engine.downloader.total_concurrency = self.share * table[level]
'''

HERITRIX = """// Heritrix 3, scripting console of a running job (groovy): as many toe threads as the policy allows.
// To be run again whenever the backlog has changed, and when another part of the day begins.
// setMaxToeThreads resizes the pool of a running crawl.
def policy = new groovy.json.JsonSlurper().parse(new File(job.jobDir, "policy.json"))
def backlog = new File(job.jobDir, "backlog.txt").text.trim().toInteger()   // written by the indexer
def inForce = policy
if (policy.schedule) {
    // The policy of the present part of the day; outside all parts that of the file.
    long now = System.currentTimeMillis()
    double period = (policy.schedule.period ?: 86400) as double
    boolean local = policy.schedule.containsKey("utc_offset") && policy.schedule.utc_offset == null
    double offset = local ? TimeZone.default.getOffset(now) / 1000.0d : (policy.schedule.utc_offset ?: 0) as double
    double moment = (now / 1000.0d + offset + 259200.0d) % period   // weeks begin on Monday
    inForce = policy.schedule.parts.find { part ->
        double begin = part.from as double
        double length = ((part.to as double) - begin + period) % period
        (moment - begin + period) % period < (length > 0.0d ? length : period)
    } ?: policy
}
def level = Math.min(Math.max(0, backlog), inForce.table.size() - 1)
appCtx.getBean("crawlController").setMaxToeThreads(policy.threads_per_robot * inForce.table[level])
rawOut.println("backlog " + backlog + ": " + inForce.table[level] + " robots")
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

// The policy of the present part of the day; outside all parts, and without a schedule, that of the file.
export function inForce(policy, now) {
    const schedule = policy.schedule ?? { parts: [] };
    const period = schedule.period ?? 86400;
    const local = schedule.utc_offset === null;
    const offset = local ? -60 * new Date(1000 * now).getTimezoneOffset() : schedule.utc_offset ?? 0;
    const after = (a, b) => (((a - b) % period) + period) % period;
    const moment = (now + offset + 259200) % period;  // weeks begin on Monday
    return schedule.parts.find((part) => after(moment, part.from) < (after(part.to, part.from) || period)) ?? policy;
}

// Looks at the backlog every `every` milliseconds. A source that fails leaves the last number in force.
export function obey(pool, path, backlog, every = 1000) {
    let mode = 0;
    const look = async () => {
        const file = JSON.parse(readFileSync(path, 'utf8'));
        const policy = inForce(file, Date.now() / 1000);
        const level = Number(await backlog());
        if (!Number.isInteger(level) || level < 0) throw new Error(`a backlog must be a whole number; got ${level}`);
        let robots = policy.table[Math.min(level, policy.table.length - 1)];
        if (policy.robots) {
            mode = modeAfter(policy, Math.min(mode, policy.robots.length - 1), level);
            robots = policy.robots[mode];
        }
        const tasks = robots * (file.threads_per_robot ?? 1);
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

BROWSERTRIX = f"""#!/bin/sh
# browsertrix-crawler: the number of workers is fixed while it runs, so the crawl goes on in slices of SLICE seconds,
# each with as many workers as the policy allows for the backlog and the time of day at its beginning (backlog.txt).
# The saved state of one slice is the configuration of the next.
set -eu
SLICE=${{SLICE:-300}}
state=${{1:?the first configuration, for example crawl-config.yaml, in ./crawls}}
while [ -n "$state" ]; do
  workers=$(python3 -c '
import json, time
{IN_FORCE}
policy = json.load(open("policy.json"))
table = in_force(policy, time.time())["table"]
level = min(max(0, int(open("backlog.txt").read())), len(table) - 1)
print(policy["threads_per_robot"] * table[level])')
  docker run --rm -v "$PWD/crawls:/crawls/" webrecorder/browsertrix-crawler crawl \\
    --config "/crawls/$state" --workers "$workers" --timeLimit "$SLICE" --saveState partial
  state=$(cd crawls && ls -t collections/*/crawls/*.yaml 2>/dev/null | head -n 1)
done
"""


def keda(policy: ThresholdPolicy, schedule: Schedule | None = None) -> str:
    """KEDA: a crawler of one robot per replica, as many replicas as the policy allows for a gauge of the backlog.

    The query is the policy itself. Prometheus is asked now and then, so the policy is one that polls; `resume` cannot
    be said, nor a schedule by the clock of a machine: then it is the policy of the whole day.
    """
    if schedule is not None and schedule.utc_offset is None:
        schedule = None
    policies = (policy, *(() if schedule is None else (part.policy for part in schedule.parts)))
    robots = [number for one in policies for number in one.robots]
    return f"""# KEDA: one replica per robot. The query is the policy; indexer_backlog is a gauge of yours.
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: crawler
spec:
  scaleTargetRef:
    name: crawler
  pollingInterval: 15
  minReplicaCount: {min(robots)}
  maxReplicaCount: {max(robots)}
  triggers:
    - type: prometheus
      metadata:
        serverAddress: http://prometheus:9090
        query: {promql(policy) if schedule is None else promql_by_part(policy, schedule)}
        threshold: "1"
"""


def promql(policy: ThresholdPolicy) -> str:
    """The number of robots as a query of Prometheus: that of the fullest system, and a step for each threshold.

    Examples
    --------
    >>> promql(ThresholdPolicy([4, 2, 1], [1, 3]))
    '1 + 2 * (sum(indexer_backlog) <= bool 1) + 1 * (sum(indexer_backlog) <= bool 3)'
    """
    steps = [
        f" {'+' if more >= fewer else '-'} {abs(more - fewer)} * (sum(indexer_backlog) <= bool {limit})"
        for more, fewer, limit in zip(policy.robots, policy.robots[1:], policy.thresholds, strict=False)
    ]
    return f"{policy.robots[-1]}" + "".join(steps) if steps else f"vector({policy.robots[0]})"


def promql_by_part(policy: ThresholdPolicy, schedule: Schedule) -> str:
    """The number of robots by part of the day: each part's query times whether it is its time.

    Examples
    --------
    >>> from crawltwin.model.policies.schedule import SchedulePart
    >>> print(promql_by_part(ThresholdPolicy([4]), Schedule([SchedulePart(0.0, 9.0, ThresholdPolicy([1]))])))
    ((time() + 0) % 86400 < bool 9) * (vector(1)) + (1 - ((time() + 0) % 86400 < bool 9)) * (vector(4))
    """
    assert schedule.utc_offset is not None
    period, offset = schedule.period, schedule.utc_offset + SINCE_MONDAY
    times = [
        f"((time() + {(offset - part.begin) % period:.12g}) % {period:.12g} < bool {part.length(period):.12g})"
        for part in schedule.parts
    ]
    terms = [f"{time} * ({promql(part.policy)})" for time, part in zip(times, schedule.parts, strict=True)]
    outside = f"(1 - {' - '.join(times)}) * ({promql(policy)})"
    return " + ".join([*terms, outside])
