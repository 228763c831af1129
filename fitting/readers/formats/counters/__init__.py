"""Formats that tell counts of pages per interval: one file per format."""
