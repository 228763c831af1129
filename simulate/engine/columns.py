"""The columns and codes that both engines and the output analysis share: each stands here, by name.

`COUNT.lost` is a column of a run's counts, `SOJOURN.served` one of its sums of sojourn times, `SUM.lost` one of the
sums of a unit. All are plain numbers, so that the compiled engine takes them as constants.
"""

from __future__ import annotations

from collections import namedtuple

FATES = ("lost", "obsolete", "served", "present")
"""What became of a page; `present` means still in the system when the run ended."""
LOST, OBSOLETE, SERVED, PRESENT = range(4)

EventKinds = namedtuple("EventKinds", "arrival obsolete served opening look spell")
EVENT = EventKinds(0, OBSOLETE, SERVED, 3, 4, 5)
"""Kinds of events of the compiled engine: a robot's phase ends, a page becomes obsolete or is served (its fate too),
the pages of time 0 enter, the controller looks, a spell of the web ends."""

PARTIAL, ALL_OR_NOTHING, OVERFLOW = range(3)
"""Admission rules, in the order of the model's `ADMISSIONS`."""

CountColumns = namedtuple("CountColumns", "delivered batches lost obsolete served")
COUNT = CountColumns(*range(5))
"""What is counted in each bin: pages delivered, batches, pages lost, obsolete and served."""
SojournColumns = namedtuple("SojournColumns", "served served_squares obsolete obsolete_squares")
SOJOURN = SojournColumns(*range(4))
"""Sums and sums of squares of the sojourn times of served and of obsolete pages."""
ControlColumns = namedtuple("ControlColumns", "switches fetches")
CONTROL = ControlColumns(*range(2))
"""Changes of the number of robots wanted, and the time integral of the number of fetches in flight."""
SumColumns = namedtuple(
    "SumColumns",
    "time delivered batches lost obsolete served "
    "sojourn_served sojourn_served_squares sojourn_obsolete sojourn_obsolete_squares switches fetches",
)
SUM = SumColumns(*range(12))
"""The sums of a unit: its time, its counts, its sojourn times, what the controller did."""
LEVELS = len(SUM)
"""First of the columns of a unit's sums that hold the time at levels 0, 1, ...; those of the time in each mode of the
controller follow where it has a memory."""

CELLS_PER_OCTAVE = 64
OCTAVES = 64
CELLS = CELLS_PER_OCTAVE * OCTAVES
"""Cells of the histogram of sojourn times: logarithmic in octaves, linear inside one, 1.6% wide at most."""
