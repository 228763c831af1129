"""From a log to a decision: log, model, policy, proof. The room computes and never renders.

The room has the name of what it does, so that ``crawltwin.plan(log)`` is `crawltwin.plan.decide.plan`, and the modules
inside it are imported as those of every other package.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawltwin.plan.evidence.unsuitable import Unsuitable
    from crawltwin.plan.result import Plan


class _Room(ModuleType):
    """A package that can be called."""

    def __call__(self, *arguments: Any, **named: Any) -> Plan | Unsuitable:
        """What `crawltwin.plan.decide.plan` returns for these arguments."""
        from crawltwin.plan.decide import plan

        return plan(*arguments, **named)


sys.modules[__name__].__class__ = _Room
