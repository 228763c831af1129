"""Tests of every room; see README.md here for where a test belongs."""
