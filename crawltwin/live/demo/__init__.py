"""The demonstration: a real crawl on this machine, predicted, run and judged."""
