"""Solved against simulated through the public door: verdicts, both engines, both ways, identities, the contract."""

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy import stats

from analytic import solve
from crawltwin.cli.output import to_json
from crawltwin.model import (
    BMAP,
    MEASURES,
    CostWeights,
    InputError,
    ScaledStream,
    Scenario,
    ThresholdPolicy,
    examples,
    exponential,
)
from crawltwin.model.scenario import FEATURES
from simulate import SampleSettings, draw_sample
from validate import CrossCheck, ValidationPlan, crosscheck
from validate.approach import compare_approach
from validate.comparison import compare
from validate.cross_check import judge_all
from validate.evidence import gather_evidence
from validate.identities import Identity, simulated_identities, solved_identities
from validate.length import chain_sigmas
from validate.plan import DISTRIBUTIONS
from validate.verdict import judge, overall

QUICK = ValidationPlan(margin=0.03)


@pytest.fixture(scope="module")
def paper() -> CrossCheck:
    return crosscheck(examples.load("paper"), QUICK)


def test_the_papers_first_example_is_equivalent(paper):
    assert paper.verdict == "equivalent"
    assert all(verdict.word == "equivalent" for verdict in paper.verdicts)
    assert {verdict.comparison.measure for verdict in paper.verdicts} == {*MEASURES, *DISTRIBUTIONS} - {"mean_fetches"}
    assert paper.approach
    assert all(identity.holds for identity in paper.identities)


def test_json_is_the_contracts_object(paper):
    answer = json.loads(to_json(paper.to_json()))
    keys = {"solved", "simulated", "low", "high", "margin", "verdict"}
    assert set(answer["measures"]) == set(MEASURES)
    assert [name for name, found in answer["measures"].items() if found is None] == ["mean_fetches"]
    for found in filter(None, answer["measures"].values()):
        assert keys <= set(found)
        assert found["verdict"] in ("equivalent", "different", "inconclusive")
    levels = answer["measures"]["level_distribution"]
    assert len(levels["solved"]) == len(levels["simulated"]) == 6
    frame = paper.to_frame()
    assert len(frame) == len(paper.verdicts) + len(paper.approach)


def test_the_result_does_not_depend_on_the_number_of_workers():
    plan = ValidationPlan(margin=0.1, pages=50_000, replications=20)
    one, two = (crosscheck(examples.load("mm1k"), plan, workers=workers) for workers in (1, 2))
    assert [v.comparison for v in one.verdicts] == [v.comparison for v in two.verdicts]
    assert [v.comparison for v in one.approach] == [v.comparison for v in two.approach]


@pytest.mark.parametrize("admission", ["all-or-nothing", "overflow"])
def test_the_other_admission_rules(admission):
    scenario = examples.load("hyperexponential").replace(admission=admission)
    assert crosscheck(scenario, QUICK, approach=False).verdict == "equivalent"


def test_the_reference_engine():
    plan = ValidationPlan(margin=0.15, engine="simpy", replications=20, quantiles=(0.5,), points=(0.25, 0.75))
    assert crosscheck(examples.load("mm1k"), plan).verdict == "equivalent"


@pytest.mark.parametrize(
    ("name", "capacity"),
    [
        # Room for 6: 1% of the pages are lost and can be counted. For 10, losses are one in 150,000 pages and are found
        # by splitting, as in the test of everything at once.
        ("fetching", 6),
        pytest.param("fetching", 10, marks=pytest.mark.slow),
        ("indexers", 12),
        ("hysteresis", 10),
    ],
)
def test_crawlers_beyond_the_paper(name, capacity):
    scenario = examples.load(name).replace(capacity=capacity)
    found = crosscheck(scenario, ValidationPlan(margin=0.05))
    assert found.verdict == "equivalent"
    assert all(identity.holds for identity in found.identities)
    missing = set() if name == "fetching" else {"mean_fetches"}
    assert {one.comparison.measure for one in found.verdicts} == {*MEASURES, *DISTRIBUTIONS} - missing
    assert {one.comparison.measure for one in found.approach} >= {"switch_rate", *({"mean_fetches"} - missing)}


def test_everything_beyond_the_paper_at_once():
    policy = ThresholdPolicy([4, 2, 1], [3, 6], resume=[1, 4], check_every=0.5)
    scenario = examples.load("fetching").replace(indexers=2, policy=policy, cost=CostWeights(1, 1, 1, 1, 1, 1))
    assert set(scenario.features) == set(FEATURES)
    assert crosscheck(scenario, ValidationPlan(margin=0.05)).verdict == "equivalent"


