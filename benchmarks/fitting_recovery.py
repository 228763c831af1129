"""`python -m benchmarks.fitting_recovery`: traces of known models, fitted; the recovery table of docs/fitting.md.

For every model and trace length, some traces are drawn; `fit_candidates` gets the gaps alone. The table shows how often
the right family was chosen, how far the fitted mean, squared coefficient of variation and lag-1 correlation are from
those of the truth (root mean square over the traces, relative for the first two), and what its likelihood
on a fresh trace of 10,000 gaps lacks to that of the truth.
"""

import sys
from typing import Any

import numpy as np

from crawltwin.model import BMAP
from fitting.choose.candidates import choose, fit_candidates
from fitting.models.erlang_map import ErlangMap
from fitting.models.general_map import GeneralMap
from fitting.trace.segments import Segments

LENGTHS = (500, 3000, 20_000)
ONE = np.ones((1, 1))


def truths() -> dict[str, tuple[Any, tuple[str, ...]]]:
    """Models, and the families that contain each."""
    hyper = np.array([0.9, 0.1])
    stay = np.full((4, 4), 0.0123) + np.eye(4) * (0.9631 - 0.0123)
    mmpp = np.array([[5.0, 0.0], [0.0, 0.5]])
    return {
        "Poisson": (ErlangMap(np.ones(1), np.ones(1), ONE), ("poisson",)),
        "renewal, hyperexponential": (
            ErlangMap(np.ones(2), np.array([1.0, 0.1]), np.tile(hyper, (2, 1))),
            ("renewal",),
        ),
        "renewal, Erlang-3": (ErlangMap(np.array([3.0]), np.array([3.0]), ONE), ("renewal",)),
        "MMPP(2)": (GeneralMap(np.array([[-5.2, 0.2], [0.1, -0.6]]), mmpp), ("mmpp2", "map", "erlang")),
        "four Erlang-5 branches": (
            ErlangMap(np.full(4, 5.0), 5 / np.array([50.0, 100.0, 220.0, 560.0]), stay),
            ("erlang",),
        ),
    }


def draw(model: Any, n: int, seed: int) -> Segments:
    """A trace of `n` gaps."""
    process = model.bmap()
    times = process.sample(np.random.default_rng(seed), n + 1).times
    return Segments.of(np.diff(times))


def numbers(process: BMAP) -> tuple[float, float, float]:
    """Mean, squared coefficient of variation and lag-1 correlation."""
    mean = process.interval_moment(1)
    return mean, process.interval_variance / mean**2, process.correlation(1)


def table(traces: int = 10) -> list[str]:
    """Rows of the recovery table as Markdown."""
    rows = [
        "| truth | gaps | right family | mean | scv | lag-1 | behind the truth, nats a gap |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, (truth, families) in truths().items():
        fresh = draw(truth, 10_000, 99)
        best = truth.log_likelihood(fresh) / len(fresh)
        wanted = numbers(truth.bmap())
        for n in LENGTHS:
            right, off, behind = 0, [], []
            for seed in range(traces):
                chosen = choose(fit_candidates(draw(truth, n, seed))[0], "bic", 40)
                right += chosen.method in families
                found = numbers(chosen.model.bmap())
                off.append([found[0] / wanted[0] - 1, found[1] / wanted[1] - 1, found[2] - wanted[2]])
                behind.append(best - chosen.model.log_likelihood(fresh) / len(fresh))
            mean, scv, lag1 = np.sqrt(np.mean(np.square(off), axis=0))
            errors = f"{mean:.1%} | {scv:.1%} | {lag1:.3f} | {np.mean(behind):.4f}"
            rows.append(f"| {name} | {n:,} | {right} of {traces} | {errors} |")
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    print("\n".join(table(int(sys.argv[1]) if len(sys.argv) > 1 else 10)))
