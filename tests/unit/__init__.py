"""Fast tests of one piece each, every error text among them."""
