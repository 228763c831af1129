"""The rare-event estimator: how often its intervals hold the truth, and what it costs."""

from benchmarks.rare.coverage import run as run
