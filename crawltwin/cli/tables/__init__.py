"""What people see of each answer: one file per command."""
