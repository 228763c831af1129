"""One crawler, two models of it: solved as a Markov chain and run as an event simulation, each the proof of the other.

Examples
--------
>>> import crawltwin as ct
>>> scenario = ct.load("paper")
>>> round(ct.solve(scenario).measures["loss_probability"], 4)
0.1734

`dir(crawltwin)` lists what is here; a name opens its room only when it is used. The rooms themselves (`analytic`,
`simulate`, `fitting`, `validate`) are the expert's doors.
"""

from crawltwin.model.lazy import attach

__version__ = "0.2.0"
__getattr__, __dir__ = attach(__name__, __file__)
