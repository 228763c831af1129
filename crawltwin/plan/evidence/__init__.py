"""What supports or limits a plan: today beside it, resampled traces, the backlog, the verdict, logs that allow none."""
