"""Tables 1 to 5, cell by cell."""
