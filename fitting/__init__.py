"""Raw crawler logs to a clean trace, batches, phase types, arrival processes and a scenario."""
