"""The operator's road through all rooms: log, model, policy, proof."""
