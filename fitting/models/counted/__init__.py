"""Models fitted to counts per interval: exact by convolution, and by slices where counts are large."""
