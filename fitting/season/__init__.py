"""The pace of the day: is there a period, what is its form, and a clock on which the rate holds."""
