"""A good scenario file, and wrong ones with the place and the words that their refusal must name."""

from __future__ import annotations

from crawltwin.model import examples
from crawltwin.model.scenario_file import dumps

GOOD = """
capacity = 5
[arrivals]
kind = "modes"
[[arrivals.modes]]
robots = 1
D = [[[-10, 2], [0, -0.5]], [[0.05, 3], [0.29, 0.005]], [[0.05, 4.9], [0.2, 0.005]]]
[[arrivals.modes]]
robots = 3
D = [[[-2.48, 0.48], [0.48, -3.48]], [[1.5, 0], [0, 2.25]], [[0.5, 0], [0, 0.75]]]
[service]
initial = [0.4, 0.6]
subgenerator = [[-3, 1], [2, -3]]
[obsolescence]
initial = [0.3, 0.7]
subgenerator = [[-0.6, 0.4], [0.1, -0.3]]
[policy]
robots = [3, 1]
thresholds = [2]
[cost]
loss = 5
starvation = 300
"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


WRONG = {
    # name: (text, place that the message must name, words that it must hold)
    "capacity missing": (changed("capacity = 5", ""), "at capacity", "must be given"),
    "capacity zero": (changed("capacity = 5", "capacity = 0"), "at capacity", "at least 1; got 0"),
    "capacity negative": (changed("capacity = 5", "capacity = -2"), "at capacity", "at least 1"),
    "capacity float": (changed("capacity = 5", "capacity = 5.0"), "at capacity", "whole number"),
    "capacity text": (changed("capacity = 5", 'capacity = "five"'), "at capacity", "whole number"),
    "capacity boolean": (changed("capacity = 5", "capacity = true"), "at capacity", "whole number"),
    "unknown admission": (
        changed("capacity = 5", 'capacity = 5\nadmission = "half"'),
        "at admission",
        "all-or-nothing",
    ),
    "title no text": (changed("capacity = 5", "capacity = 5\ntitle = 3"), "at title", "must be text"),
    "unknown key": (changed("capacity = 5", "capacity = 5\ncapacty = 6"), "at capacty", "Did you mean 'capacity'?"),
    "unknown section": (GOOD + "[polcy]\nrobots = [1]\n", "at polcy", "Did you mean 'policy'?"),
    "arrivals missing": (GOOD[: GOOD.index("[arrivals]")] + GOOD[GOOD.index("[service]") :], "at arrivals", "given"),
    "arrivals no table": (
        "capacity = 1\narrivals = 3\nservice = {family = 'exponential', mean = 1}",
        "at arrivals",
        "table",
    ),
    "kind missing": (changed('kind = "modes"', ""), "at arrivals.kind", "One of modes"),
    "kind unknown": (changed('"modes"', '"mode"'), "at arrivals.kind", "Did you mean 'modes'?"),
    "kind's key wrong": (changed('kind = "modes"', 'kind = "modes"\nkeep = [1]'), "at arrivals.keep", "must be one of"),
    "thinned without keep": (
        'capacity = 1\n[arrivals]\nkind = "thinned"\nD = [[[-1]], [[1]]]',
        "at arrivals.keep",
        "given",
    ),
    "thinned, keep text": (
        'capacity = 1\n[arrivals]\nkind = "thinned"\nD = [[[-1]], [[1]]]\nkeep = "all"',
        "at arrivals.keep",
        "list of numbers",
    ),
    "thinned, keep falling": (
        'capacity = 1\n[arrivals]\nkind = "thinned"\nD = [[[-1]], [[1]]]\nkeep = [1.0, 0.5]',
        "at arrivals.keep",
        "increase",
    ),
    "scaled, no robots": (
        'capacity = 1\n[arrivals]\nkind = "scaled"\nD = [[[-1]], [[1]]]\nrobots = 0',
        "robots",
        "at least 1",
    ),
    "marked, no list": (
        'capacity = 1\n[arrivals]\nkind = "marked"\nD0 = [[-1]]\nrobots = 2',
        "at arrivals.robots",
        "non-empty list of tables",
    ),
    "marked, sums": (
        'capacity = 1\n[arrivals]\nkind = "marked"\nD0 = [[-1]]\n[[arrivals.robots]]\nD = [[[0.5]]]',
        "at arrivals.D0[0][0]",
        "must sum to 0",
    ),
    "independent, no D": (
        'capacity = 1\n[arrivals]\nkind = "independent"\n[[arrivals.robots]]\nd = [[[-1]], [[1]]]',
        "at arrivals.robots[0].D",
        "must be given",
    ),
    "modes empty": ('capacity = 1\n[arrivals]\nkind = "modes"\nmodes = []', "at arrivals.modes", "non-empty list"),
    "mode named twice": (changed("robots = 3\nD", "robots = 1\nD"), "at arrivals.modes[1].robots", "named once"),
    "mode robots zero": (changed("robots = 1\nD", "robots = 0\nD"), "at arrivals.modes[0].robots", "at least 1"),
    "lost minus sign": (changed("-3.48", "3.48"), "at arrivals.modes[1].D[0][1][1]", "lost minus sign"),
    "minus sign too many": (changed("[0.05, 3]", "[-0.05, 3]"), "at arrivals.modes[0].D[1][0][0]", "not negative"),
    "row sum": (changed("[2, -3]", "[2, -3]").replace("-10, 2", "-11, 2"), "at arrivals.modes[0].D[0][0]", "sum to 0"),
    "ragged matrix": (changed("[0.05, 3]", "[0.05]"), "at arrivals.modes[0].D[1]", "equal length"),
    "text in matrix": (changed("[0.05, 3]", '["x", 3]'), "at arrivals.modes[0].D[1]", "plain number"),
    "nan in matrix": (changed("[0.05, 3]", "[nan, 3]"), "at arrivals.modes[0].D[1][0][0]", "finite"),
    "infinity in matrix": (changed("[0.05, 3]", "[inf, 3]"), "at arrivals.modes[0].D[1][0][0]", "finite"),
    "sizes differ": (changed("[[1.5, 0], [0, 2.25]]", "[[1.5]]"), "at arrivals.modes[1].D[1]", "2 x 2"),
    "phases differ": (
        GOOD[: GOOD.index("[[0.5, 0], [0, 0.75]]]")].replace(
            "[[[-2.48, 0.48], [0.48, -3.48]], [[1.5, 0], [0, 2.25]], ", "[[[-1]], [[1]]]"
        )
        + GOOD[GOOD.index("\n[service]") :],
        "at arrivals.modes",
        "same number of phases",
    ),
    "reducible": (
        changed("[[[-2.48, 0.48], [0.48, -3.48]]", "[[[-2, 0], [0, -3]]"),
        "at arrivals.modes[1].D",
        "reducible",
    ),
    "nothing arrives": (
        'capacity = 1\n[arrivals]\nkind = "scaled"\nD = [[[-1]]]\nrobots = 1',
        "at arrivals.D",
        "two matrices",
    ),
    "service missing": (
        changed("[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]\n", ""),
        "at service",
        "given",
    ),
    "service half": (changed("initial = [0.4, 0.6]\n", ""), "at service.initial", "must be given"),
    "service sum": (changed("[0.4, 0.6]", "[0.4, 0.5]"), "at service.initial", "sum to 1"),
    "service length": (changed("[0.4, 0.6]", "[0.4, 0.3, 0.3]"), "at service.initial", "as long as"),
    "service sign": (changed("[[-3, 1], [2, -3]]", "[[3, 1], [2, -3]]"), "at service.subgenerator[0][0]", "negative"),
    "service never ends": (
        changed("[[-3, 1], [2, -3]]", "[[-1, 1], [2, -2]]"),
        "at service.subgenerator[0]",
        "never does",
    ),
    "service unknown key": (changed("[service]", "[service]\nrate = 2"), "at service.rate", "must be one of"),
    "family unknown": (
        changed("[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]", '[service]\nfamily = "erlan"'),
        "at service.family",
        "Did you mean 'erlang'?",
    ),
    "family's key missing": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "erlang"\nmean = 2',
        ),
        "at service.stages",
        "must be given",
    ),
    "family's value": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "exponential"\nmean = 0',
        ),
        "at service.mean",
        "greater than 0",
    ),
    "family's list": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "hyperexponential"\nweights = 1\nrates = [1]',
        ),
        "at service.weights",
        "must be a list",
    ),
    "family's lengths": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "hyperexponential"\nweights = [0.5, 0.5]\nrates = [1]',
        ),
        "at service.weights",
        "of one length",
    ),
    "obsolescence no table": (
        GOOD.replace("[obsolescence]", "[other]") + "\n[obsolescence.x]\n",
        "at obsolescence.x",
        "one of",
    ),
    "threshold too high": (
        changed("thresholds = [2]", "thresholds = [6]"),
        "at policy.thresholds[0]",
        "at most the capacity 5",
    ),
    "threshold below -1": (changed("thresholds = [2]", "thresholds = [-2]"), "at policy.thresholds[0]", "at least -1"),
    "thresholds unordered": (
        changed("robots = [3, 1]\nthresholds = [2]", "robots = [3, 1, 3]\nthresholds = [2, 1]"),
        "at policy.thresholds",
        "rising order",
    ),
    "thresholds too many": (changed("thresholds = [2]", "thresholds = [1, 2]"), "at policy.thresholds", "one fewer"),
    "robots unknown": (changed("robots = [3, 1]", "robots = [2, 1]"), "at policy.robots", "1, 3; got 2"),
    "policy empty": (changed("robots = [3, 1]\nthresholds = [2]", ""), "at policy.robots", "must be given"),
    "table too short": (changed("robots = [3, 1]\nthresholds = [2]", "table = [3, 1]"), "at policy.table", "6 entries"),
    "table and robots": (changed("thresholds = [2]", "table = [1]"), "at policy.robots", "must be one of table"),
    "cost negative": (changed("loss = 5", "loss = -5"), "at cost.loss", "at least 0"),
    "cost unknown": (changed("loss = 5", "lost = 5"), "at cost.lost", "Did you mean 'loss'?"),
    "cost text": (changed("loss = 5", 'loss = "5"'), "at cost.loss", "must be a number"),
    "kind a list": (changed('"modes"', '["modes"]'), "at arrivals.kind", "must be one of modes"),
    "family a list": (
        changed("[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]", '[service]\nfamily = ["erlang"]'),
        "at service.family",
        "must be one of exponential",
    ),
    "too many stages": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "erlang"\nmean = 1.0\nstages = 1000000',
        ),
        "at service.stages",
        "at most 2000",
    ),
    "moments out of range": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "three-moments"\nm1 = 1e200\nm2 = 1e-200\nm3 = 1e200',
        ),
        "at service",
        "within floating point's range",
    ),
    "too many robots": (
        'capacity = 1\n[arrivals]\nkind = "scaled"\nD = [[[-1]], [[1]]]\nrobots = 1000000000',
        "at arrivals.robots",
        "at most 1000",
    ),
    "endless number": (changed("capacity = 5", "capacity = " + "9" * 5000), "5000 digits", "valid TOML"),
    "nested without end": (changed("[0.4, 0.6]", "[" * 300 + "]" * 300), "service.initial", "list of numbers"),
    "not TOML": ("capacity = = 5", "line 1", "valid TOML"),
}

FETCHING = dumps(examples.load("fetching"))
HYSTERESIS = dumps(examples.load("hysteresis"))


def _fetching(old: str, new: str) -> str:
    assert old in FETCHING
    return FETCHING.replace(old, new)


WRONG |= {
    "indexers zero": (changed("capacity = 5", "capacity = 5\nindexers = 0"), "at indexers", "at least 1; got 0"),
    "indexers beyond the capacity": (
        changed("capacity = 5", "capacity = 5\nindexers = 6"),
        "at indexers",
        "at most the capacity 5; got 6",
    ),
    "indexers text": (changed("capacity = 5", 'capacity = 5\nindexers = "two"'), "at indexers", "whole number"),
    "resume above its threshold": (
        changed("thresholds = [2]", "thresholds = [2]\nresume = [3]"),
        "at policy.resume[0]",
        "at most its threshold 2; got 3",
    ),
    "check_every negative": (
        changed("thresholds = [2]", "thresholds = [2]\ncheck_every = -1"),
        "at policy.check_every",
        "at least 0; got -1",
    ),
    "switching negative": (changed("loss = 5", "loss = 5\nswitching = -1"), "at cost.switching", "at least 0"),
    "no robots that fetch": (_fetching("robots = 4", "robots = 0"), "at arrivals.robots", "at least 1; got 0"),
    "fetch missing": (
        "capacity = 2\n[arrivals]\nkind = 'fetching'\nrobots = 2\n[service]\nfamily = 'exponential'\nmean = 1\n",
        "at arrivals.fetch",
        "fetch must be given; got nothing",
    ),
    "fetch no table": (
        "capacity = 2\narrivals = {kind = 'fetching', robots = 2, fetch = 3}",
        "at arrivals.fetch",
        "must be a table of keys; got 3",
    ),
    "pages of a fetch": (_fetching("pages = [0.9, 0.1]", "pages = [0.9, 0.2]"), "at arrivals.pages", "sum to 1"),
    "pages no list": (_fetching("pages = [0.9, 0.1]", "pages = 2"), "at arrivals.pages", "list of numbers; got 2"),
    "start-up of two phases": (
        _fetching("[arrivals.start_up]\ninitial = [1.0]", "[arrivals.start_up]\ninitial = [1.0, 0.0]"),
        "at arrivals.start_up",
        "as the subgenerator has rows",
    ),
    "pace too short": (_fetching("pace = [1.0, 0.35]", "pace = [1.0]"), "at arrivals.spells.pace", "each spell (2)"),
    "spells without pace": (_fetching("pace = [1.0, 0.35]", ""), "at arrivals.spells.pace", "must be given"),
    "unknown key of spells": (
        _fetching("pace = [1.0, 0.35]", "pase = [1.0, 0.35]"),
        "at arrivals.spells.pase",
        "Did you mean 'pace'?",
    ),
    "unknown key of fetching": (
        _fetching("pages = [0.9, 0.1]", "page = [0.9, 0.1]"),
        "at arrivals.page",
        "Did you mean 'pages'?",
    ),
}
