"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[float, float], None]
"""Called with what is done and how much there is in all, in any one unit: replications, policies, pages."""
