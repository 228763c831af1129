"""The chain, one piece at a time."""
