"""What belongs to the terminal: a dialogue that asks, and scripts with which a shell completes words."""
