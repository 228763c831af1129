"""The stationary solution: banded, block, direct, matrix-free, window, and the choice among them."""
