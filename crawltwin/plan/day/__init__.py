"""A plan by part of the day: policies for each part, whether that is worth it, and whether parts may be taken alone."""
