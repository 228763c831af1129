"""The software that made a fit, for its record."""

from __future__ import annotations

import platform

import numpy as np

import crawltwin


def software_versions() -> dict[str, str]:
    """Versions of everything whose change could change a fit."""
    import numba
    import scipy

    return {
        "crawltwin": crawltwin.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }
