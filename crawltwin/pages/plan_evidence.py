"""What supports a plan, as blocks: resampled traces, two checks, the backlog, sweeps."""

from __future__ import annotations

import math

from crawltwin.model import MEASURES, SCALAR_MEASURES, Scenario, ThresholdPolicy
from crawltwin.pages.crosscheck import VERDICT_TONES, left_open, simulated, simulated_head
from crawltwin.pages.fit_pictures import pace_picture
from crawltwin.pages.plan_pictures import backlog_picture, doubt_picture
from crawltwin.pages.regions import sweep_in_words, sweep_picture
from crawltwin.plan.day.followed_day import WATCHED
from crawltwin.plan.day.schedule import DayPlan
from crawltwin.plan.evidence.clock import WORDS, ClockBounds
from crawltwin.plan.evidence.finish import FINISH_HEADINGS
from crawltwin.plan.result import Plan
from crawltwin.plan.what_if.polling import HEADINGS
from crawltwin.plan.what_if.variations import present
from crawltwin.plan.wording import in_percent, in_time, instruction, kind_of, with_interval
from crawltwin.report import Block, Cell, Column, Note, Table, Text


def doubt_blocks(found: Plan) -> list[Block]:
    """What another stretch of crawling would have changed."""
    doubt = found.doubt
    if doubt is None:
        return [Note("The uncertainty of the decision is not known; see the end of this page.", "warn")]
    rows = [
        (
            rival.policy,
            Cell(rival.share, f"{rival.share:.0%}"),
            _amount("cost", rival.difference.value, rival.difference.low, rival.difference.high),
            "yes" if rival.told_apart else "no",
        )
        for rival in doubt.rivals
    ]
    heads: list[Column | str] = [
        "policy",
        Column("best on", "number"),
        Column("costs more (95%)", "number"),
        "told apart",
    ]
    spreads = {"cost": doubt.cost, **doubt.measures}
    others: list[Block] = []
    if rows:
        other = doubt.rivals[0].policy
        told = f"`{other}` is short for: {instruction(ThresholdPolicy.from_text(other), found.scenario.capacity)}"
        others = [Table("Other policies beside it", heads, rows), Text(told), doubt_picture(found.policy, doubt)]
    return [
        Text(
            "The log is one stretch of crawling; another would have come out differently. So it was cut into blocks "
            f"of about {found.fit.block_length:.0f} gaps, which keep its correlations, and {doubt.redraws} traces "
            "were laid out of them at random. To each the model was fitted again, and the policies were compared "
            "again."
        ),
        *(Text(sentence) for sentence in found.doubt_words),
        Table(
            f"The {'best single' if found.by_part else 'recommended'} policy over the resampled traces",
            ["number", Column("in the fit (95%)", "number")],
            [
                (
                    MEASURES[name].words if name in MEASURES else "pages indexed",
                    _amount(name, one.value, one.low, one.high),
                )
                for name, one in spreads.items()
            ],
        ),
        *others,
        Text(
            "What this does not cover: a future crawl that differs from the logged one, and the assumed inputs above."
        ),
    ]


def _amount(measure: str, value: float | None, low: float = math.nan, high: float = math.nan) -> Cell:
    """A measure in its unit, with its interval where there is one."""
    return Cell(None) if value is None else Cell(value, with_interval(value, low, high, kind=kind_of(measure)))


def _replayed_policy(scenario: Scenario) -> str:
    """Under which policy the log was replayed, in words."""
    if scenario.arrivals.kind == "thinned":
        return "the recommended policy; a batch is dropped by chance when fewer robots run than wrote the log"
    return "all robots always, as it was written: what fewer of them bring was learned, and a log cannot replay it"


def clock_blocks(clock: ClockBounds) -> list[Block]:
    """Both readings of a clock that is coarse against the pace."""
    fitted = "So the log was fitted both ways." if clock.both else "Only one of the two could be fitted."
    title = "The offered policy in both readings" if clock.both else "The offered policy in the reading that was fitted"
    return [
        Text(
            f"The clock of this log ticks every {in_time(clock.step)}, and a page shares its tick with "
            f"{clock.companions:.3g} others on average. They may have come one by one or all at once; the truth lies "
            f"between the two. {fitted}"
        ),
        Table(
            title,
            ["measure", *(Column(heading, "number") for heading in clock.headings)],
            clock.rows(),
            name="clock",
        ),
        Text(
            f"{clock.choice_in_words()} The other figures on this page are of the likelier reading: "
            f"{WORDS[clock.taken]}. For the replay of each reading the moments within the ticks were drawn anew."
        ),
    ]


