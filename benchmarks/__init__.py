"""Side by side with the peers: the same work, the same machine, the ratio."""
