"""The shared vocabulary of both sides: phase types, arrivals, policies, costs, scenarios."""
