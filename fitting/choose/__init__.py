"""From a trace to the chosen model: candidates, goodness, service, the whole procedure and its result."""
