"""A trace whose truth is known: four hidden states with Erlang-5 gaps, correlations near 0.62 ... 0.51."""

import numpy as np

from fitting.models.erlang_map import ErlangMap

MEANS = np.array([50.0, 100.0, 220.0, 560.0])
STAY = 0.963
TRUTH = ErlangMap(np.full(4, 5.0), 5 / MEANS, np.full((4, 4), (1 - STAY) / 3) + np.eye(4) * (STAY - (1 - STAY) / 3))


def trace(n, seed, model=TRUTH):
    """Gaps and batch sizes drawn from `model` by walking its hidden states."""
    rng = np.random.default_rng(seed)
    steps = np.cumsum(model.P, axis=1)
    u = rng.random(n)
    states = np.empty(n, dtype=np.int64)
    state = int(rng.integers(model.states))
    for t in range(n):
        state = min(int(np.searchsorted(steps[state], u[t])), model.states - 1)
        states[t] = state
    gaps = rng.gamma(model.shape[states], 1 / model.rate[states])
    q = np.broadcast_to(model.q, (model.states, model.q.shape[1]))
    sizes = 1 + (rng.random(n)[:, None] > np.cumsum(q, axis=1)[states]).sum(axis=1)
    return gaps, np.minimum(sizes, q.shape[1])
