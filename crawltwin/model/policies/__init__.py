"""Policies, their written forms, and the cost by which they are judged."""
