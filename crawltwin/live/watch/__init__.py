"""A growing log watched: followed through rotation, tested against its past, with a new policy where it is worth it."""
