"""The product as people get it: built, installed into an empty environment, every command run from there."""
