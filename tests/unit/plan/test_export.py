"""What a crawler gets to obey the policy."""

import json
import sys
import types

from crawltwin.model import ThresholdPolicy, examples
from crawltwin.plan.export import exports


def test_the_table_is_the_policy():
    scenario = examples.load("paper")
    table = json.loads(exports(scenario, ThresholdPolicy([3, 1], [2]), 63.5)["policy.json"])
    assert table["table"] == [3, 3, 3, 1, 1, 1]
    assert table["cost"] == 63.5


def test_the_scrapy_extension_obeys_it(tmp_path, monkeypatch):
    files = exports(examples.load("paper"), ThresholdPolicy([3, 1], [2]))
    (tmp_path / "policy.json").write_text(files["policy.json"])
    backlog = {"now": 0}
    # Scrapy stands in as the few names that the snippet imports.
    scrapy = types.ModuleType("scrapy")
    scrapy.signals = types.SimpleNamespace(engine_started=1, response_received=2, item_scraped=3)
    misc = types.ModuleType("scrapy.utils.misc")
    misc.load_object = lambda name: lambda: backlog["now"]
    for name, module in (("scrapy", scrapy), ("scrapy.utils", types.ModuleType("u")), ("scrapy.utils.misc", misc)):
        monkeypatch.setitem(sys.modules, name, module)
    space: dict = {}
    exec(compile(files["crawlpolicy.py"], "crawlpolicy.py", "exec"), space)

    class Settings(dict):
        def getint(self, name, default):
            return int(self.get(name, default))

    connected = []
    crawler = types.SimpleNamespace(
        settings=Settings(CRAWL_POLICY=str(tmp_path / "policy.json"), CRAWL_BACKLOG="x.y", CRAWL_REQUESTS_PER_ROBOT=2),
        signals=types.SimpleNamespace(connect=lambda call, signal: connected.append(call)),
        engine=types.SimpleNamespace(downloader=types.SimpleNamespace(total_concurrency=16)),
    )
    extension = space["CrawlPolicy"].from_crawler(crawler)
    assert len(connected) == 3
    for level, robots in ((0, 3), (2, 3), (3, 1), (5, 1), (99, 1), (-1, 3)):
        backlog["now"] = level
        extension.adjust()
        assert crawler.engine.downloader.total_concurrency == 2 * robots
