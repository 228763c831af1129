"""The event simulation: SimPy engine, compiled engine, output analysis, replication."""
