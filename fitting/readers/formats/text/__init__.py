"""Log formats of lines that people read: one file per format."""
