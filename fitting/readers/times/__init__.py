"""Written times to nanoseconds, and zones."""
