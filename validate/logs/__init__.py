"""Does a log agree with its model? The trace to be replayed, the rule of agreement, and what rests on it."""
