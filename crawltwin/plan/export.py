"""The policy as something that a crawler can obey: a small table, and code that reads it.

The table is JSON: robots by the number of pages in the system, from 0 on; the last entry holds above; with a schedule,
a table for each part of the day. Crawlers call robots by other names: what Scrapy limits is the number of requests
under way, what Heritrix limits is its toe threads.
"""

from __future__ import annotations

import json
from typing import Any

import crawltwin
from crawltwin.model import Policy, Scenario
from crawltwin.model.policies.policy_file import PolicyFile
from crawltwin.model.policies.schedule import Schedule
from crawltwin.plan.other_crawlers import BROWSERTRIX, CRAWLEE, HERITRIX, SCRAPY, keda


def policy_table(
    scenario: Scenario,
    policy: Policy,
    cost: float | None = None,
    share: int = 1,
    schedule: Schedule | None = None,
) -> dict[str, Any]:
    """The content of `policy.json` (see `PolicyFile`); `share` fetches under way count as one robot.

    Examples
    --------
    >>> from crawltwin.model import ThresholdPolicy, examples
    >>> scenario = examples.load("paper")
    >>> policy_table(scenario, ThresholdPolicy([3, 1], [2]))["table"]
    [3, 3, 3, 1, 1, 1]
    """
    file = PolicyFile(policy.as_thresholds(), share, schedule)
    return {
        **file.to_mapping(scenario.capacity),
        "cost": cost,
        "scenario": scenario.content_hash,
        "crawltwin": crawltwin.__version__,
    }


def exports(
    scenario: Scenario,
    policy: Policy,
    cost: float | None = None,
    share: int = 1,
    schedule: Schedule | None = None,
) -> dict[str, str]:
    """Files for a crawler, by name; `share` fetches under way count as one robot."""
    return {
        "policy.json": json.dumps(policy_table(scenario, policy, cost, share, schedule), indent=1) + "\n",
        "crawlpolicy.py": SCRAPY,
        "policy.groovy": HERITRIX,
        "crawlpolicy.mjs": CRAWLEE,
        "browsertrix.sh": BROWSERTRIX,
        "keda.yaml": keda(policy.as_thresholds(), schedule),
    }
