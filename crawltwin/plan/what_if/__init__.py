"""The questions that follow a plan: sweeps over a grid, other inputs, other policies."""
