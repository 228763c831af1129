"""Cross-check of the solved and the simulated side, reproduction of the paper, reports."""

from validate.crosscheck import CrossCheck, crosscheck
from validate.plan import ValidationPlan
from validate.verdict import Comparison, Verdict, judge

__all__ = ["Comparison", "CrossCheck", "ValidationPlan", "Verdict", "crosscheck", "judge"]
