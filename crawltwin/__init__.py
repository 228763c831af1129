"""One crawler, two models of it: the shared ground below the rooms and the doors above them."""

__version__ = "0.1.0"
