"""What the robots bring: the kinds of controlled arrivals."""
