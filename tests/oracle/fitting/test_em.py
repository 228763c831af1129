"""EM: likelihoods against matrix exponentials, estimates against closed forms, traces of known truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.stats import chi2, gamma

from crawltwin.model import BMAP, ConvergenceError, InputError, hyper_erlang
from fitting import FitOptions
from fitting.choose.candidates import choose, fit_candidates
from fitting.choose.service import fit_obsolescence, revisits
from fitting.models.batch_laws import with_batches
from fitting.models.em import EmSettings, run_em
from fitting.models.erlang_map import ErlangMap
from fitting.models.general_map import GeneralMap
from fitting.models.phase_type_em import best_hyper_erlang, general_ph_em, hyper_erlang_em
from fitting.models.starting_points import erlang_starts, map_start, mmpp_start
from fitting.trace.samples import Samples
from fitting.trace.segments import Segments
from tests.oracle.fitting.made import TRUTH, trace


def by_matrix_exponentials(process, gaps, sizes, first=(0,)):
    """Log-likelihood of a BMAP from its definition, no shortcut."""
    total, state = 0.0, process.batch_phase_distribution
    for t, (gap, size) in enumerate(zip(gaps, sizes, strict=True)):
        if t in first:
            state = process.batch_phase_distribution
        state = state @ expm(process.D[0] * gap) @ process.D[size]
        total += np.log(state.sum())
        state = state / state.sum()
    return total


SMALL = ErlangMap(
    np.array([1.0, 3.0, 2.0]),
    np.array([2.0, 1.0, 7.0]),
    np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]),
    q=np.array([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]),
)


def test_erlang_likelihood_is_that_of_its_matrices():
    gaps, sizes = trace(200, 1, SMALL)
    data = Segments(gaps, sizes, np.array([0, 90]))
    wanted = by_matrix_exponentials(SMALL.bmap(), gaps, sizes, first=(0, 90))
    assert SMALL.log_likelihood(data) == pytest.approx(wanted, rel=1e-10)


def test_erlang_matrices_are_those_of_its_definition():
    process = SMALL.bmap()
    means = SMALL.shape / SMALL.rate
    assert process.interval_moment(1) == pytest.approx(float(SMALL.start @ means), rel=1e-12)
    second = SMALL.shape * (SMALL.shape + 1) / SMALL.rate**2
    assert process.interval_moment(2) == pytest.approx(float(SMALL.start @ second), rel=1e-12)
    joint = float((SMALL.start * means) @ SMALL.P @ means)
    assert process.correlation(1) == pytest.approx(
        (joint - process.interval_moment(1) ** 2) / process.interval_variance, rel=1e-10
    )
    assert process.batch_sizes == pytest.approx(SMALL.start @ SMALL.q, rel=1e-12)


def test_far_outliers_do_not_underflow():
    data = Segments.of([1.0, 1e6, 1e-9, 1.0])
    assert np.isfinite(SMALL.without_batches().log_likelihood(data))


def test_general_likelihood_is_that_of_its_matrices():
    D0, D1 = np.array([[-10.0, 2.0], [0.0, -0.5]]), np.array([[0.1, 7.9], [0.4, 0.1]])
    gaps = np.diff(BMAP([D0, D1]).sample(np.random.default_rng(2), 301).times)
    wanted = by_matrix_exponentials(BMAP([D0, D1]), gaps, np.ones(300, dtype=int))
    assert GeneralMap(D0, D1).log_likelihood(Segments.of(gaps)) == pytest.approx(wanted, rel=1e-9)


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 4), st.booleans())
def test_the_likelihood_never_falls(seed, branches, whole):
    gaps, sizes = trace(400, seed, SMALL)
    data = Segments(gaps, sizes, np.array([0, 150]))
    shares = np.full(3, 1 / 3)
    short = EmSettings(steps=30, whole=whole, by_phase=True)
    for start in erlang_starts(data, branches):
        begin = (start.rounded() if whole else start).with_batch_sizes(shares)
        assert (np.diff(begin.refit(data, short).history) > -1e-7 * len(data)).all()
    for begin in (map_start(data, 2), mmpp_start(data), map_start(data, 3)):
        for model in (begin, begin.with_batch_sizes(shares)):
            assert (np.diff(model.refit(data, EmSettings(15, by_phase=True)).history) > -1e-7 * len(data)).all()


class WrongSteps:
    """The maximum-likelihood rate of an exponential law, with a fault planted in the M step: twice too large."""

    def __init__(self, gaps, factor):
        self.observations, self.gaps, self.factor = float(gaps.size), gaps, factor

    def expect(self, rate):
        return float(np.log(rate) * self.gaps.size - rate * self.gaps.sum()), self.gaps.sum()

    def improve(self, rate, total):
        return self.factor * self.gaps.size / total


def test_a_fall_is_told_and_the_cap_is_no_convergence():
    gaps = trace(500, 3)[0]
    start = 1 / gaps.mean()
    with pytest.raises(ConvergenceError, match=r"log-likelihood must not fall in an EM step; got .* at step 1"):
        run_em(WrongSteps(gaps, 2.0), start, EmSettings(steps=5))
    right = run_em(WrongSteps(gaps, 1.0), start / 2, EmSettings(steps=5))
    assert right.converged
    assert right.model == pytest.approx(start)
    assert len(right.history) == 3
    capped = run_em(WrongSteps(gaps, 1.0), start / 2, EmSettings(steps=1))
    assert not capped.converged
    assert len(capped.history) == 1


def test_one_branch_is_the_gamma_law():
    """With one branch and real stages EM is the maximum-likelihood Gamma fit."""
    gaps = np.random.default_rng(1).gamma(2.7, 3.0, 5000)
    data = Segments.of(gaps)
    run = erlang_starts(data, 1)[0].refit(data, EmSettings(steps=50, whole=False))
    shape, _, scale = gamma.fit(gaps, floc=0)
    assert run.model.shape[0] == pytest.approx(shape, rel=1e-4)
    assert 1 / run.model.rate[0] == pytest.approx(scale, rel=1e-4)


def test_a_made_trace_is_recovered():
    gaps, _ = trace(20_000, 11)
    data = Segments.of(gaps)
    found, failed = fit_candidates(data, FitOptions(methods=("poisson", "erlang")))
    best = choose(found, "bic", 40)
    assert not failed
    order = np.argsort(best.model.shape / best.model.rate)
    assert best.model.shape[order].tolist() == [5.0] * 4
    assert (best.model.shape / best.model.rate)[order] == pytest.approx([50, 100, 220, 560], rel=0.05)
    assert np.diag(best.model.P) == pytest.approx(0.963, abs=0.01)
    held = data.split()[1]
    assert best.held_out == pytest.approx(TRUTH.log_likelihood(held) / len(held), abs=0.005)


def test_mmpp_keeps_its_zeros_and_finds_its_rates():
    truth = BMAP([[[-5.2, 0.2], [0.1, -0.6]], [[5.0, 0.0], [0.0, 0.5]]])
    gaps = np.diff(truth.sample(np.random.default_rng(4), 20_001).times)
    run = mmpp_start(Segments.of(gaps)).refit(Segments.of(gaps), EmSettings(200, 1e-6))
    D1 = run.model.D1
    assert D1[0, 1] == D1[1, 0] == 0
    assert sorted(np.diag(D1)) == pytest.approx([0.5, 5.0], rel=0.1)
    assert run.model.bmap().correlation(1) == pytest.approx(truth.correlation(1), abs=0.02)


def test_rates_that_run_away_end_the_run():
    """Nearly equal gaps push every rate of a small MAP up; the run must end, not hang."""
    gaps = 1.0 + 1e-6 * np.random.default_rng(1).random(300)
    run = map_start(Segments.of(gaps), 3).refit(Segments.of(gaps), EmSettings(300, 1e-6))
    assert np.isfinite(run.history[-1])


def test_censored_exponential_is_deaths_over_exposure():
    rng = np.random.default_rng(5)
    life, end = rng.exponential(2.0, 400), rng.exponential(3.0, 400)
    samples = Samples.of(np.minimum(life, end), censored=life > end)
    wanted = np.count_nonzero(life <= end) / np.minimum(life, end).sum()
    assert 1 / hyper_erlang_em(samples, (1,), tolerance=1e-11).distribution.mean == pytest.approx(wanted, rel=1e-4)
    assert 1 / general_ph_em(samples, 1).distribution.mean == pytest.approx(wanted, rel=1e-9)


def test_weights_count_as_repetitions():
    values, weights = np.array([1.0, 2.0, 7.0]), np.array([3.0, 1.0, 2.0])
    repeated = np.repeat(values, weights.astype(int))
    for fit in (lambda s: hyper_erlang_em(s, (2,)), lambda s: general_ph_em(s, 2, steps=20)):
        one, other = fit(Samples.of(values, weights)), fit(Samples.of(repeated))
        assert one.log_likelihood == pytest.approx(other.log_likelihood, rel=1e-9)
        assert one.distribution.mean == pytest.approx(other.distribution.mean, rel=1e-9)


def test_hyper_erlang_likelihood_is_that_of_its_law():
    law = hyper_erlang([0.3, 0.7], [2, 1], [4.0, 0.5])
    values = law.sample(np.random.default_rng(6), 400)
    fit = hyper_erlang_em(Samples.of(values), (2, 1))
    assert fit.log_likelihood == pytest.approx(float(np.log(fit.distribution.pdf(values)).sum()), rel=1e-6)
    assert fit.log_likelihood >= float(np.log(law.pdf(values)).sum()) - 1
    assert fit.distribution.mean == pytest.approx(values.mean(), rel=1e-6)
    general = general_ph_em(Samples.of(values), 3, steps=100)
    assert general.log_likelihood == pytest.approx(float(np.log(general.distribution.pdf(values)).sum()), rel=1e-4)


def test_the_structure_is_chosen_by_bic():
    law = hyper_erlang([0.4, 0.6], [1, 4], [0.1, 4.0])
    values = law.sample(np.random.default_rng(7), 5000)
    assert "1+4" in best_hyper_erlang(Samples.of(values)).method


def test_samples_are_checked():
    with pytest.raises(InputError, match="low must be positive for an exact duration; got 0"):
        Samples.of([1.0, 0.0])
    with pytest.raises(InputError, match="weight must be positive and finite; got -1"):
        Samples.of([1.0, 2.0], [1.0, -1.0])
    with pytest.raises(InputError, match="at least one duration"):
        Samples.of([])
    with pytest.raises(InputError, match="got intervals"):
        general_ph_em(Samples(np.array([1.0]), np.array([2.0]), np.ones(1)), 2)


def test_pages_that_change_are_timed_by_revisits():
    """Each page changes after exponential times of mean 2000 s; visits every 500 to 5000 s see only whether it did."""
    rng = np.random.default_rng(8)
    time, page, content = [], [], []
    for number in range(1, 400):
        visits = np.cumsum(rng.uniform(500, 5000, 12))
        changes = np.cumsum(rng.exponential(2000.0, 200))
        time += (visits * 1e9).astype(np.int64).tolist()
        page += [number] * 12
        content += (1 + np.searchsorted(changes, visits) + number * 1000).tolist()
    columns = (np.array(time), np.array(page, np.uint64), np.array(content, np.uint64))
    # As in a log: visits to all pages in the order of time.
    order = np.argsort(columns[0], kind="stable")
    gap, changed = revisits(*(column[order] for column in columns))
    assert gap.size == 399 * 11
    fit = fit_obsolescence(gap, changed)
    assert fit.distribution.mean == pytest.approx(2000.0, rel=0.05)
    assert fit_obsolescence(gap[:20], changed[:20]) is None


def test_batches_by_phase_are_told_from_independent_ones():
    """The likelihood-ratio test: chi-square under independence, overwhelming under dependence."""
    shares = np.array([0.3, 0.3, 0.4])
    alone = TRUTH.with_batch_sizes(shares)
    statistics = []
    for seed in range(12):
        gaps, sizes = trace(1500, seed, alone)
        model, test = with_batches(TRUTH, Segments.of(gaps, sizes), shares)
        statistics.append(test.statistic)
        assert not test.dependent
        assert model.bmap().batch_sizes == pytest.approx(shares, abs=1e-12)
    assert test.degrees == 6
    # The sum of twelve independent statistics has 72 degrees of freedom.
    assert chi2.ppf(0.001, 72) < sum(statistics) < chi2.ppf(0.999, 72)
    own = ErlangMap(TRUTH.shape, TRUTH.rate, TRUTH.P, q=np.array([[0.9, 0.05, 0.05], *[[0.1, 0.2, 0.7]] * 3]))
    gaps, sizes = trace(6000, 50, own)
    model, test = with_batches(TRUTH, Segments.of(gaps, sizes), shares)
    assert test.dependent
    assert test.p < 1e-10
    assert model.q[0, 0] == pytest.approx(0.9, abs=0.05)
    data = Segments.of(gaps[:300], sizes[:300])
    assert model.log_likelihood(data) == pytest.approx(
        by_matrix_exponentials(model.bmap(), gaps[:300], sizes[:300]), rel=1e-8
    )


def test_batches_by_phase_of_an_mmpp():
    """Large batches in the busy phase alone: EM finds both laws, and the likelihood is that of the matrices."""
    truth = GeneralMap(
        np.array([[-5.2, 0.2], [0.1, -0.6]]), np.diag([5.0, 0.5]), q=np.array([[0.1, 0.9], [0.8, 0.2]]), family="mmpp2"
    )
    data = truth.simulate(np.random.default_rng(4), 6000)
    start = truth.without_batches()
    shares = data.batch_shares
    model, test = with_batches(start, data, shares)
    assert test.dependent
    assert test.degrees == 1
    assert model.q == pytest.approx(truth.q, abs=0.04)
    few = Segments.of(data.gaps[:200], data.sizes[:200])
    wanted = by_matrix_exponentials(model.bmap(), few.gaps, few.sizes)
    assert model.log_likelihood(few) == pytest.approx(wanted, rel=1e-8)
    alone, _ = with_batches(start, data, shares, "independent")
    assert alone.bmap().batch_sizes == pytest.approx(shares, abs=1e-12)


def test_a_model_knows_its_parts_and_its_numbers():
    """Parameters counted from the definition; moments and correlations from the closed form of the branches."""
    counted = {"poisson": 1, "renewal": 5, "map2": 4, "mmpp2": 4, "map": 4, "erlang": 12}
    data = Segments.of(trace(900, 5)[0])
    found, _ = fit_candidates(data, FitOptions(max_branches=2))
    for candidate in found:
        structure = candidate.model.structure
        wanted = {"renewal": 2 * len(structure.stages) - 1, "erlang": 6}.get(structure.family)
        assert structure.parameters == (wanted or counted[structure.family])
        assert structure.order == candidate.model.bmap().phases
    assert SMALL.structure.parameters == counted["erlang"]
    assert SMALL.structure.label == "Erlang branches 1+3+2"
    means = SMALL.shape / SMALL.rate
    assert SMALL.mean_gap == pytest.approx(SMALL.moment(1)) == pytest.approx(float(SMALL.start @ means))
    joint = float((SMALL.start * means) @ SMALL.P @ SMALL.P @ means)
    variance = SMALL.moment(2) - SMALL.moment(1) ** 2
    assert SMALL.correlations(2)[1] == pytest.approx((joint - SMALL.moment(1) ** 2) / variance, rel=1e-9)
