"""What the paper prints: numbers with their digits, tables, matrices and the systems built from them."""