def test_a_controller_that_never_switches_is_equivalent_even_without_an_absolute_margin():
    plan = ValidationPlan(margin=0.1, absolute_margin=0.0, pages=50_000, replications=20)
    (switches,) = crosscheck(examples.load("mm1k"), plan, approach=False).of("switch_rate")
    assert switches.comparison.solved == switches.comparison.simulated == 0.0
    assert switches.word == "equivalent"


def test_pages_that_never_become_obsolete():
    scenario = examples.load("mm1k").replace(obsolescence=None)
    found = crosscheck(scenario, QUICK, approach=False)
    assert found.verdict == "equivalent"
    assert found.to_json()["measures"]["mean_sojourn_obsolete"] is None
    assert found.of("obsolescence_probability")[0].comparison.simulated == 0.0


def test_several_scenarios_are_one_family():
    plan = ValidationPlan(margin=0.1, pages=100_000, replications=20)
    scenarios = [examples.load("mm1k"), examples.load("marked")]
    both = crosscheck(scenarios, plan, approach=False)
    alone = crosscheck(scenarios[0], plan, approach=False)
    assert isinstance(both, tuple)
    assert [v.comparison for v in both[0].verdicts] == [v.comparison for v in alone.verdicts]
    # More tests in the family: Holm's adjusted values can only grow.
    for joint, single in zip(both[0].verdicts, alone.verdicts, strict=True):
        assert joint.p_difference >= single.p_difference - 1e-12


def test_a_budget_too_small_is_inconclusive_and_says_what_is_missing():
    found = crosscheck(examples.load("paper"), ValidationPlan(margin=0.001, budget=400_000), approach=False)
    assert found.verdict == "inconclusive"
    open_ones = [verdict for verdict in found.verdicts if verdict.word == "inconclusive"]
    assert all(verdict.more_pages is None or verdict.more_pages > 0 for verdict in open_ones)
    assert any("budget" in note for note in found.notes)


SLOW = Scenario(capacity=60, arrivals=ScaledStream(BMAP.poisson(1.0), 1), service=exponential(1.0))
"""At load 1 a buffer of 60 fills like a random walk: some thousand pages until the start is forgotten."""


@pytest.mark.parametrize("budget", [1000, 20_000, 200_000])
def test_too_few_pages_are_inconclusive_never_different(budget):
    # With 200,000 pages, 50 replications of the pilot alone need more: once one page was left for 100 replications.
    found = crosscheck(SLOW, ValidationPlan(margin=0.5, budget=budget), approach=False)
    assert found.verdict == "inconclusive"
    assert all(one.low == -math.inf and one.high == math.inf for one in found.verdicts)
    assert any("nothing can be concluded" in note for note in found.notes)
    assert found.length.wanted > budget
    json.loads(to_json(found.to_json()))


@pytest.mark.parametrize("seed", [1009, 1012, 1023, 1028, 1036])
def test_a_first_look_that_happens_to_stray_accuses_nobody(seed):
    # Of forty seeds these five called a sound crawler different; the promise for one look is one in twenty.
    plan = ValidationPlan(margin=0.005, budget=22_252, replications=10, seed=seed, confidence=0.95)
    result = crosscheck(examples.load("hyperexponential"), plan, approach=False)
    assert result.verdict == "inconclusive"
    assert any("surer than 0.95" in note for note in result.notes)


def test_a_loss_that_no_run_from_empty_saw_is_not_different():
    # Ten places and half the load: a page in 70,000 is lost by then, and a hundred runs deliver a thousand.
    scenario = examples.load("mm1k").replace(capacity=10)
    plan = ValidationPlan(margin=0.05, absolute_margin=0.0, engine="simpy", measures=("loss_probability",))
    found = compare_approach(scenario, plan, 20.0, SampleSettings(seed=3, engine="simpy")).comparisons
    assert [one.simulated for one in found] == [0.0] * 3
    assert {verdict.word for verdict in judge(found, plan.confidence)} == {"inconclusive"}


def test_a_short_budget_is_spent_on_fewer_and_longer_replications():
    plan = ValidationPlan(margin=0.5, budget=6_000_000)
    evidence = gather_evidence(SLOW, plan, approach=False)
    replications = evidence.sample.freedom + 1
    assert 10 <= replications < plan.replications
    # Each warm-up outlasts the settling time of the chain.
    assert evidence.sample.diagnostics.warmup_time >= evidence.length.settling * (1 - 1e-6)
    (found,) = judge_all([evidence], plan)
    assert found.verdict != "different"
    # What is told is what was run, not what was planned.
    assert found.replications == found.to_json()["replications"] == replications


