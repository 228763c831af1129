"""The same procedure for counts per interval: rivals, goodness, what counts cannot tell, and the result."""
