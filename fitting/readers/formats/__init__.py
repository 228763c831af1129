"""All formats: lines of text, and structured ones."""
