"""The chain: state space, generator, stationary solvers, measures, sojourn times, optimisation."""

from crawltwin.model.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