def day_blocks(day: DayPlan) -> list[Block]:
    """The pace of the day, the policy of each part, and whether a part may be taken by itself."""
    blocks: list[Block] = [
        *(Text(sentence) for sentence in day.in_words()),
        pace_picture(day.season, [policy.short for policy in day.policies]),
        Table(
            f"Parts of the {day.season.name}",
            ["time", Column("pace", "number"), Column("running time", "number"), "policy"],
            [
                (
                    day.clock(part),
                    Cell(part.pace, f"{part.pace:.2f}"),
                    Cell(part.share, f"{part.share:.0%}"),
                    policy.short,
                )
                for part, policy in zip(day.parts, day.policies, strict=True)
            ],
        ),
    ]
    if day.followed is not None:
        blocks.append(
            Table(
                "Averages over the day: parts as stationary, and followed in time from one into the next",
                [
                    "average",
                    Column("stationary", "number"),
                    Column("followed", "number"),
                    Column("difference", "number"),
                ],
                [
                    (
                        WATCHED[name],
                        _over_the_day(name, day.followed.stationary[name]),
                        _over_the_day(name, day.followed.followed[name]),
                        Cell(off, f"{off:+.2%}"),
                    )
                    for name, off in day.followed.off.items()
                ],
            )
        )
    return [
        *blocks,
        Text(
            "Averages over the day stand in the comparison above, on the page to explore and in the table on polling. "
            "The check by simulation and the backlog below are those of the busiest part; of the replayed log the part "
            "that agrees least is shown."
        ),
    ]


def _over_the_day(name: str, value: float) -> Cell:
    """An average over the day in its unit: pages per hour and the like, or a plain number."""
    return Cell(value, with_interval(value, kind="rate" if name in ("lost", "served") else "number"))


def check_blocks(found: Plan) -> list[Block]:
    """Solved against simulated, and the log replayed."""
    blocks: list[Block] = []
    check = found.check
    if check is not None:
        blocks += [
            Text(
                "First check: the same crawler simulated event by event, by a program that shares no line with the "
                f"solver. {check.pages:,} pages were simulated; a number counts as equivalent when it is proved to "
                f"lie within {check.plan.margin:.0%} of the solved one."
            ),
            Note(
                "Solved against simulated: "
                + (
                    f"too few pages were simulated to check {left_open(check)}."
                    if check.verdict == "inconclusive"
                    else f"{check.verdict}."
                ),
                VERDICT_TONES[check.verdict],
            ),
            Table(
                "Solved against simulated",
                [
                    "measure",
                    "verdict",
                    Column("solved", "number"),
                    Column(simulated_head(check), "number"),
                ],
                [
                    (
                        MEASURES[one.comparison.measure].words,
                        Cell(one.word, tone=VERDICT_TONES[one.word]),
                        _amount(one.comparison.measure, one.comparison.solved),
                        simulated(one, kind_of(one.comparison.measure)),
                    )
                    for one in check.verdicts
                    if one.comparison.measure in SCALAR_MEASURES
                ],
            ),
        ]
    replay = found.replay
    if replay is not None:
        blocks += [
            Text(
                f"Second check: the real log ({replay.recorded:,} pages, {in_time(replay.seconds)} without its "
                f"pauses) sent through the buffer, the indexer and {_replayed_policy(replay.scenario)}. The model was "
                f"run {replay.runs} times over the same length: 95 of 100 such runs lie in the interval. "
                f"A number is equivalent where it is proved to lie within {replay.plan.margin:.0%} of the model's."
            ),
            Table(
                "The replayed log beside the model's prediction",
                ["measure", "verdict", Column("predicted (95%)", "number"), Column("replayed", "number"), "inside"],
                [
                    (
                        MEASURES[one.measure].words,
                        Cell(one.verdict.word, tone=VERDICT_TONES[one.verdict.word]),
                        _amount(one.measure, one.mean, one.low, one.high),
                        _amount(one.measure, one.replayed),
                        "yes" if one.inside else "no",
                    )
                    for one in replay.predictions
                ],
            ),
            *(Text(f"Note: {note}.") for note in replay.notes),
        ]
        if not replay.trusted:
            blocks.append(
                Note(
                    "Deliveries, losses or stale pages of the real log are not where the model puts them: do not "
                    "rely on its figures. Likely reasons: "
                    + "; ".join([*found.fit.goodness.words, *found.fit.stationarity.words]),
                    "bad",
                )
            )
    if not blocks:
        blocks.append(Note("Neither check could be done; see the end of this page.", "warn"))
    return blocks


