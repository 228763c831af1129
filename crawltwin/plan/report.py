"""The report of a plan: the decision first, then everything that it rests on, each step explained."""

from __future__ import annotations

from crawltwin.model import MEASURES, SCALAR_MEASURES
from crawltwin.plan.decide import Backlog, Plan
from crawltwin.plan.export import policy_table
from crawltwin.plan.regions import regions
from crawltwin.plan.sweep import Sweep, short_policy
from crawltwin.plan.unsuitable import Unsuitable
from crawltwin.plan.vary import QUANTITIES
from crawltwin.plan.what_if import present
from validate.report.blocks import Block, Cell, Code, Column, Note, Points, Report, Section, Table, Text
from validate.report.fit_report import fit_report
from validate.report.plan_pictures import backlog_picture, doubt_picture, levels_picture
from validate.report.provenance import gather


def plan_report(found: Plan, command: str) -> Report:
    """Everything on one page. Cost: a second or two, for a dozen pictures."""
    return Report(
        title="How many robots at which backlog",
        summary=_summary(found),
        sections=[
            Section("What to do", _decision(found)),
            Section("What the plan assumes", _inputs(found)),
            Section("How sure is that", _doubt(found)),
            Section("Checked twice", _checks(found)),
            Section("Backlog, waiting, completion", _backlog(found)),
            Section("What if", _what_if(found)),
            Section(
                "The log and its model",
                [
                    Text(
                        "What was read, what was cut out, how pages were gathered into batches, which models were "
                        "compared."
                    )
                ],
                fit_report(found.fit, command or "crawltwin fit").sections,
            ),
        ],
        provenance=gather([found.scenario], seeds=[found.settings.seed], seconds=found.seconds),
        command=command,
        unconfirmed=[*found.missing, *_reservations(found)],
        data={key: value for key, value in found.to_json().items() if key not in ("seconds", "what_if")},
    )


def _summary(found: Plan) -> list[str]:
    best, K = found.optimum.best, found.scenario.capacity
    measures = found.solution.measures
    words = [
        (
            f"**{best.policy.in_words(K)}** Cost {best.cost:.5g}, {found.optimum.profit:.1f}% below the best fixed "
            "number of "
            "robots."
        ),
        (
            f"Of 100 pages delivered {100 * measures['loss_probability']:.2g} are lost because the buffer is full and "
            f"{100 * measures['obsolescence_probability']:.2g} go stale; an indexed page spends "
            f"{measures['mean_sojourn_served']:.3g} s in the system; the indexer is idle "
            f"{measures['starvation_probability']:.0%} of the time."
        ),
    ]
    if found.doubt is not None:
        words += found.doubt.in_words(found.policy)
    words.append(_trust(found))
    return [*words, *found.remarks]


def _trust(found: Plan) -> str:
    if found.replay is not None and not found.replay.trusted:
        outside = [one for one in found.replay.predictions if not one.inside]
        names = ", ".join(MEASURES[one.measure].words for one in outside)
        return (
            "**The model is not to be trusted here**: the replayed log lies outside what the model predicts "
            f"({names}). "
            "See below for the likely reason."
        )
    if found.fit.goodness.verdict == "poor":
        return "**The model fits the log poorly**; take the numbers as a direction, not as figures."
    checked = []
    if found.check is not None:
        checked.append(f"solved and simulated are {found.check.verdict}")
    if found.replay is not None:
        checked.append("deliveries, losses and stale pages of the replayed log lie where the model predicts them")
        astray = [MEASURES[one.measure].words for one in found.replay.predictions if not one.inside]
        if astray:
            checked.append(f"not so: {', '.join(astray)}; take these with caution")
    return f"Checked: {'; '.join(checked)}." if checked else "Nothing could be checked independently."


def _reservations(found: Plan) -> list[str]:
    words = [f"{one.name}: assumed. {one.words}." for one in found.inputs if one.source == "default" and one.words]
    return words + list(found.fit.warnings)


