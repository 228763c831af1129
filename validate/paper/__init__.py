"""The founding paper, number by number: what it prints, what we compute, and why they differ where they do."""

from validate.paper.earlier_report import compare
from validate.paper.judging.finding import Finding
from validate.paper.reproduction import Reproduction, reproduce

__all__ = ["Finding", "Reproduction", "compare", "reproduce"]
