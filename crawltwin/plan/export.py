"""The policy as something that a crawler can obey: a small table, and code that reads it.

The table is JSON: robots by the number of pages in the system, from 0 on; the last entry holds above. Crawlers call
robots by other names: what Scrapy limits is the number of requests under way, what Heritrix limits is its toe threads.
"""

from __future__ import annotations

import json
from typing import Any

import crawltwin
from crawltwin.model import Policy, Scenario
from crawltwin.model.policies.policy_file import PolicyFile
from crawltwin.plan.other_crawlers import BROWSERTRIX, CRAWLEE, HERITRIX, keda

SCRAPY = '''"""Scrapy extension: as many requests under way as the policy allows for the present backlog.

settings.py:  EXTENSIONS = {"crawlpolicy.CrawlPolicy": 500}
              CRAWL_POLICY = "policy.json"
              CRAWL_BACKLOG = "myindexer.backlog"    a function without arguments: pages delivered and not yet indexed
              CRAWL_REQUESTS_PER_ROBOT = 2           where it is not as in policy.json
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
            policy = json.load(file)
        extension.table = policy["table"]
        extension.backlog = load_object(crawler.settings["CRAWL_BACKLOG"])
        extension.share = crawler.settings.getint("CRAWL_REQUESTS_PER_ROBOT", policy["threads_per_robot"])
        for moment in (signals.engine_started, signals.response_received, signals.item_scraped):
            crawler.signals.connect(extension.adjust, signal=moment)
        return extension

    def adjust(self, *args, **kwargs):
        level = min(max(0, self.backlog()), len(self.table) - 1)
        self.crawler.engine.downloader.total_concurrency = self.share * self.table[level]
'''


def policy_table(scenario: Scenario, policy: Policy, cost: float | None = None, share: int = 1) -> dict[str, Any]:
    """The content of `policy.json` (see `PolicyFile`); `share` fetches under way count as one robot.

    Examples
    --------
    >>> from crawltwin.model import ThresholdPolicy, examples
    >>> scenario = examples.load("paper")
    >>> policy_table(scenario, ThresholdPolicy([3, 1], [2]))["table"]
    [3, 3, 3, 1, 1, 1]
    """
    file = PolicyFile(policy.as_thresholds(), share)
    return {
        **file.to_mapping(scenario.capacity),
        "cost": cost,
        "scenario": scenario.content_hash,
        "crawltwin": crawltwin.__version__,
    }


def exports(scenario: Scenario, policy: Policy, cost: float | None = None, share: int = 1) -> dict[str, str]:
    """Files for a crawler, by name; `share` fetches under way count as one robot."""
    return {
        "policy.json": json.dumps(policy_table(scenario, policy, cost, share), indent=1) + "\n",
        "crawlpolicy.py": SCRAPY,
        "policy.groovy": HERITRIX,
        "crawlpolicy.mjs": CRAWLEE,
        "browsertrix.sh": BROWSERTRIX,
        "keda.yaml": keda(policy.as_thresholds()),
    }