def test_no_pages_at_all_are_compared_without_an_error():
    scenario = examples.load("mm1k")
    empty = draw_sample(scenario, SampleSettings(time=1e-9, warmup=0.0, replications=10))
    assert empty.pages == 0
    assert overall(judge(compare(solve(scenario), empty, ValidationPlan()), 0.99)) == "inconclusive"


def test_a_simulated_side_of_another_system_is_different():
    scenario = examples.load("paper")
    plan = ValidationPlan(pages=400_000, replications=40)
    sound = gather_evidence(scenario, plan, approach=False)
    slower = draw_sample(scenario.replace(capacity=4), SampleSettings(pages=10_000, replications=40, seed=5))
    measures = {"arrival_rate", "loss_probability", "mean_pages"}
    swapped = [
        dataclasses.replace(one, simulated=slower.scalars[one.measure].value)
        for one in sound.comparisons
        if one.measure in measures
    ]
    (found,) = judge_all([dataclasses.replace(sound, comparisons=tuple(swapped))], plan)
    assert found.verdict == "different"


def test_a_broken_identity_is_different_whatever_the_numbers_say():
    plan = ValidationPlan(margin=0.1, pages=50_000, replications=20)
    evidence = gather_evidence(examples.load("mm1k"), plan, approach=False)
    lost_page = dataclasses.replace(
        evidence.sample, diagnostics=dataclasses.replace(evidence.sample.diagnostics, conservation=1)
    )
    broken = dataclasses.replace(evidence, identities=simulated_identities(lost_page))
    (found,) = judge_all([broken], plan)
    assert found.verdict == "different"
    assert any("pages are conserved fails on the simulated side" in note for note in found.notes)


def test_solved_identities_hold_and_notice_a_wrong_measure():
    solution = solve(examples.load("paper"))
    assert all(identity.holds for identity in solved_identities(solution))
    for name, factor in (("arrival_rate", 1.01), ("mean_pages", 1.01), ("success_probability", 0.99)):
        wrong = dataclasses.replace(solution, measures={**solution.measures, name: solution.measures[name] * factor})
        assert not all(identity.holds for identity in solved_identities(wrong)), name


def test_a_gap_that_is_no_number_never_holds():
    assert not Identity("solved", "x", math.nan, 1.0).holds


def test_the_chains_variances_are_those_seen():
    scenario = examples.load("hyperexponential")
    solution = solve(scenario)
    rate = solution.measures["arrival_rate"]
    settings = SampleSettings(time=2_100.0, warmup=100.0, replications=400, seed=11)
    sample = draw_sample(scenario, settings)
    sigma = chain_sigmas(scenario, rate, solution.solver.states)
    low, high = stats.chi2.ppf([1e-4, 1 - 1e-4], 399) / 399
    for name in ("arrival_rate", "loss_probability", "obsolescence_probability", "mean_pages", "mean_sojourn"):
        ratio = sample.scalars[name].error ** 2 * sample.pages / sigma[name] ** 2
        assert low < ratio < high, (name, ratio)


def test_no_scenario_is_refused():
    with pytest.raises(InputError, match="at least one scenario"):
        crosscheck([])


def test_many_levels_are_compared_in_classes():
    scenario = examples.load("mm1k").replace(capacity=200)
    found = crosscheck(scenario, ValidationPlan(margin=0.05, pages=200_000, replications=20), approach=False)
    parts = [str(verdict.comparison.part) for verdict in found.of("level_distribution")]
    assert len(parts) <= 40
    assert np.isclose(sum(verdict.comparison.solved for verdict in found.of("level_distribution")), 1.0)


def test_a_crawler_that_is_nearly_always_empty_is_judged():
    idle = Scenario(3, ScaledStream(BMAP.poisson(1e-9), 1), exponential(1.0), exponential(1.0))
    found = crosscheck(idle, ValidationPlan(margin=0.1, pages=20_000))
    assert found["arrival_rate"].word == found["mean_sojourn"].word == "equivalent"
    assert found.approach == ()
    # No page became obsolete: there is no simulated mean, least of all the solved one.
    stale = found["mean_sojourn_obsolete"].to_json()
    assert stale["verdict"] == "inconclusive"
    assert stale["solved"] == pytest.approx(0.5)
    assert stale["simulated"] is stale["low"] is stale["high"] is None


def test_a_crawler_that_loses_every_page_keeps_littles_law():
    fours = BMAP([[[-2.0]], [[0.0]], [[0.0]], [[0.0]], [[2.0]]])
    full = Scenario(3, ScaledStream(fours, 1), exponential(1.0), exponential(1.0), admission="all-or-nothing")
    found = crosscheck(full, ValidationPlan(margin=0.1, pages=20_000))
    assert all(identity.holds for identity in found.identities)
    assert found.verdict == "equivalent"
