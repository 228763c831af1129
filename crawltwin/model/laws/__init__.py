"""Laws of times: phase types, their families and their exact reduction."""
