"""Cross-check of the solved and the simulated side, agreement of a log with its model, reproduction of the paper."""

from crawltwin.model.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
