"""`python -m benchmarks robots`: robots learned from made logs whose truth is known.

Three questions. Is a planted saturation (r robots bring r^0.6) told from proportional rates? What does the policy that
follows from logs of 1, 2 and 4 robots cost in the true crawler, above the true optimum, and what would the assumption
cost that r of N robots bring r/N? Do the intervals of fetch times and slow spells cover? Logs have 20,000 batches.
It is long; ``ROBOTS_CRAWLERS=3 make bench BENCH=robots`` takes so many crawlers, and as many of the other cases.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from analytic import optimize, solve
from benchmarks.rows import OURS, Row
from crawltwin.model import BMAP, CostWeights, ModeMatrices, Scenario, exponential, hyper_erlang
from crawltwin.model.arrivals.spells import Spells
from crawltwin.plan.prepare import default_cost, scenario_of, with_robots_of_log
from crawltwin.plan.settings import PlanSettings
from fitting import FitOptions, fit, read_log
from fitting.robots.fetch_law import fit_fetch_law
from fitting.robots.rate_laws import evidence_of
from fitting.robots.spells import fit_spells
from fitting.trace.segments import Segments
from tests.unit.fitting.robots.made import crawl, fetches

NUMBERS = (1, 2, 4)
BATCHES = 20_000
CRAWLERS = 50
OPTIONS = FitOptions(methods=("poisson", "mmpp2"), repetitions=20, refits=0)


def spells_of_the_web(rng: np.random.Generator) -> BMAP:
    """Four robots: deliveries at two paces, 2 to 8 times apart, each for 10 to 100 deliveries."""
    apart, stay = rng.uniform(2, 8), rng.uniform(10, 100, size=2)
    rates = np.array([1.0, apart])
    out = rates / stay
    generator = np.array([[-out[0], out[0]], [out[1], -out[1]]])
    return BMAP([generator - np.diag(rates), np.diag(rates)])


def truth(rng: np.random.Generator) -> Scenario:
    """A crawler in which r robots bring (r/4)^theta, theta from 0.4 to 1, of what four bring."""
    whole, theta = spells_of_the_web(rng), rng.uniform(0.4, 1)
    form = BMAP.thinned if rng.random() < 0.5 else BMAP.scaled
    modes = ModeMatrices({r: form(whole, (r / 4) ** theta) for r in range(1, 5)})
    service = rng.uniform(0.6, 1.5) / whole.page_rate
    base = default_cost(whole.page_rate, service, 4)
    weights = {name: weight * 3.0 ** rng.uniform(-1, 1) for name, weight in base.to_mapping().items()}
    return Scenario(
        capacity=int(rng.integers(5, 13)),
        arrivals=modes,
        service=exponential(service),
        obsolescence=exponential(service * rng.uniform(5, 50)),
        cost=CostWeights(**weights),
    )


def logs_of(scenario: Scenario, rng: np.random.Generator, folder: Path) -> dict[int, Path]:
    """One log for each number of robots, by the true modes."""
    found = {}
    for robots in NUMBERS:
        times = 1.7e9 + scenario.arrivals.mode(robots).sample(rng, BATCHES // len(NUMBERS)).times
        found[robots] = folder / f"{robots}.log"
        found[robots].write_text("\n".join(f"{moment:.6f}" for moment in times))
    return found


def above_the_optimum(seed: int) -> tuple[float, float, float]:
    """Share by which the true cost lies above that of the true optimum: learned, r/N assumed; and the true theta."""
    rng = np.random.default_rng([seed, 13])
    scenario = truth(rng)
    with tempfile.TemporaryDirectory() as folder:
        logs = {robots: read_log(path) for robots, path in logs_of(scenario, rng, Path(folder)).items()}
    settings = PlanSettings(
        robots=4,
        capacity=scenario.capacity,
        service_mean=scenario.service.mean,
        obsolescence_mean=scenario.obsolescence.mean,
        cost=scenario.cost,
    )
    best = optimize(scenario).best.cost
    result = []
    for log in (logs, logs[4]):
        found = fit(log, options=OPTIONS)
        policy = optimize(scenario_of(found, with_robots_of_log(found, settings))).best.policy
        result.append(float(solve(scenario.replace(policy=policy)).measures["cost"]) / best - 1)
    rates = [scenario.arrivals.page_rate(r) for r in (1, 4)]
    return result[0], result[1], float(np.log(rates[1] / rates[0]) / np.log(4))


def saturation(cases: int = 100) -> list[Row]:
    """How often proportional rates are refuted where they hold, and where r robots bring r^0.6."""
    rows = []
    for theta, words in ((0.6, "r^0.6 told from proportional rates"), (1.0, "proportional rates refuted")):
        refuted = 0
        for seed in range(cases):
            rng = np.random.default_rng([seed, 5])
            traces = [(r, _regimes(BATCHES // len(NUMBERS), r**theta, rng)) for r in NUMBERS]
            refuted += evidence_of(traces, seed=seed).verdict == "refuted"
        rows.append(Row(f"saturation, {cases} crawls", OURS, 100 * refuted / cases, "%", words))
    return rows


def _regimes(gaps: int, rate: float, rng: np.random.Generator) -> Segments:
    """Exponential gaps, four times as fast in one regime as in the other, of 30 gaps on average."""
    quick = (np.cumsum(rng.random(gaps) < 1 / 30) + rng.integers(2)) % 2
    return Segments.of(rng.exponential(np.where(quick, 0.4, 1.6)) / rate)


def coverage(crawls: int = 13) -> list[Row]:
    """Intervals of 95% that hold the truth: mean fetch time, pace and lengths of spells."""
    cases = {
        "Erlang-2 fetches": (hyper_erlang([1.0], [2], [2 / 0.8]), Spells([[-0.02, 0.02], [0.04, -0.04]], [1.0, 0.4])),
        "exponential fetches": (exponential(0.5), Spells([[-0.05, 0.05], [0.1, -0.1]], [1.0, 0.5])),
    }
    rows = []
    for name, (law, spells) in cases.items():
        held = np.zeros(4, dtype=np.int64)
        for seed in range(crawls):
            made = fetches(*crawl(law, 4, 2000.0, seed, spells), seconds=2000.0)
            steady = fit_fetch_law(made, 4, repetitions=100)
            found = fit_spells(made, steady)
            lengths = 1 / spells.generator[0, 1], 1 / spells.generator[1, 0]
            truths = (law.mean / spells.mean_pace, spells.pace[1], *lengths)
            numbers = (steady.mean, found.pace, found.fast_length, found.slow_length)
            held += [one.low <= value <= one.high for one, value in zip(numbers, truths, strict=True)]
        for words, count in zip(("mean fetch", "pace", "fast spell", "slow spell"), held.tolist(), strict=True):
            rows.append(Row(f"intervals that cover, {name}", OURS, count, f"of {crawls}", words))
    return rows


def regret(crawlers: int = CRAWLERS) -> list[Row]:
    """The cost of the chosen policy in the true crawler, above the true optimum."""
    found = []
    for seed in range(crawlers):
        found.append(above_the_optimum(seed))
        print(f"crawler {seed}: learned {found[-1][0]:.3%}, r/N {found[-1][1]:.3%}", file=sys.stderr, flush=True)
    rows = []
    for column, who in ((0, OURS), (1, "r of N bring r/N")):
        above = 100 * np.array(found)[:, column]
        for words, value in (("median", np.median(above)), ("90%", np.quantile(above, 0.9)), ("most", above.max())):
            rows.append(Row(f"cost above the true optimum, {crawlers} crawlers", who, float(value), "%", words))
    return rows


def run() -> list[Row]:
    """All three, with as many crawlers as the environment says."""
    few = int(os.environ.get("ROBOTS_CRAWLERS", "0"))
    if few < 1:
        return [*saturation(), *regret(), *coverage()]
    return [*saturation(few), *regret(few), *coverage(few)]
