"""The event simulation: SimPy engine, compiled engine, output analysis, replication."""

from simulate.birth_death import closed_form, is_birth_death
from simulate.compare import Comparison, compare
from simulate.coverage import Coverage, coverage
from simulate.intervals import Interval
from simulate.replay import RecordedTrace, replay
from simulate.result import SimulationResult
from simulate.select_best import Selection, select_best
from simulate.simulation import Progress, simulate
from simulate.timeline import timeline

__all__ = [
    "Comparison",
    "Coverage",
    "Interval",
    "Progress",
    "RecordedTrace",
    "Selection",
    "SimulationResult",
    "closed_form",
    "compare",
    "coverage",
    "is_birth_death",
    "replay",
    "select_best",
    "simulate",
    "timeline",
]