def _decision(found: Plan) -> list[Block]:
    optimum, K = found.optimum, found.scenario.capacity
    rows = [
        (
            " or ".join(map(str, item.robots)),
            ", ".join(map(str, item.thresholds)) or "–",
            Cell(item.cost, f"{item.cost:.5g}", "good" if item is optimum.best else "plain"),
            Cell(100 * (item.cost / optimum.best.cost - 1), f"{100 * (item.cost / optimum.best.cost - 1):.2f}%"),
        )
        for item in optimum.policies
    ]
    proof = {
        "enumerated": f"All {len(optimum.tables):,} threshold policies were solved; this is the cheapest.",
        "bounded": "Lower bounds show that no threshold policy is cheaper.",
        "searched": "Thresholds were searched, without a proof that none is cheaper.",
    }[optimum.best.proof]
    blocks: list[Block] = [
        Note(optimum.best.policy.in_words(K), "good" if found.trusted else "warn"),
        Text(
            f"{proof} "
            + ("" if found.certificate is None else found.certificate.in_words())
            + "\n\nThe cost is a weighted sum of lost pages, stale pages, time in the system, robots and an idle "
            "indexer; "
            "the weights stand below. `explore.html` beside this page lets you move them and the limits, and shows at "
            "once which policy wins."
        ),
        Table(
            "The best policy of every set of robots",
            ["robots", "thresholds", Column("cost", "number"), Column("above the best", "number")],
            rows,
        ),
        Table(
            "Measures under the recommended policy",
            ["measure", Column("value", "number"), "unit"],
            [
                (MEASURES[name].words, found.solution.measures[name], MEASURES[name].unit)
                for name in SCALAR_MEASURES
                if found.solution.measures.get(name) is not None
            ],
        ),
        levels_picture(
            found.solution.measures["level_distribution"],
            [found.scenario.policy_in_force.robots_at(k) for k in range(K + 1)],
        ),
        Text(
            "For a crawler: `policy.json` beside this page holds the table below (robots by pages in the system). "
            "`crawlpolicy.py` is a Scrapy extension and `policy.groovy` a Heritrix console script that obey it; both "
            "need "
            "the number of pages that the indexer has not finished yet."
        ),
        Code(str(policy_table(found.scenario, optimum.best.policy)["table"]), "robots by pages in the system"),
    ]
    return blocks


def _inputs(found: Plan) -> list[Block]:
    words = {"given": "given", "log": "from the log", "default": "assumed"}
    return [
        Text(
            "Every number that the plan rests on, and where it comes from. What is assumed can be given: as an "
            "option, or "
            "in a file with `--config plan.toml`."
        ),
        Table(
            "Inputs",
            ["what", "value", "origin", "remarks"],
            [
                (
                    one.name,
                    one.value,
                    Cell(words[one.source], "", "warn" if one.source == "default" else "plain"),
                    one.words,
                )
                for one in found.inputs
            ],
        ),
    ]


def _doubt(found: Plan) -> list[Block]:
    doubt = found.doubt
    if doubt is None:
        return [Note("The uncertainty of the decision is not known; see the end of this page.", "warn")]
    rows = [
        (
            rival.policy,
            Cell(rival.share, f"{rival.share:.0%}"),
            Cell(rival.difference.value, f"{rival.difference.value:+.4g}"),
            f"{rival.difference.low:+.4g} to {rival.difference.high:+.4g}",
            "yes" if rival.told_apart else "no",
        )
        for rival in doubt.rivals
    ]
    numbers = [("cost", "cost", doubt.cost), *((MEASURES[n].words, n, s) for n, s in doubt.measures.items())]
    return [
        Text(
            "The log is one stretch of crawling; another would have come out differently. So it was cut into blocks "
            "of "
            f"about {found.fit.block_length:.0f} gaps, which keep its correlations, and {doubt.redraws} traces were "
            "laid "
            "out of them at random. To each the model was fitted again, and the policies were compared again."
        ),
        *(Text(sentence) for sentence in doubt.in_words(found.policy)),
        Table(
            "The recommended policy over the resampled traces",
            ["number", Column("in the fit", "number"), Column("95% from", "number"), Column("to", "number")],
            [(words, spread.value, spread.low, spread.high) for words, _, spread in numbers],
        ),
        Table(
            "Other policies beside it",
            [
                "policy",
                Column("best on", "number"),
                Column("costs more", "number"),
                "95%",
                "told apart",
            ],
            rows,
        ),
        doubt_picture({found.policy: doubt.share} | {rival.policy: rival.share for rival in doubt.rivals}),
        Text(
            "What this does not cover: a future crawl that differs from the logged one, and the assumed inputs above."
        ),
    ]


