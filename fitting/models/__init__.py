"""Models of gaps and durations, and the EM that fits them."""
