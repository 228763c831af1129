"""What belongs to the terminal: progress, a dialogue that asks, and scripts with which a shell completes words."""
