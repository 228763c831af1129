"""How measures respond and scatter: sensitivities, variances, the Poisson equation."""
