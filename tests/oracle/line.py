"""LINE's exact MAP/G/1/K queue as an oracle, with phase-type service and no obsolescence.

LINE's `K` counts the packet in transmission, as our capacity does, and its subgenerator `T` has the usual signs
(negative diagonal, exit rates -T e). It solves the chain embedded at departures by uniformisation, which shares no
idea with a generator over all states. Its own `lossProbability` is 1 - throughput / rate and loses its digits when
losses are rare; here the loss is summed from the phase distribution at a full buffer instead. The level probabilities
are good to about 1e-13 absolutely, not relatively.
"""

from typing import Any

import numpy as np
import pytest


def line_map_ph_1_k(
    D0: np.ndarray, D1: np.ndarray, initial: np.ndarray, subgenerator: np.ndarray, capacity: int
) -> dict[str, Any]:
    """Measures of the MAP/PH/1/K queue under the names of our contract; skips the test where there is no LINE.

    `mean_sojourn` counts lost pages as zero, as equation (16) does; `loss_by_throughput` is LINE's own loss.
    """
    pytest.importorskip("line_solver")
    from line_solver.api.qsys.mapg1k import qsys_mapg1k

    service = {"type": "ph", "alpha": np.asarray(initial, float), "T": np.asarray(subgenerator, float)}
    answer = qsys_mapg1k(np.asarray(D0, float), np.asarray(D1, float), service, capacity, tol=1e-15)
    rate = float(answer["lambda"])
    loss = float(answer["pKvec"] @ np.asarray(D1, float).sum(axis=1)) / rate
    return {
        "arrival_rate": rate,
        "loss_probability": loss,
        "loss_by_throughput": float(answer["lossProbability"]),
        "success_probability": float(answer["throughput"]) / rate,
        "starvation_probability": float(answer["p0"]),
        "mean_pages": float(answer["meanQueueLength"]),
        "mean_sojourn": float(answer["meanQueueLength"]) / rate,
        "mean_sojourn_served": float(answer["meanQueueLength"]) / float(answer["throughput"]),
        "level_distribution": np.asarray(answer["plevel"], float),
    }
