"""Linear algebra for chains: elimination without subtraction, Kronecker sums, compiled level steps, acceleration."""
