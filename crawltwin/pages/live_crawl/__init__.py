"""The page of the live demonstration."""
