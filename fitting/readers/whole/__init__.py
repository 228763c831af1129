"""The rows of all files together: their order, and those that were read twice."""
