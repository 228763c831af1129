"""A real Dask cluster on this machine: the same bits as one process, also when a worker is killed in the middle."""

import os
import signal
import threading

import pytest

from crawltwin.model import examples
from crawltwin.work import workers
from simulate import simulate
from tests.unit.simulate.test_simulation import bits

distributed = pytest.importorskip("distributed")

# Two worker processes that import everything anew: half a minute on a busy machine.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as running:
        yield running


def test_same_bits_on_a_cluster(cluster):
    options = {"pages": 20_000, "replications": 12, "seed": 3}
    here = simulate(examples.load("paper"), workers=1, **options)
    there = simulate(examples.load("paper"), cluster=cluster.scheduler_address, **options)
    assert bits(there) == bits(here)


def test_a_killed_worker_costs_time_not_results(cluster):
    """One of the two workers is killed as by the system while replications are running."""
    options = {"pages": 1_000_000, "replications": 16, "seed": 3}
    here = simulate(examples.load("paper"), workers=1, **options)
    victims = [worker.pid for worker in cluster.workers.values()]
    done: list[int] = []
    killed = threading.Event()

    def kill_after_two(state) -> None:
        done.append(state.done)
        if state.done >= 2 and not killed.is_set():
            killed.set()
            os.kill(victims[0], signal.SIGKILL)

    there = simulate(examples.load("paper"), cluster=cluster.scheduler_address, progress=kill_after_two, **options)
    assert killed.is_set()
    assert done == list(range(1, 17))
    assert bits(there) == bits(here)


def test_errors_on_a_cluster_keep_their_kind(cluster):
    from tests.unit.work.test_workers import fail_at_five

    with pytest.raises(workers.InputError, match="number must not be 5"):
        list(workers.run(fail_at_five, range(8), cluster=cluster.scheduler_address))
