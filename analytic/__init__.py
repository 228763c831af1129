"""The chain: state space, generator, stationary solvers, measures, sojourn times, optimisation."""
