"""The curves of Figures 1 to 4, and the main rows of tables and figures simulated."""
