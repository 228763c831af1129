"""From files to bytes, lines and fields."""
