"""The chain: what arrives at each level, its transitions, its generator, what each state earns, the tagged page."""
