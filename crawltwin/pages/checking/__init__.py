"""A report made again and compared with the one that lies in a directory."""
