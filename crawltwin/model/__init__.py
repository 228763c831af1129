"""The shared vocabulary of both sides: phase types, arrivals, policies, costs, scenarios."""

from crawltwin.model.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
