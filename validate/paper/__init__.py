"""The founding paper, number by number: what it prints, what we compute, and why they differ where they do."""

from validate.paper.compare import compare
from validate.paper.finding import Finding, Verdict
from validate.paper.run import Reproduction, reproduce

__all__ = ["Finding", "Reproduction", "Verdict", "compare", "reproduce"]
