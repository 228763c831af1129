"""What counts per interval cannot tell, as sentences for every place that shows a fit or a plan."""

from __future__ import annotations

import numpy as np

from fitting.trace.segments import CountedIntervals


def in_seconds(value: float) -> str:
    """A length of time, short."""
    return f"{value:.3g} s" if value < 120 else f"{value / 60:.3g} min"


def cannot_tell(data: CountedIntervals, mean_batch: float) -> tuple[str, ...]:
    """Sentences without a full stop; `mean_batch` is that of the model."""
    length = in_seconds(float(np.median(data.gaps)))
    pages = f"{float(data.sizes.mean()):.3g} pages on average"
    batches = f"whether pages came one by one, in bursts or in batches within an interval of {length} ({pages})"
    model = f"batches of {mean_batch:.3g} on average, geometric" if mean_batch > 1 else "single pages"
    faster = f"gaps between pages, and whatever changes faster than {length}"
    return (
        f"{batches}: the model brings {model}",
        f"{faster}: within its phases the model is a Poisson stream, or the simplest with the spread of the counts",
        "content sizes and indexing times: the mean indexing time must be given",
        "which pages came again or changed: how long pages stay fresh must be given",
        "who fetched a page, and how long it took",
        "losses of the recorded crawl in a buffer: counts cannot be replayed page by page",
    )
