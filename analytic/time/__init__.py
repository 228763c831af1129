"""What happens in time: the approach to equilibrium, first passage, a finite list of URLs."""