def _checks(found: Plan) -> list[Block]:
    blocks: list[Block] = []
    check = found.check
    if check is not None:
        tone = {"equivalent": "good", "different": "bad"}.get(check.verdict, "warn")
        blocks += [
            Text(
                "First check: the same crawler simulated event by event, by a program that shares no line with the "
                "solver. "
                f"{check.pages:,} pages were simulated; a number counts as equivalent when it is proved to lie within "
                f"{check.plan.margin:.0%} of the solved one."
            ),
            Note(
                f"Solved against simulated: {check.verdict}.",
                "good" if tone == "good" else "bad" if tone == "bad" else "warn",
            ),
            Table(
                "Solved against simulated",
                ["measure", Column("solved", "number"), Column("simulated", "number"), "verdict"],
                [
                    (
                        MEASURES[one.comparison.measure].words,
                        one.comparison.solved,
                        one.comparison.simulated,
                        Cell(one.word, "", "good" if one.word == "equivalent" else "warn"),
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
                f"Second check: the real log ({replay.pages:,} pages, {replay.seconds / 3600:.1f} hours without its "
                "pauses) "
                "sent through the buffer, the indexer and the recommended policy; a batch is dropped by chance when "
                "fewer "
                "robots run than wrote the log. The model was run 40 times over the same length: 95 of 100 such runs "
                "lie "
                "in the interval."
            ),
            Table(
                "The replayed log beside the model's prediction",
                [
                    "measure",
                    Column("predicted", "number"),
                    Column("95% from", "number"),
                    Column("to", "number"),
                    Column("replayed", "number"),
                    "inside",
                ],
                [
                    (
                        MEASURES[one.measure].words,
                        one.mean,
                        one.low,
                        one.high,
                        one.replayed,
                        Cell("yes" if one.inside else "no", "", "good" if one.inside else "bad"),
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
                    "rely on its "
                    "figures. "
                    "Likely reasons: " + "; ".join([*found.fit.goodness.words, *found.fit.stationarity.words]),
                    "bad",
                )
            )
    if not blocks:
        blocks.append(Note("Neither check could be done; see the end of this page.", "warn"))
    return blocks


def _backlog(found: Plan) -> list[Block]:
    backlog = found.backlog
    if backlog is None:
        return [Note("Not computed; see the end of this page.", "warn")]
    rows: list[tuple[str, Cell | float | None]] = [
        (
            (
                f"probability that more than {backlog.limit} pages are in the system within {_time(backlog.within)}, "
                "from empty"
            ),
            Cell(backlog.passed, f"{backlog.passed:.3g}"),
        ),
        ("mean time until that happens", Cell(backlog.mean_passage, _time(backlog.mean_passage))),
    ]
    rows += [
        (f"{p:.0%} of indexed pages spend at most", Cell(value, "–" if value is None else _time(value)))
        for p, value in backlog.waits
    ]
    if backlog.timeout is not None and backlog.late is not None:
        rows.append(
            (
                f"share of indexed pages above the timeout of {_time(backlog.timeout)}",
                Cell(backlog.late, f"{backlog.late:.3g}"),
            )
        )
    blocks: list[Block] = [
        Text("Under the recommended policy, by the model: first passage and time in the system."),
        Table("Backlog and time in the system", ["question", Column("answer", "number")], rows),
        backlog_picture(*passage_curve(found, backlog)),
    ]
    done = backlog.list
    if done is None:
        blocks.append(Text("Give `--urls N` for the time in which a finite list of URLs is finished."))
        return blocks
    shown = [(p, *done.quantile(p)) for p in (0.05, 0.5, 0.95)]
    blocks += [
        Table(
            f"Time to finish a list of {done.urls:,} URLs",
            ["what", Column("answer", "number")],
            [
                ("mean", Cell(done.mean, _time(done.mean))),
                *((f"finished with probability {p:.0%} by", Cell(time, _time(time))) for p, time, _ in shown),
                ("pages lost on the way, expected", done.lost),
                ("pages gone stale, expected", done.obsolete),
            ],
            name="list",
        ),
        Text(
            "Mean and variance are exact in the model. "
            + (
                "So are the quantiles."
                if done.exact_quantiles
                else "Quantiles are normal with a correction for skewness, good to about "
                + _time(max(error for _, _, error in shown))
                + "."
            )
        ),
    ]
    return blocks


def passage_curve(found: Plan, backlog: Backlog) -> tuple[list[int], list[float], float]:
    """Probability of passing each backlog within the time asked about."""
    from analytic import passage

    top = found.scenario.top_level
    limits = sorted({round(k * (top - 1) / 12) for k in range(13)})
    return limits, [passage(found.scenario, limit).cdf(backlog.within) for limit in limits], backlog.within


def _what_if(found: Plan) -> list[Block]:
    if not found.sweeps:
        return [Text("Not asked for.")]
    blocks: list[Block] = [
        Text(
            "Each point is a crawler with other numbers and its own best policy. A policy `4,1@2` runs 4 robots up to "
            "2 pages in the system and 1 above."
        ),
    ]
    for index, one in enumerate(found.sweeps):
        if one.failed:
            blocks.append(Note(f"{len(one.failed)} points could not be solved: {one.failed[0]['error']}", "warn"))
            continue
        now = {axis.name: present(found.scenario, axis.name) for axis in one.axes}
        blocks += [Text(_reading(found, one)), regions(one, f"what-if-{index + 1}", now)]
    return blocks


def _reading(found: Plan, one: Sweep) -> str:
    """What a sweep says, in a sentence."""
    names = " and ".join(QUANTITIES[axis.name].words for axis in one.axes)
    policies = {short_policy(row["best"]) for row in one.rows}
    cheapest = min(one.rows, key=lambda row: row["best"]["cost"])
    if policies == {found.policy}:
        change = f"`{found.policy}` stays the best everywhere"
    elif found.policy in policies:
        share = sum(short_policy(row["best"]) == found.policy for row in one.rows) / len(one.rows)
        change = (
            f"`{found.policy}` is the best at {share:.0%} of the points, {len(policies) - 1} other policies elsewhere"
        )
    else:
        change = f"{len(policies)} policies are best somewhere"
    if any(axis.name.startswith("cost.") for axis in one.axes):
        return f"**{names.capitalize()}**: {change}."
    at = ", ".join(f"{QUANTITIES[name].words} {value:g}" for name, value in cheapest["point"].items())
    least = f"The lowest cost of the points, {cheapest['best']['cost']:.5g}, is at {at}."
    return f"**{names.capitalize()}**: {change}. {least}"


def unsuitable_report(found: Unsuitable, command: str) -> Report:
    """What can be said of a log that allows no model."""
    return Report(
        title="This log allows no plan",
        summary=["**No policy can be recommended from this log.**", found.reason, *found.can[:2]],
        sections=[
            Section("What the log shows", [Table("The log", ["what", "value"], found.facts)]),
            Section("What can be concluded", [Points(found.can)]),
            Section("What cannot be concluded", [Points(found.cannot)]),
            Section("What would help", [Points(found.instead)]),
        ],
        provenance=gather(seeds=[found.settings.seed]),
        command=command,
        unconfirmed=["No model was fitted, nothing was optimised, simulated or replayed."],
        data=found.to_json(),
    )


def _time(seconds: float) -> str:
    """A duration in the unit that people would use."""
    for unit, size in (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
