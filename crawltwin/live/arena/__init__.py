"""The arena: one recorded crawl replayed under several rules of control."""
