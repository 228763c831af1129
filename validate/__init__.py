"""Cross-check of the solved and the simulated side, reproduction of the paper, reports."""
