"""A chain written out state by state for robots that finish their fetch: the judge of what the demonstration predicts.

One page per fetch, one indexer, pages that wait go stale at one rate. States are (level, mode, arrival phase, service
phase). Written from the description of the model alone; shares nothing with `analytic`.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from crawltwin.model.rates import Rates


def solve_small_chain(scenario):
    """All measures in equilibrium."""
    policy, K = scenario.policy.as_thresholds(), scenario.capacity
    m = scenario.arrivals.matrices(policy.robots_used)
    W, beta, S = m.phases, scenario.service.initial, scenario.service.subgenerator
    M, s0 = beta.size, -S.sum(axis=1)
    mu = 0.0 if scenario.obsolescence is None else 1 / scenario.obsolescence.mean
    polls = 1 / policy.check_every if policy.check_every else 0.0
    G = len(policy.robots)
    size = (K + 1) * G * W * M
    block = W * M

    def after(mode, level):
        return mode if polls else policy.mode_after(mode, level)

    def place(level, mode):
        return (level * G + mode) * block

    parts, eye = [], np.eye(M)

    def add(level, mode, to, then, matrix):
        found = sp.coo_matrix(matrix)
        parts.append((found.row + place(level, mode), found.col + place(to, then), found.data))

    restart = np.ones((M, 1)) @ beta[None, :]
    for n in range(K + 1):
        for g in range(G):
            r = policy.robots[g]
            silent = np.array(m.silent(r), dtype=float)
            np.fill_diagonal(silent, 0.0)
            add(n, g, n, g, np.kron(silent, eye))
            up = min(n + 1, K)
            h = after(g, up)
            add(n, g, up, h, np.kron(m.delivery(1, r, policy.robots[h]), restart if n == 0 else eye))
            if n > 0:
                h = after(g, n - 1)
                enter = m.entrance(policy.robots[h])
                add(n, g, n - 1, h, np.kron(enter, s0[:, None] @ beta[None, :]))
                if n > 1:
                    add(n, g, n - 1, h, (n - 1) * mu * np.kron(enter, eye))
                add(n, g, n, g, np.kron(np.eye(W), S - np.diag(np.diag(S))))
            if polls:
                h = policy.mode_after(g, n)
                if h != g:
                    add(n, g, n, h, polls * np.kron(m.entrance(policy.robots[h]), eye))
    rows, columns, rates = (np.concatenate(column) for column in zip(*parts, strict=True))
    Q = sp.csr_matrix((rates, (rows, columns)), shape=(size, size))
    Q = Q - sp.diags(np.asarray(Q.sum(axis=1)).ravel())
    # Only what is reached from the start is a state; the others would make the system singular.
    start = place(0, policy.mode_after(0, 0)) + np.flatnonzero(
        np.kron(m.start_law[policy.robots[policy.mode_after(0, 0)]], beta) > 0
    )
    seen = np.zeros(size, dtype=bool)
    seen[start] = True
    links = (abs(Q) > 0).astype(float)
    while True:
        new = seen | (links.T @ seen > 0)
        if (new == seen).all():
            break
        seen = new
    kept = np.flatnonzero(seen)
    A = Q[kept][:, kept].T.tolil()
    A[0, :] = 1.0
    right = np.zeros(kept.size)
    right[0] = 1.0
    pi = np.zeros(size)
    pi[kept] = spsolve(A.tocsc(), right)
    p = pi.reshape(K + 1, G, W, M)
    robots = np.array(policy.robots, dtype=float)
    by_mode = p.sum(axis=(0, 3))
    ends = np.array([[m.delivery(1, r, r).sum(axis=1)] for r in policy.robots])[:, 0]
    deliver = (p.sum(axis=3) * ends[None]).sum(axis=(1, 2))
    level = np.arange(K + 1)
    shares = p.sum(axis=(1, 2, 3))
    served = float((p[1:].sum(axis=(0, 1, 2)) * s0).sum())
    stale = mu * float((np.maximum(level - 1, 0) * shares).sum())
    switches = float(
        sum(
            rate * pi[row]
            for row, column, rate in zip(rows, columns, rates, strict=True)
            if (row // block) % G != (column // block) % G
        )
    )
    pages, lost = float(deliver.sum()), float(deliver[K])
    # A page that is served waited for its whole time; stale pages wait an exponential time while they wait.
    return Rates(
        pages=pages,
        lost=lost,
        obsolete=stale,
        served=served,
        robots=float((by_mode.sum(axis=1) * robots).sum()),
        starvation=float(shares[0]),
        level=float(level @ shares),
        sojourn_served=np.nan,
        switches=switches,
        fetches=float(by_mode.sum(axis=0) @ m.fetches),
    ).measures()
