"""Closed forms and other people's solvers, and the tests that hold our numbers against theirs."""
