"""Storm, the probabilistic model checker, as an oracle for stationary distributions.

A generator goes in as a matrix of rates; Storm finds the bottom component, sets up its own equation system and
solves it with the Eigen library. Two ways:

- "direct": Eigen's sparse LU, good to rounding and meant for tests. Its fill-in grows fast: 0.1 s for 1,000 states
  of a crawler with phase-type obsolescence, 8 s for 4,000.
- "iterative": BiCGSTAB with a diagonal preconditioner, the fastest of Storm's own choices on these chains and so the
  fair peer for benchmarks (Storm's default, GMRES with ILUT, takes minutes where this takes a second). The precision
  is that of Eigen: the residual of Storm's system relative to its right-hand side, in the 2-norm.

Storm has one set of settings a process, each of which may be given once, so a process keeps the first precision that
it asked for. An `Environment()` made directly ignores those settings and keeps Storm's default precision of 1e-6.
"""

import time
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sp

Method = Literal["direct", "iterative"]


@dataclass(frozen=True)
class StormRun:
    """The distribution, and what it cost: making Storm's model, and solving it."""

    probabilities: np.ndarray
    load_seconds: float
    solve_seconds: float


def storm_stationary(
    generator: sp.sparray | np.ndarray, method: Method = "direct", precision: float = 1e-13
) -> np.ndarray:
    """Stationary distribution of a chain with one recurrent class; skips the test where there is no Storm."""
    return storm_run(generator, method, precision).probabilities


def storm_run(generator: sp.sparray | np.ndarray, method: Method = "direct", precision: float = 1e-13) -> StormRun:
    """Like `storm_stationary`, with the seconds of loading and of solving."""
    pytest.importorskip("stormpy")
    from stormpy import analysis

    began = time.perf_counter()
    model = _chain(generator)
    loaded = time.perf_counter()
    result = analysis.compute_steady_state_distribution(model, environment=_environment(method, precision))
    solved = time.perf_counter()
    return StormRun(np.array(result.get_value_vector()), loaded - began, solved - loaded)


def _chain(generator: sp.sparray | np.ndarray) -> Any:
    from stormpy import datastructures, models

    # Storm wants the rates alone, row by row and in order of columns; a diagonal entry would be a self-loop.
    entries = sp.coo_array(generator)
    off = (entries.row != entries.col) & (entries.data != 0)
    rates = sp.csr_array((entries.data[off], (entries.row[off], entries.col[off])), shape=entries.shape)
    rates.sort_indices()
    rates = rates.tocoo()
    states = rates.shape[0]
    builder = datastructures.SparseMatrixBuilder[float](rows=states, columns=states, entries=rates.nnz)
    # In pieces: lists of all entries at once would cost more memory than Storm itself.
    for a in range(0, rates.nnz, 100_000):
        piece = slice(a, a + 100_000)
        builder.add_next_values(rates.row[piece].tolist(), rates.col[piece].tolist(), rates.data[piece].tolist())
    labels = models.StateLabeling(states)
    labels.add_label("init")
    labels.add_label_to_state("init", 0)
    parts = models.SparseModelComponents[float](
        transition_matrix=builder.build(), state_labeling=labels, rate_transitions=True
    )
    return models.SparseCtmc[float](parts)


def _environment(method: Method, precision: float) -> Any:
    from stormpy import developer, environments

    # Storm warns that soundness is not proven for stationary distributions; the tests see to that.
    developer.set_log_level(developer.LogLevel.ERR)
    if method == "direct":
        environment = environments.sound()  # with Eigen, "sound" means sparse LU
        environment.solver().set_linear_equation_solver_type(environments.EquationSolverType.EIGEN)
    else:
        _set_precision_once(precision)
        environment = developer.EnvironmentBuilder.build_environment()
    environment.modelchecker().steady_state_distribution_algorithm = (
        environments.SteadyStateDistributionAlgorithm.EQUATION_SYSTEM
    )
    return environment


_precision_of_this_process: list[float] = []


def _set_precision_once(precision: float) -> None:
    from stormpy import developer

    if not _precision_of_this_process:
        solver = ["--eqsolver", "eigen", "--eigen:method", "bicgstab", "--eigen:precond", "diagonal"]
        developer.set_from_exploded_string([*solver, "--eigen:precision", repr(precision)])
        _precision_of_this_process.append(precision)
    elif _precision_of_this_process != [precision]:
        raise ValueError(
            f"precision must be {_precision_of_this_process[0]}, which this process asked for first; got {precision}. "
            "Use a process of its own for another one."
        )
