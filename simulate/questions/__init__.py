"""What people ask of a simulation: compare, select, replay, draw a course, measure coverage."""
