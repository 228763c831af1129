"""The rates of a chain while so many URLs of a finite list are left: one layer for each number near the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from analytic.chain.generator import Generator, total_rates
from analytic.chain.primitives import Chain
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.checks import FloatArray


@dataclass(frozen=True, eq=False)
class Running:
    """A: rates that leave the counter alone, with the whole rate out on the diagonal."""

    rates: Any

    @cached_property
    def factor(self) -> Any:
        """Sparse factors of minus A."""
        return splu(sp.csc_matrix(-self.rates))


@dataclass(frozen=True, eq=False)
class Layer:
    """The rates while some number of URLs is left.

    Parameters
    ----------
    running : Running
    steps : mapping
        How far the counter falls -> rates of such deliveries, and the rates of pages lost with them.
    """

    running: Running
    steps: Mapping[int, tuple[Any, FloatArray]]


def page_layers(chain: Chain) -> list[Layer]:
    """Rates with 1, 2, ... URLs left where a page is a URL; the last holds for all longer lists."""
    generator = Generator.of(chain)
    batch = max(kind.pages for kind in generator.kinds)
    batches = {k: _deliveries(generator, k) for k in range(1, batch + 1)}
    running = _running(generator, [U for U, _ in batches.values()])
    found = []
    for n in range(1, batch + 1):
        # A last batch that is larger than the rest of the list is cut to it.
        last = _deliveries(Generator.of(Chain.of(chain.scenario, largest_batch=n)), n)
        found.append(Layer(running, {**{k: batches[k] for k in range(1, n)}, n: last}))
    return [*found, Layer(running, batches)]


def fetching_layers(chain: Chain, robots: FetchingRobots) -> list[Layer]:
    """Rates with 1, 2, ... URLs left, those in flight among them, where a fetch is a URL."""
    most = max(chain.controller.policy.robots_used)
    generators = [Generator.of(at_most(chain, robots, n)) for n in range(1, most + 1)]
    found = []
    for n in range(1, most + 2):
        # After the delivery one URL less is left; after the last one nobody looks at the fetches.
        here, after = generators[min(n, most) - 1], generators[max(n - 2, 0)]
        step = _deliveries(after)
        found.append(Layer(_running(here, [step[0]]), {1: step}))
    return found


def at_most(chain: Chain, arrivals: FetchingRobots, fetches: int) -> Chain:
    """The chain in which at most so many robots are ever wanted, on the phases of all numbers of fetches."""
    used = chain.controller.policy.robots_used
    every = arrivals.matrices(range(1, max(used) + 1))
    wanted = {robots: min(robots, fetches) for robots in used}

    def chosen(by_robots: Mapping[int, Any]) -> dict[int, Any]:
        return {robots: by_robots[fewer] for robots, fewer in wanted.items()}

    matrices = replace(
        every,
        D=chosen(every.D),
        start_law=chosen(every.start_law),
        entrances=None if every.entrances is None else chosen(every.entrances),
        returns=None if every.returns is None else chosen(every.returns),
        least_fetches=dict.fromkeys(used, 1),
    )
    controller = replace(chain.controller, matrices=matrices)
    return replace(chain, controller=controller, flows=controller.flows(chain.top))


def clock_rates(generator: Generator) -> Any:
    """Rates of service, obsolescence and polls."""
    return total_rates([kind for kind in generator.kinds if kind.clock != "arrival"], generator.states)


def _running(generator: Generator, deliveries: Sequence[Any]) -> Running:
    """All rates but those of deliveries, which lead out."""
    quiet = [kind for kind in generator.kinds if kind.clock == "arrival" and not kind.pages]
    inside = clock_rates(generator) + total_rates(quiet, generator.states)
    return Running(sp.csr_array(inside - sp.diags_array(row_sums(inside) + sum(row_sums(U) for U in deliveries))))


def _deliveries(generator: Generator, size: int | None = None) -> tuple[Any, FloatArray]:
    """Rates of batches of `size` pages, or of all, and the rates of pages lost with them."""
    own = [kind for kind in generator.kinds if (kind.pages > 0 if size is None else kind.pages == size)]
    lost = sum((kind.lost * row_sums(kind.rates) for kind in own), start=np.zeros(generator.states))
    return total_rates(own, generator.states), np.asarray(lost)


def row_sums(matrix: Any) -> FloatArray:
    """Sum of each row of a sparse matrix."""
    return np.asarray(matrix.sum(axis=1)).ravel()
