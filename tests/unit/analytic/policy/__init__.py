"""Best policies, their proofs, fronts and constraints."""
