"""Bounds beyond small capacities: the decision process on windows of ordered pages."""
