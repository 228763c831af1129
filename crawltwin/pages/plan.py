"""The report of a plan: the verdict and the decision first, then everything that they rest on, each step explained."""

from __future__ import annotations

from collections.abc import Mapping

from crawltwin.model import MEASURES, SCALAR_MEASURES
from crawltwin.pages.fit import fit_report
from crawltwin.pages.plan_evidence import (
    backlog_blocks,
    check_blocks,
    clock_blocks,
    day_blocks,
    doubt_blocks,
    polling_blocks,
    what_if_blocks,
)
from crawltwin.pages.plan_pictures import cost_picture, levels_picture
from crawltwin.plan.config import PlanFile
from crawltwin.plan.day.logged_crawl import RobotsLogged
from crawltwin.plan.evidence.unsuitable import Unsuitable
from crawltwin.plan.prepare import WEIGHT_UNITS
from crawltwin.plan.result import Plan
from crawltwin.plan.wording import in_percent, instruction, kind_of, named, with_interval
from crawltwin.report import Block, Cell, Code, Column, Note, Points, Report, Section, Table, Text, Tone, gather

VERDICT_TONES: dict[str, Tone] = {"TRUSTED": "good", "PROVISIONAL": "warn", "NOT TRUSTED": "bad"}


def plan_report(
    found: Plan, command: str, sources: Mapping[str, str] | None = None, said: PlanFile | None = None
) -> Report:
    """Everything on one page. Cost: a second or two.

    `sources` are the files of the log with their digests; `said` has the choices of reading and fitting beside the
    settings, so that the plan can be made again from the report.
    """
    sections = [
        Section("Today and recommended", _comparison(found)),
        *([Section("What the clock hides", clock_blocks(found.clock))] if found.clock is not None else []),
        Section("What to do", _decision(found)),
        *([] if found.day is None else [Section("Time of day", day_blocks(found.day))]),
        *([Section("What is missing", _assumed(found))] if found.assumed else []),
        Section("What the plan rests on", _inputs(found)),
        Section("How sure is that", doubt_blocks(found)),
        Section("Simulation and replay", check_blocks(found)),
        Section("Backlog, waiting, completion", backlog_blocks(found)),
        *([Section("What polling costs", polling_blocks(found))] if found.polling else []),
        *([Section("What if", what_if_blocks(found))] if found.sweeps else []),
        Section("Appendix: the proof", [Text(_proof(found))]),
        Section(
            "The log and its model",
            [Text("What was read, what was cut out, how batches were found, which models were compared.")],
            fit_report(found.fit, command or "crawltwin fit").sections,
        ),
    ]
    return Report(
        title="How many robots at which backlog",
        summary=[
            f"**{found.verdict.word}**: {_sentence(found.verdict.reasons)}",
            *(f"**{order}**" for order in found.orders),
            *_gist(found),
            *found.warnings,
        ],
        sections=sections,
        provenance=gather(
            [found.scenario],
            seeds=[found.settings.seed],
            seconds=found.seconds,
            sources=sources,
            settings=(said or PlanFile(found.settings)).text(),
        ),
        command=command,
        unconfirmed=[*map(_capital, found.missing), *_reservations(found)],
        data={key: value for key, value in found.to_json().items() if key != "seconds"},
    )


def _sentence(reasons: tuple[str, ...]) -> str:
    """Clauses joined into a sentence; marks of a log's own words are not marks here."""
    return "".join(" " if char in "`*[]" else char for char in _capital("; ".join(reasons)))


def _capital(clause: str) -> str:
    """A clause as a sentence."""
    return clause[:1].upper() + clause[1:].rstrip(".") + "."


def _gist(found: Plan) -> list[str]:
    """The comparison in one sentence, and what was chosen among."""
    lines = {line.question.measure: line for line in found.compared}
    parts = [
        f"{line.question.words} {line.shown(line.recommended)}, today {line.shown(line.today)}"
        for name in ("loss_probability", "mean_sojourn_served", "mean_active_robots")
        if (line := lines.get(name)) is not None
    ]
    text = "; ".join(parts)
    return [f"{text[:1].upper()}{text[1:]}."] if parts else []


