"""Formats with named fields or records: one file per format."""
