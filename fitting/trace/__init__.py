"""The trace: segments, cleaning, batches, stationarity, statistics, bootstrap."""
