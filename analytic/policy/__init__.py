"""Best policies: enumeration, decision process, bounds, certificate, Pareto front, constraints."""
