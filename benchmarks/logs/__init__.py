"""Measurements on whole logs: those named on the command line, and made ones."""
