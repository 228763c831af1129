"""The solved side against the simulated side."""
