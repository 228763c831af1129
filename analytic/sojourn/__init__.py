"""Sojourn times: one law, and the ways to it."""
