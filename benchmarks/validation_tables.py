"""Makes the tables and the picture of docs/validation.md.

From the root of the repository::

    python -m benchmarks.validation_tables power             the two tables of what is found, on standard output
    python -m benchmarks.validation_tables picture [STORE]   docs/pictures/calibration.svg, 200 crawlers of seed 1
    python -m benchmarks.validation_tables examples FOLDER   the scenarios that must all be equivalent, as files
"""

from __future__ import annotations

import sys
from pathlib import Path

from analytic import optimize, solve
from crawltwin.model import ThresholdPolicy, examples
from crawltwin.pages.calibration import calibration_figure
from crawltwin.work.store import Store
from tests.cross.faulty_engine import Mistake, run_engine
from tests.cross.planted_defects import DEFECTS, pages_to_find, smallest_defects
from validate.calibration import calibrate
from validate.comparison import compare
from validate.plan import ValidationPlan

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "calibration.svg"
LEAST = 2000
BUDGETS = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
FAULTS = [
    ("indexing rate 2% too high", ("service", 0.02), Mistake.NONE),
    ("capacity one too small", ("capacity", -1), Mistake.NONE),
    ("capacity one too large", ("capacity", 1), Mistake.NONE),
    ("thresholds one too low", ("thresholds", -1), Mistake.NONE),
    ("thresholds one too high", ("thresholds", 1), Mistake.NONE),
    ("last in, first out", None, Mistake.LAST_IN_FIRST_OUT),
    ("obsolescence clock restarts when the queue moves", None, Mistake.CLOCK_RESTARTS),
    ("obsolescence clock runs on during indexing", None, Mistake.CLOCK_RUNS_ON_IN_SERVICE),
    ("cancelled alarm still goes off and takes a page", None, Mistake.LOST_CANCEL),
    ("batch admitted whole instead of in part", None, Mistake.BATCH_ADMITTED_WHOLE),
    ("arrival phase lost at a change of mode", None, Mistake.PHASE_LOST_AT_MODE_CHANGE),
    ("mode chosen before instead of after a departure", None, Mistake.MODE_CHOSEN_BEFORE_DEPARTURE),
]


def power() -> None:
    scenario, plan = examples.load("hyperexponential"), ValidationPlan()
    print("| defect | shown first by | " + " | ".join(f"{pages:,} pages" for pages in BUDGETS) + " |")
    print("|---|---|" + "---|" * len(BUDGETS))
    found = smallest_defects(scenario, BUDGETS, plan=plan)
    for name in dict.fromkeys(one.defect for one in found):
        own = [one for one in found if one.defect == name]
        sizes = " | ".join(f"{one.size:.2%}" for one in own)
        shown = ", ".join(f"`{name}`" for name in dict.fromkeys(one.shown_by for one in own))
        print(f"| {DEFECTS[name].words} | {shown} | {sizes} |")
    print("\n| fault | found within pages | largest shift in |")
    print("|---|---|---|")
    solution = solve(scenario)
    for words, defect, mistake in FAULTS:
        simulated = scenario if defect is None else DEFECTS[defect[0]].apply(scenario, defect[1])
        sample = run_engine(
            simulated,
            mistake,
            pages=4_000_000,
            rate=solution.measures["arrival_rate"],
            replications=50,
            seed=1,
            reading_of=scenario,
        )
        comparisons = compare(solution, sample, plan)
        worst = max(comparisons, key=lambda one: abs(one.score))
        pages = pages_to_find(comparisons, sample.pages, plan)
        # Below a few thousand pages the normal law behind the estimate does not hold.
        print(f"| {words} | {max(float(f'{pages:.2g}'), LEAST):,.0f} | `{worst.name}` |", flush=True)


def picture(store: str = ".crawltwin/calibration") -> None:
    calibration = calibrate(200, 1, workers=None, store=Store(store))
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(calibration_figure(calibration).svg)
    print(calibration.to_json())


def write_examples(folder: str) -> None:
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    paper, hyper = examples.load("paper"), examples.load("hyperexponential")
    for best in optimize(paper.replace(policy=None)).policies:
        words = "-".join(map(str, (*best.robots, "at", *best.thresholds)))
        policy = ThresholdPolicy(best.robots, best.thresholds)
        paper.replace(policy=policy, title=f"table 1: {words}").write(target / f"table-1-{words}.toml")
    examples.load("measured").write(target / "measured.toml")
    hyper.write(target / "hyperexponential.toml")
    for rule in ("all-or-nothing", "overflow"):
        for scenario, name in ((paper, "paper"), (hyper, "hyperexponential")):
            scenario.replace(admission=rule, title=f"{name}, {rule}").write(target / f"{name}-{rule}.toml")


if __name__ == "__main__":
    {"power": power, "picture": picture, "examples": write_examples}[sys.argv[1]](*sys.argv[2:])
