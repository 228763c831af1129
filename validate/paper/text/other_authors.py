r"""Results of other authors for special cases of the model, reproduced the same way.

Each has a source, and what of it was read. Printed numbers are judged like those of the founding paper; formulas are
evaluated and must agree to nine digits.

- **Ancker and Gafarian 1963**: share of served customers in M/M/1 with exponential patience.
- **Ross**: chance and mean wait of the n-th in line, exponential patience.
- **Baccelli and Hébuterne 1981**: M/M/1 with patience of any distribution, here two classes of customers (the case of
  Adan, Hathaway and Kulkarni 2018 with one server and one speed of service) and Erlang. The density of the offered
  waiting time is :math:`\lambda p_0 \exp(\lambda \int_0^x \bar G - \mu x)`, by level crossing; served customers leave
  at rate :math:`\mu (1 - p_0)`.
- **Erlang's loss formula** and its insensitivity: without a buffer the loss is rho / (1 + rho) whatever the service.
- **Talim, Liu, Nain and Coffman 2001**: the best fixed number of robots for Poisson deliveries.
- **M/M/1/K**: a worked example with printed digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.special import gamma, gammainc

from analytic import solve
from crawltwin.model import (
    BMAP,
    CostWeights,
    ModeMatrices,
    PhaseType,
    ScaledStream,
    Scenario,
    ThresholdPolicy,
    deterministic_like,
    erlang,
    exponential,
    hyperexponential,
)
from validate.paper.judging.finding import Finding, TextPlace
from validate.paper.printed.number import Printed

AGREE = 1e-9
"""Relative difference up to which two evaluations of a formula are the same."""


@dataclass(frozen=True)
class Origin:
    """Where a result comes from, and how far its source was read."""

    name: str
    citation: str
    url: str
    read: str


ORIGINS: Mapping[str, Origin] = {
    item.name: item
    for item in (
        Origin(
            "Ancker and Gafarian",
            "C. J. Ancker, A. V. Gafarian: Queuing with reneging and multiple heterogeneous servers. Naval Research "
            "Logistics Quarterly 10 (1963) 125-149",
            "https://or.stackexchange.com/questions/5334/service-probability-for-m-m-1-queue-with-reneging",
            "the formula as quoted at this address; the article itself was not read",
        ),
        Origin(
            "Ross",
            "S. M. Ross: Introduction to Probability Models, exercise on impatient customers in line",
            "https://math.stackexchange.com/questions/2190059/queuing-with-impatience",
            "the sum for the mean wait as quoted at this address; the chance follows in one line by induction",
        ),
        Origin(
            "Baccelli and Hébuterne",
            "F. Baccelli, G. Hébuterne: On queues with impatient customers. Performance '81 (1981) 159-179; two "
            "classes: I. Adan, B. Hathaway, V. G. Kulkarni, Queueing Systems 91 (2019) 113-142",
            "https://doi.org/10.1007/s11134-018-9592-z",
            "the abstract of the second; the formula was derived here, by level crossing",
        ),
        Origin(
            "Erlang",
            "A. K. Erlang's loss formula for one server, and its insensitivity to the service distribution",
            "",
            "textbook knowledge: every busy period of the server is one service",
        ),
        Origin(
            "Talim, Liu, Nain, Coffman",
            "J. Talim, Z. Liu, P. Nain, E. G. Coffman: Optimizing the number of robots for Web search engines. "
            "Telecommunication Systems 17 (2001) 243-264",
            "https://m.moam.info/optimizing-the-number-of-robots-for-web-search-engines_5985a6b91723ddcb690d4e1c.html",
            "the abstract: Poisson deliveries, exponential indexing, finite buffer, loss and starvation weighted; the "
            "tables were not available, so the optimum is compared with the closed form of M/M/1/K",
        ),
        Origin(
            "M/M/1/4",
            "a worked example of public lecture notes in Spanish (a workshop with four places, 18 arrivals and 6 "
            "services an hour), computed with the R package queueing",
            "https://rdrr.io/cran/queueing/src/R/MM1K.R",
            "the example with its five printed numbers, and the package's source at this address",
        ),
    )
}


def findings() -> tuple[Finding, ...]:
    """One finding per number. Cost: a few seconds."""
    return (*_ancker_gafarian(), *_ross(), *_any_patience(), *_erlang(), *_fixed_robots(), *_worked_example())


def _ancker_gafarian() -> Iterator[Finding]:
    for load, patience in ((0.5, 1.0), (0.8, 4.0), (1.0, 2.0), (1.5, 3.0)):
        # gamma(s, x) unscaled is gammainc(s, x) gamma(s).
        a, x = patience + 1, load * patience
        z = math.exp(x) * x**-patience * float(gammainc(a, x) * gamma(a))
        served = (1 + z) / (1 + load * (1 + z))
        ours = solve(_queue(load, 1.0, exponential(patience), 200)).measures["success_probability"]
        what = f"share served at load {load:g} and mean patience {patience:g} services"
        yield _formula("Ancker and Gafarian", what, served, ours)


def _ross() -> Iterator[Finding]:
    load, patience, capacity = 1.2, 2.5, 30
    leave = 1 / patience
    # Birth and death: n customers leave at rate mu + (n - 1) theta; all but a full system accept.
    weights = np.cumprod([1.0] + [load / (1 + (n - 1) * leave) for n in range(1, capacity + 1)])
    p = weights / weights.sum()
    ahead = np.arange(capacity)
    chance = 1 / (1 + ahead * leave)
    wait = np.concatenate([[0.0], np.cumsum(1 / (1 + leave * np.arange(1, capacity)))])
    served = float(p[:-1] @ chance)
    mean = float(p[:-1] @ (chance * (wait + 1))) / served
    measures = solve(_queue(load, 1.0, exponential(patience), capacity)).measures
    yield _formula("Ross", "share served, from mu / (mu + n theta)", served, measures["success_probability"])
    yield _formula(
        "Ross",
        "mean sojourn of those served, from 1/(mu + theta) + ... + 1/(mu + n theta)",
        mean,
        measures["mean_sojourn_served"],
    )


def _any_patience() -> Iterator[Finding]:
    load, capacity = 0.6, 14
    for name, clock in (
        ("two classes of patience (0.7, 0.3; rates 2, 0.4)", hyperexponential([0.7, 0.3], [2.0, 0.4])),
        ("Erlang-2 patience of mean 1", erlang(2, 1.0)),
    ):
        ours = solve(_queue(load, 1.0, clock, capacity))
        # The buffer of 14 loses a share of the order of the last level; it is allowed for, no more.
        slack = float(ours.measures["level_distribution"][-1])
        empty = _empty_probability(load, clock)
        for what, theirs, mine in (
            ("starvation", empty, ours.measures["starvation_probability"]),
            ("share served", (1 - empty) / load, ours.measures["success_probability"]),
        ):
            label = f"{what} with {name}, K = {capacity}"
            yield _formula("Baccelli and Hébuterne", label, theirs, mine, max(AGREE, 20 * slack))


def _empty_probability(load: float, clock: PhaseType) -> float:
    """p_0 of M/M/1+G: 1 / (1 + load int exp(load int_0^x G-bar - x) dx), by quadrature, service rate 1."""

    def kept(x: float) -> float:
        # int_0^x of the survival function is the mean minus what remains after x.
        left = clock.initial @ expm(clock.subgenerator * x)
        return float(clock.mean - left @ np.linalg.solve(-clock.subgenerator, np.ones(clock.order)))

    inside, _ = quad(lambda x: math.exp(load * kept(x) - x), 0, np.inf, epsabs=1e-13, epsrel=1e-12, limit=400)
    return 1 / (1 + load * inside)


def _erlang() -> Iterator[Finding]:
    for name, service in (
        ("exponential", exponential(1.0)),
        ("hyperexponential", hyperexponential([0.9, 0.1], [3.0, 1 / 7])),
        ("Erlang-4", erlang(4, 1.0)),
        ("nearly constant", deterministic_like(1.0)),
    ):
        for load in (0.5, 2.0):
            rho = load * service.mean
            scenario = _queue(load, 1.0, None, 1).replace(service=service)
            ours = solve(scenario).measures["loss_probability"]
            yield _formula("Erlang", f"loss without a buffer, load {load:g}, {name} service", rho / (1 + rho), ours)


def _fixed_robots() -> Iterator[Finding]:
    each, capacity, robots = 0.2, 10, 10
    for weight in (1.0, 5.0, 25.0):

        def cost(count: int, weight: float = weight) -> float:
            rho = each * count
            if math.isclose(rho, 1):
                return (weight * rho + 1) / (capacity + 1)
            empty = (1 - rho) / (1 - rho ** (capacity + 1))
            return weight * rho * empty * rho**capacity + empty

        best = min(range(1, robots + 1), key=cost)
        scenario = Scenario(
            capacity=capacity,
            arrivals=ScaledStream(BMAP.poisson(each), robots),
            service=exponential(1.0),
            cost=CostWeights(loss=weight, obsolescence=0, response=0, robots=0, starvation=1),
        )
        fixed = _costs_of_fixed(scenario)
        mine = min(fixed, key=lambda count: fixed[count])
        what = f"best number of robots and its cost, weight of losses {weight:g}"
        yield _formula("Talim, Liu, Nain, Coffman", f"{what}: {best} against {mine} robots", cost(best), fixed[mine])


def _costs_of_fixed(scenario: Scenario) -> Mapping[int, float]:
    return {
        count: float(solve(scenario.replace(policy=ThresholdPolicy([count]))).measures["cost"])
        for count in scenario.arrivals.robot_numbers
    }


def _worked_example() -> Iterator[Finding]:
    measures = solve(_queue(18.0, 6.0, None, 4)).measures
    accepted = 1 - measures["loss_probability"]
    # Waiting times in the notes are those of accepted customers; ours count a lost one as zero.
    sojourn = measures["mean_sojourn"] / accepted
    busy = 1 - measures["starvation_probability"]
    for what, text, ours in (
        ("probability of an empty system", "0.008264463", measures["starvation_probability"]),
        ("mean number in the system", "3.520661", measures["mean_pages"]),
        ("mean time in the system", "0.5916667", sojourn),
        ("mean time in the queue", "0.425", sojourn - 1 / 6),
        ("mean number in the queue", "2.528926", measures["mean_pages"] - busy),
    ):
        printed = Printed(text)
        how = printed.agreement(ours)
        yield Finding(
            TextPlace("M/M/1/4", what),
            text,
            f"{ours:.9f}",
            "reproduced" if how else "not reproducible",
            how or "unexplained",
            "",
            ours,
        )


def _queue(rate: float, service_rate: float, clock: PhaseType | None, capacity: int) -> Scenario:
    return Scenario(
        capacity=capacity,
        arrivals=ModeMatrices({1: BMAP.poisson(rate)}),
        service=exponential(1 / service_rate),
        obsolescence=clock,
    )


def _formula(where: str, what: str, theirs: float, ours: float, tolerance: float = AGREE) -> Finding:
    difference = abs(ours / theirs - 1)
    good = difference <= tolerance
    return Finding(
        TextPlace(where, what),
        f"{theirs:.12g}",
        f"{ours:.12g}",
        "reproduced" if good else "not reproducible",
        f"relative difference {difference:.0e}",
        "" if good else f"The difference is larger than {tolerance:.0e}.",
        float(ours),
    )
