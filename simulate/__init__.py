"""The event simulation: SimPy engine, compiled engine, output analysis, replication."""

from simulate.intervals import Interval
from simulate.result import SimulationResult
from simulate.simulation import Progress, simulate

__all__ = ["Interval", "Progress", "SimulationResult", "simulate"]