def backlog_blocks(found: Plan) -> list[Block]:
    """How the backlog may grow, how long pages wait, when a list is done."""
    backlog = found.backlog
    if backlog is None:
        return [Note("Not computed; see the end of this page.", "warn")]
    rows: list[tuple[str, Cell | float | None]] = [
        (
            (
                f"probability that more than {backlog.limit} pages are in the system within "
                f"{in_time(backlog.within)}, from empty"
            ),
            Cell(backlog.passed, in_percent(backlog.passed)),
        ),
        ("mean time until that happens", Cell(backlog.mean_passage, in_time(backlog.mean_passage))),
    ]
    rows += [
        (f"{p:.0%} of indexed pages spend at most", Cell(value, "–" if value is None else in_time(value)))
        for p, value in backlog.waits
    ]
    if backlog.timeout is not None and backlog.late is not None:
        rows.append(
            (
                f"share of indexed pages above the timeout of {in_time(backlog.timeout)}",
                Cell(backlog.late, in_percent(backlog.late)),
            )
        )
    blocks: list[Block] = [
        Text("Under the recommended policy, by the model: first passage and time in the system."),
        Table("Backlog and time in the system", ["question", Column("answer", "number")], rows),
        backlog_picture(backlog.curve, backlog.within),
    ]
    if found.finish is not None:
        blocks += [Note(found.finish.in_words()), Table("When is it done", list(FINISH_HEADINGS), found.finish.rows())]
    done = backlog.list
    if done is None:
        blocks.append(Text("Give `--urls N` or `--urls FILE` for the time until the URLs that are left are fetched."))
        return blocks
    shown = [(p, *done.quantile(p)) for p in (0.05, 0.5, 0.95)]
    blocks += [
        Table(
            f"Time to finish a list of {done.urls:,} URLs under the policy, by the model alone: no pauses, no drift",
            ["what", Column("answer", "number")],
            [
                ("mean", Cell(done.mean, in_time(done.mean))),
                *((f"finished with probability {p:.0%} by", Cell(time, in_time(time))) for p, time, _ in shown),
                ("pages lost on the way, expected", Cell(done.lost, with_interval(done.lost))),
                ("pages gone stale, expected", Cell(done.obsolete, with_interval(done.obsolete))),
            ],
            name="list",
        ),
        Text(
            "Mean and variance are exact in the model. "
            + (
                "So are the quantiles."
                if done.exact_quantiles
                else "Quantiles are normal with a correction for skewness, good to about "
                + in_time(max(error for _, _, error in shown))
                + "."
            )
        ),
    ]
    return blocks


def polling_blocks(found: Plan) -> list[Block]:
    """The recommended policy where the controller looks at the backlog only every so often."""
    own = "" if found.day is None else f", over the {found.day.season.name}"
    return [
        Text(
            "The plan takes a controller that sees every page at once. A real one looks every so often: here is the "
            "same policy, looked at after random times of this mean. Where the extra cost matters, look more often, "
            "or choose anew with `crawltwin optimize --check-every`."
        ),
        Table(
            f"The same policy, looked at less often{own}",
            [HEADINGS[0], *(Column(head, "number") for head in HEADINGS[1:])],
            [point.shown() for point in found.polling],
            name="polling",
        ),
    ]


def what_if_blocks(found: Plan) -> list[Block]:
    """Sweeps of the capacity, the robots, the speeds and the weights."""
    blocks: list[Block] = [
        Text(
            "Each point is a crawler with other numbers and its own best policy. A policy `4,1@2` runs 4 robots up "
            "to 2 pages in the system and 1 above."
        ),
    ]
    for index, one in enumerate(found.sweeps):
        if one.failed:
            blocks.append(Note(f"{len(one.failed)} points could not be solved: {one.failed[0]['error']}", "warn"))
            continue
        now = {axis.name: present(found.scenario, axis.name) for axis in one.axes}
        blocks += [Text(sweep_in_words(one, found.policy)), sweep_picture(one, f"what-if-{index + 1}", now, unit="s")]
    return blocks
