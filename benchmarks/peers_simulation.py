"""What the peers make of the smallest queue of ours: M/M/1/K where each waiting page becomes obsolete.

Each peer is used as its own guide shows: Ciw with reneging, SimPy with one process a page that waits for its turn or
its patience. An event is an arrival (lost pages included), an indexing done or a page become obsolete, whatever the
peer does for it inside. Seconds are processor time of the run alone; making the model is not counted.
"""

import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

from benchmarks.rows import Row


@dataclass(frozen=True)
class Queue:
    """An M/M/1/K queue with exponential obsolescence; the capacity includes the page in service."""

    arrival_rate: float = 2.0
    service_rate: float = 1.5
    obsolescence_rate: float = 0.2
    capacity: int = 5


SMALL = Queue()


@dataclass(frozen=True)
class PeerRun:
    """Pages by fate, and the processor seconds that it took."""

    lost: int
    served: int
    obsolete: int
    in_system: int
    seconds: float

    @property
    def arrived(self) -> int:
        return self.lost + self.served + self.obsolete + self.in_system

    @property
    def events(self) -> int:
        return self.arrived + self.served + self.obsolete

    @property
    def events_per_second(self) -> float:
        return self.events / self.seconds


def ciw_run(horizon: float, queue: Queue = SMALL, seed: int = 1) -> PeerRun:
    """One run of Ciw from an empty system to the horizon."""
    import ciw

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(queue.arrival_rate)],
        service_distributions=[ciw.dists.Exponential(queue.service_rate)],
        reneging_time_distributions=[ciw.dists.Exponential(queue.obsolescence_rate)],
        number_of_servers=[1],
        queue_capacities=[queue.capacity - 1],
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    began = time.process_time()
    simulation.simulate_until_max_time(horizon)
    seconds = time.process_time() - began
    fates = [record.record_type for record in simulation.get_all_records()]
    inside = simulation.nodes[1].number_of_individuals
    return PeerRun(fates.count("rejection"), fates.count("service"), fates.count("renege"), inside, seconds)


def simpy_process_run(horizon: float, queue: Queue = SMALL, seed: int = 1) -> PeerRun:
    """One run of SimPy, a process a page, from an empty system to the horizon."""
    import simpy

    draw = random.Random(seed).expovariate
    fates = {"lost": 0, "served": 0, "obsolete": 0}

    def page(env: simpy.Environment, indexer: simpy.Resource) -> Generator[simpy.Event]:
        with indexer.request() as turn:
            patience = env.timeout(draw(queue.obsolescence_rate))
            if turn in (yield turn | patience):
                yield env.timeout(draw(queue.service_rate))
                fates["served"] += 1
            else:
                fates["obsolete"] += 1

    def robot(env: simpy.Environment, indexer: simpy.Resource) -> Generator[simpy.Event]:
        while True:
            yield env.timeout(draw(queue.arrival_rate))
            if indexer.count + len(indexer.queue) < queue.capacity:
                env.process(page(env, indexer))
            else:
                fates["lost"] += 1

    environment = simpy.Environment()
    one = simpy.Resource(environment, capacity=1)
    environment.process(robot(environment, one))
    began = time.process_time()
    environment.run(until=horizon)
    seconds = time.process_time() - began
    return PeerRun(**fates, in_system=one.count + len(one.queue), seconds=seconds)


def ciw_events_per_second(seconds: float = 2.0, queue: Queue = SMALL) -> float:
    """Events that Ciw handles in a second of processor time, measured over about so many seconds."""
    return _rate(lambda horizon: ciw_run(horizon, queue), seconds)


def simpy_process_events_per_second(seconds: float = 2.0, queue: Queue = SMALL) -> float:
    """Events that SimPy handles in a second of processor time, measured over about so many seconds."""
    return _rate(lambda horizon: simpy_process_run(horizon, queue), seconds)


def run() -> list[Row]:
    """Both peers on queues of 5 and 20 pages."""
    rows = []
    for queue in (SMALL, Queue(capacity=20)):
        case = f"M/M/1/{queue.capacity} with obsolescence"
        simpy_rate = simpy_process_events_per_second(queue=queue)
        rows.append(Row(case, f"SimPy {version('simpy')}", simpy_rate, "events/s", "a process a page"))
        if find_spec("ciw"):
            rows.append(Row(case, f"Ciw {version('ciw')}", ciw_events_per_second(queue=queue), "events/s", "reneging"))
    return rows


def _rate(peer: Callable[[float], PeerRun], seconds: float) -> float:
    """A short run tells how long the measured one must be."""
    horizon = 1000.0
    pilot = peer(horizon)
    return peer(horizon * max(1.0, seconds / max(pilot.seconds, 1e-3))).events_per_second
