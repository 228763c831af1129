"""Derivatives, variances, the Poisson equation."""
