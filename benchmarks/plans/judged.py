"""One plan against the truth: its verdict, its intervals, its cost above the best one, the limits that it breaks."""

import time
from pathlib import Path
from typing import Any

from analytic import optimize, solve
from benchmarks.plans.crawlers import Made, made
from crawltwin.model import Policy, Scenario
from crawltwin.plan.choosing import share_in_time
from crawltwin.plan.decide import Plan, plan
from fitting import FitOptions

SHORT = "the simulation was too short"
OPTIONS = FitOptions(methods=("poisson", "renewal", "map2", "mmpp2", "erlang"), repetitions=40, refits=0)


def word_of(found: Plan) -> str:
    """The verdict; a plan that lacks nothing but simulated pages, of which it gets few here, counts as trusted."""
    verdict = found.verdict
    only = verdict.word == "PROVISIONAL" and all(words.startswith(SHORT) for words in verdict.reasons)
    return "TRUSTED" if only else verdict.word


def truth_of(scenario: Scenario) -> dict[str, Any]:
    """Measures as the plan names them."""
    found = dict(solve(scenario).measures)
    found["indexed_rate"] = found["arrival_rate"] * found["success_probability"]
    return found


def intervals_of(found: Plan, before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """Every interval of today against recommended, with the truth beside it."""
    rows = []
    for line in found.compared:
        question = line.question
        for when, spread, truth in (("today", line.today, before), ("recommended", line.recommended, after)):
            value = 1 - truth[question.measure] if question.complement else truth[question.measure]
            rows.append({"measure": question.measure, "when": when, "truth": value,
                         "value": spread.value, "low": spread.low, "high": spread.high})  # fmt: skip
    return rows


def regret(one: Made, policy: Policy) -> float:
    """Cost of the policy above that of the best one, relative, in the truth."""
    best = optimize(one.scenario).best.cost
    return float(solve(one.scenario.replace(policy=policy)).measures["cost"]) / best - 1


def broken(one: Made, policy: Policy) -> dict[str, float]:
    """How far the policy exceeds each limit in the truth, relative to it; at most 0 where it is kept."""
    limits, chosen = one.settings.limits, one.scenario.replace(policy=policy)
    assert limits is not None and limits.lose_at_most is not None
    found = {"lose_at_most": float(solve(chosen).measures["loss_probability"]) / limits.lose_at_most - 1}
    if limits.index_within is not None:
        late = 1 - share_in_time(chosen, limits.index_within)
        found["index_within"] = late / (1 - limits.index_within.share) - 1
    return found


def judged(kind: str, seed: int, folder: Path) -> dict[str, Any]:
    """Make the crawler, plan from its log, compare with its truth."""
    one = made(kind, seed, folder)
    began = time.process_time()
    found = plan(one.log, one.settings, options=OPTIONS)
    row: dict[str, Any] = {"kind": kind, "seed": seed, "seconds": time.process_time() - began}
    row["by"] = "weights" if one.settings.limits is None else "limits"
    if not isinstance(found, Plan):
        return {**row, "word": "no plan", "reasons": [found.reason], "intervals": [], "replay": {}}
    policy = found.scenario.policy_in_force
    before, after = truth_of(one.today), truth_of(one.scenario.replace(policy=policy))
    row |= {"word": word_of(found), "reasons": list(found.verdict.reasons), "fit": found.fit.chosen.name}
    row |= {"pages": len(found.fit.log), "policy": found.policy, "blocks": found.fit.block_length}
    row["intervals"] = intervals_of(found, before, after)
    replay = () if found.replay is None else found.replay.predictions
    row["replay"] = {prediction.measure: prediction.verdict.word for prediction in replay}
    if one.settings.limits is None:
        assert found.doubt is not None
        row["regret"], row["told_regret"] = regret(one, policy), found.doubt.regret_high / found.doubt.cost.value
        cost = found.doubt.cost
        row["cost"] = {"truth": after["cost"], "value": cost.value, "low": cost.low, "high": cost.high}
    else:
        assert found.limited is not None
        row["kept"], row["broken"] = found.limited.kept, broken(one, policy)
        row["share"] = None if found.doubt is None else found.doubt.share
    return row
