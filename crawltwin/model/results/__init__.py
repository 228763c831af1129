"""What every result has in common: how it is shown."""
