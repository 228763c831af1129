"""The engines: tables and streams they share, the SimPy reference, the compiled loop, what a run leaves behind."""
