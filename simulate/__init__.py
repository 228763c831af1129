"""The event simulation: SimPy engine, compiled engine, output analysis, replication."""

from crawltwin.model.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
