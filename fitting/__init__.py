"""Raw crawler logs to a clean trace, batches, phase types, arrival processes and a scenario."""

from crawltwin.model.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
