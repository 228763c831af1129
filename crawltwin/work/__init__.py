"""Long work: workers that run pieces of it, and the store that keeps finished pieces."""
