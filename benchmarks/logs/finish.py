"""`python -m benchmarks.logs.finish [LOG ...]`: when is a crawl done? Logs cut at 25, 50 and 75% of their pages.

The rest of each log is the list to be finished. For the logs that are named and for kinds of made crawls
(`made_crawls`, of a seed that nothing was tuned on): how often the interval of 90% holds the true time, and the
median error beside that of "pages done over time elapsed". Hosts are known from the first part of a log only, or told
for the whole list.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np

from analytic import Completion
from benchmarks.logs.made_crawls import Made, made_crawls
from crawltwin.plan.evidence.finish import Finish, finish_of
from crawltwin.plan.evidence.frontier import growth_of
from crawltwin.plan.url_list import UrlList
from fitting import FitResult, RawLog, read_log
from fitting.readers.columns import OPTIONAL
from fitting.trace.cleaning import clean

CUTS = (0.25, 0.5, 0.75)
CRAWLS = 40
SEED = 31
Case = tuple[bool, float, float]


def first_part(log: RawLog, pages: int) -> RawLog:
    """The log as it was when so many pages had come."""
    columns = {name: getattr(log, name, None) for name in ("time", *OPTIONAL)}
    return replace(log, **{name: column[:pages] for name, column in columns.items() if column is not None})


def finish(begun: RawLog, wanted: UrlList | int, grown: bool = False) -> Finish:
    """The forecast from the log alone: the model's mean is that of the pace so far."""
    fit = SimpleNamespace(log=begun, cleaning=clean(begun.seconds))
    pace = (float(begun.seconds[-1]) - fit.cleaning.paused_seconds) / len(begun)
    urls = wanted if isinstance(wanted, int) else wanted.total
    done = cast(Completion, SimpleNamespace(mean=urls * pace))
    growth = growth_of(begun, urls) if grown else None
    return finish_of(wanted, done, np.ones(1), cast(FitResult, fit), 1, growth)


def judged(found: Finish, true: float, linear: float) -> Case:
    """Whether the interval holds the true time, the error of the median, and that of the linear formula."""
    return found.low <= true <= found.high, abs(found.median / true - 1), abs(linear / true - 1)


def of_number(log: RawLog, pages: int) -> Case:
    """The number of URLs is known."""
    begun, rest = first_part(log, pages), len(log) - pages
    true = float(log.seconds[-1] - log.seconds[pages - 1])
    return judged(finish(begun, rest), true, float(begun.seconds[-1]) / pages * rest)


def of_list(log: RawLog, pages: int) -> Case:
    """The URLs are known, and so how many each host has."""
    begun, rest = first_part(log, pages), len(log) - pages
    assert log.host is not None
    counts = Counter(log.host[pages:].tolist())
    wanted = UrlList("", tuple(map(str, counts)), *zip(*counts.most_common(), strict=True))
    true = float(log.seconds[-1] - log.seconds[pages - 1])
    return judged(finish(begun, wanted), true, float(begun.seconds[-1]) / pages * rest)


def of_frontier(made: Made, pages: int) -> Case:
    """The URLs in the frontier are known, and those that they will bring are not; the end is that of the crawl."""
    log, begun = made.log(), first_part(made.log(), pages)
    assert made.parent is not None
    known = int(np.count_nonzero(made.parent[pages:] < pages))
    true = float(log.seconds[-1] - log.seconds[pages - 1])
    return judged(finish(begun, known, grown=True), true, float(begun.seconds[-1]) / pages * known)


def table(title: str, cases: dict[str, list[Case]]) -> None:
    """Print the rows of each kind."""
    print(f"\n| {title} | forecasts | intervals that held | median error | of the linear formula |")
    print("|---|---:|---:|---:|---:|")
    for kind, rows in cases.items():
        held, own, linear = (np.array(column) for column in zip(*rows, strict=True))
        print(f"| {kind} | {len(rows)} | {held.mean():.0%} | {np.median(own):.0%} | {np.median(linear):.0%} |")


def main(paths: list[str]) -> None:
    """Print the tables."""
    logs = [("logs that were named", read_log(path)) for path in paths]
    crawls = list(made_crawls(SEED, CRAWLS))
    logs += [(kind, made.log()) for kind, made in crawls]
    for title, judge in (("crawls", of_number), ("crawls, hosts of the list told", of_list)):
        cases: dict[str, list[Case]] = {}
        one: Callable[[RawLog, int], Case] = judge
        for kind, log in logs:
            if one is of_number or log.host is not None:
                cases.setdefault(kind, []).extend(one(log, int(len(log) * cut)) for cut in CUTS)
        table(title, cases)
    growing = [made for _, made in crawls if made.parent is not None]
    rows = [of_frontier(made, int(made.times.size * cut)) for made in growing for cut in CUTS]
    table("crawls, the frontier known", {"finding links on the way": rows})


if __name__ == "__main__":
    main(sys.argv[1:])
