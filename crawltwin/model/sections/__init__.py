"""The tables of a scenario file, one module for each: reading and writing."""