def _comparison(found: Plan) -> list[Block]:
    doubt = found.doubt
    interval = (
        "No interval is known: the log was not resampled."
        if doubt is None
        else "In brackets: where 95 of 100 values lie when the log is resampled and the model fitted again "
        f"({doubt.redraws} times){', and over both readings of the clock' if found.clock and found.clock.both else ''}."
    )
    order = instruction(found.scenario.policy_in_force, found.scenario.capacity)
    short = f"`{found.policy}`{', the best single policy,' if found.by_part else ''} is short for: {order} "
    short = short if named(found.policy) == found.policy else ""
    robots, logged = found.settings.recorded, RobotsLogged.of(found.fit, found.settings)
    today = "one robot always" if robots == 1 else f"all {robots} robots always"
    today = today if logged is None else logged.in_words()
    return [
        Table(
            "What the crawl does now, and what the policy would do",
            ["measure", Column(f"today: {today}", "number"), Column(f"recommended: {_short(found)}", "number")],
            [
                (
                    line.question.words,
                    Cell(line.today.value, line.shown(line.today)),
                    Cell(line.recommended.value, line.shown(line.recommended)),
                )
                for line in found.compared
            ],
            name="today",
        ),
        Text(f"{short}A page awaits indexing from its delivery until it is indexed. {interval}"),
    ]


def _short(found: Plan) -> str:
    """The recommendation in a few letters."""
    return "by part of the day" if found.by_part else named(found.policy)


def _decision(found: Plan) -> list[Block]:
    K = found.scenario.capacity
    blocks: list[Block] = [
        *(Note(order, VERDICT_TONES[found.verdict.word]) for order in found.orders),
        Text(_choice(found)),
        Text(
            "[The page to explore](explore.html) lets you move the weights, the limits and the speeds, and shows at "
            "once which policy wins."
        ),
    ]
    if found.limited is None:
        blocks += [*_cost(found), _sets(found)]
    return [
        *blocks,
        Table(
            "Measures under the recommended policy",
            ["measure", Column("value", "number")],
            [
                (MEASURES[name].words, Cell(value, with_interval(value, kind=kind_of(name))))
                for name in SCALAR_MEASURES
                if (value := found.solution.measures.get(name)) is not None
            ],
        ),
        levels_picture(
            found.solution.measures["level_distribution"],
            None if found.by_part else found.scenario.policy_in_force.robots_by_level(K),
        ),
        Text(
            f"For a crawler: `policy.json` beside this page holds the table{'s' if found.by_part else ''} below "
            "(robots by pages that await indexing). `crawlpolicy.py` is a Scrapy extension and `policy.groovy` a "
            "Heritrix console script that obey it; both need the number of pages that the indexer has not finished yet."
        ),
        *_tables(found),
    ]


def _tables(found: Plan) -> list[Block]:
    """Robots by pages that await indexing, for each part of the day."""
    words, K = "robots by pages that await indexing", found.scenario.capacity
    if found.day is None or not found.by_part:
        return [Code(str(list(found.optimum.best.policy.robots_by_level(K))), words)]
    return [
        Code(str(list(policy.robots_by_level(K))), f"{found.day.clock(part)}: {words}")
        for part, policy in zip(found.day.parts, found.day.policies, strict=True)
    ]


def _choice(found: Plan) -> str:
    """How the policy was chosen."""
    if found.limited is not None:
        share = found.limited.in_time
        within = found.limited.limits.index_within
        late = ""
        if share is not None and within is not None:
            late = f" Under it {in_percent(share)} of the indexed pages are in time."
        return f"Asked for: {found.limited.limits.in_words()}. {found.limited.in_words()}{late}"
    if found.clock is not None:
        return (
            f"{found.clock.choice_in_words()} In the likelier reading it costs {found.optimum.best.cost:.5g}, "
            f"{found.gain_words}."
        )
    certificate = found.certificate
    best = certificate is not None and certificate.threshold_is_best
    proof = "No better backlog rule exists (proof in the appendix)." if best else "See the appendix for what is proved."
    return (
        f"{found.cost_words} {proof} The cost is a weighted sum of lost pages, stale pages, time until indexed, "
        "robots and an idle indexer."
    )


def _cost(found: Plan) -> list[Block]:
    """Where the cost comes from."""
    if not found.terms:
        return []
    return [
        Table(
            "Where the cost comes from",
            ["term", Column("weight", "number"), Column("cost", "number"), Column("share", "number")],
            [
                (
                    term.words,
                    Cell(term.weight, f"{term.weight:,.6g} {WEIGHT_UNITS[term.name]}"),
                    Cell(term.cost, with_interval(term.cost)),
                    Cell(term.share, in_percent(term.share)),
                )
                for term in found.terms
            ],
            name="cost-terms",
        ),
        cost_picture({term.words: term.cost for term in found.terms}),
    ]


