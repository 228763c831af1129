"""Readers: raw logs of every usual format to deliveries with times, sizes and keys; `read_log` is the door."""

from crawltwin.model.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
