"""The policy as something that a crawler can obey: a small table, and code that reads it.

The table is JSON: robots by the number of pages in the system, from 0 on; the last entry holds above. Crawlers call
robots by other names: what Scrapy limits is the number of requests under way, what Heritrix limits is its toe threads.
"""

from __future__ import annotations

import json
from typing import Any

import crawltwin
from crawltwin.model import Policy, Scenario

SCRAPY = '''"""Scrapy extension: as many requests under way as the policy allows for the present backlog.

settings.py:  EXTENSIONS = {"crawlpolicy.CrawlPolicy": 500}
              CRAWL_POLICY = "policy.json"
              CRAWL_BACKLOG = "myindexer.backlog"    a function without arguments: pages delivered and not yet indexed
              CRAWL_REQUESTS_PER_ROBOT = 1
"""

import json

from scrapy import signals
from scrapy.utils.misc import load_object


class CrawlPolicy:
    @classmethod
    def from_crawler(cls, crawler):
        extension = cls()
        extension.crawler = crawler
        with open(crawler.settings["CRAWL_POLICY"]) as file:
            extension.table = json.load(file)["table"]
        extension.backlog = load_object(crawler.settings["CRAWL_BACKLOG"])
        extension.share = crawler.settings.getint("CRAWL_REQUESTS_PER_ROBOT", 1)
        for moment in (signals.engine_started, signals.response_received, signals.item_scraped):
            crawler.signals.connect(extension.adjust, signal=moment)
        return extension

    def adjust(self, *args, **kwargs):
        level = min(max(0, self.backlog()), len(self.table) - 1)
        self.crawler.engine.downloader.total_concurrency = self.share * self.table[level]
'''

HERITRIX = """// Heritrix 3, scripting console of a running job (groovy): as many toe threads as the policy allows.
// To be run again whenever the backlog has changed.
def policy = new groovy.json.JsonSlurper().parse(new File(job.jobDir.file, "policy.json"))
def backlog = new File(job.jobDir.file, "backlog.txt").text.trim().toInteger()   // written by the indexer
def level = Math.min(Math.max(0, backlog), policy.table.size() - 1)
appCtx.getBean("crawlController").setMaxToeThreads(policy.threads_per_robot * policy.table[level])
rawOut.println("backlog " + backlog + ": " + policy.table[level] + " robots")
"""


def policy_table(scenario: Scenario, policy: Policy, cost: float | None = None) -> dict[str, Any]:
    """The policy as a plain table.

    Examples
    --------
    >>> from crawltwin.model import ThresholdPolicy, examples
    >>> scenario = examples.load("paper")
    >>> policy_table(scenario, ThresholdPolicy([3, 1], [2]))["table"]
    [3, 3, 3, 1, 1, 1]
    """
    return {
        "format": "crawltwin policy 1",
        "meaning": "table[n] robots run while n pages are in the system (waiting or being indexed); "
        "the last entry holds for more",
        "words": policy.in_words(scenario.capacity),
        "table": [policy.robots_at(level) for level in range(scenario.capacity + 1)],
        "threads_per_robot": 1,
        "capacity": scenario.capacity,
        "cost": cost,
        "scenario": scenario.content_hash,
        "crawltwin": crawltwin.__version__,
    }


def exports(scenario: Scenario, policy: Policy, cost: float | None = None) -> dict[str, str]:
    """Files for a crawler, by name."""
    return {
        "policy.json": json.dumps(policy_table(scenario, policy, cost), indent=1) + "\n",
        "crawlpolicy.py": SCRAPY,
        "policy.groovy": HERITRIX,
    }
