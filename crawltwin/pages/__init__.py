"""Pages: results turned into the blocks of a report."""