def _sets(found: Plan) -> Table:
    best = found.optimum.best
    return Table(
        "The best policy of every set of robots",
        ["robots", "thresholds", Column("cost", "number"), Column("above the best", "number")],
        [
            (
                " or ".join(map(str, item.robots)),
                ", ".join(map(str, item.thresholds)) or "–",
                Cell(item.cost, f"{item.cost:.5g}", "good" if item is best else "plain"),
                Cell(100 * (item.cost / best.cost - 1), f"{100 * (item.cost / best.cost - 1):.3g}%"),
            )
            for item in found.optimum.policies
        ],
    )


def _proof(found: Plan) -> str:
    proof = found.optimum.proof_in_words()
    if found.limited is not None:
        return f"{proof} {found.limited.in_words()}"
    return f"Policies compared: {len(found.optimum.tables):,}. {proof}" + (
        "" if found.certificate is None else f" {found.certificate.in_words()}"
    )


def _assumed(found: Plan) -> list[Block]:
    """What was not given, and the policy over its plausible range."""
    blocks: list[Block] = [
        Text(
            "These numbers were not given. Each was moved over the range that is plausible, and the policy was "
            "chosen again. `crawltwin plan LOG --ask` asks for them and writes the answers into a file."
        )
    ]
    columns = (
        ("lost", "loss_probability"),
        ("stale", "obsolescence_probability"),
        ("robots, mean", "mean_active_robots"),
    )
    for one in found.assumed:
        moves = "The policy moves with it: measure it." if one.moves else "The policy does not depend on it."
        name = one.name[:1].upper() + one.name[1:]
        blocks += [
            Text(f"**{name}** was taken to be {one.value}. {moves} {one.measure} Then give `{one.option}`."),
            Table(
                f"The policy over {one.name}",
                [one.name.removeprefix("the "), "policy", *[Column(head, "number") for head, _ in columns]],
                [
                    (
                        point.value,
                        named(point.policy or "none found"),
                        *[_amount(key, point.measures.get(key)) for _, key in columns],
                    )
                    for point in one.points
                ],
            ),
        ]
    return blocks


def _amount(measure: str, value: float | None) -> Cell:
    """A share in percent, or a number to three digits."""
    if value is None:
        return Cell(None)
    return Cell(value, in_percent(value) if measure.endswith("probability") else f"{value:.3g}")


def _inputs(found: Plan) -> list[Block]:
    words = {"given": "given", "log": "from the log", "default": "assumed"}
    return [
        Text(
            "Every number that the plan rests on, and where it comes from. What is assumed can be given: as an "
            "option, or in a file with `--config plan.toml`."
        ),
        Table(
            "Inputs",
            ["what", "value", "origin", "remarks"],
            [
                (
                    one.name,
                    one.value,
                    Cell(words[one.source], tone="warn" if one.source == "default" else "plain"),
                    one.words,
                )
                for one in found.inputs
            ],
        ),
    ]


def _reservations(found: Plan) -> list[str]:
    words = [
        f"{one.name[:1].upper()}{one.name[1:]} (assumed): {one.words}."
        for one in found.inputs
        if one.source == "default" and one.words
    ]
    return [*words, *map(_capital, found.fit.warnings)]


def unsuitable_report(
    found: Unsuitable, command: str, sources: Mapping[str, str] | None = None, said: PlanFile | None = None
) -> Report:
    """What can be said of a log that allows no model."""
    return Report(
        title="This log allows no plan",
        summary=[f"**{found.verdict.word}**: {_sentence(found.verdict.reasons)}", *found.can[:2]],
        sections=[
            Section("What the log shows", [Table("The log", ["what", "value"], found.facts)]),
            Section("What can be concluded", [Points(found.can)]),
            Section("What cannot be concluded", [Points(found.cannot)]),
            Section("What would help", [Points(found.instead)]),
        ],
        provenance=gather(
            seeds=[found.settings.seed], sources=sources, settings=(said or PlanFile(found.settings)).text()
        ),
        command=command,
        unconfirmed=["No model was fitted, nothing was optimised, simulated or replayed."],
        data=found.to_json(),
    )
