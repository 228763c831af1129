"""One way to run many independent pieces of work: in this process, in processes of this machine, or on a cluster.

`run` hands out the results in the order of the pieces, whichever finished first, so that whatever is made of them
has the same bits on one process, on two and on a cluster. A worker that dies costs time, not results: the pieces it
held are run again. Where a `Store` is given, finished pieces are kept, and an interrupted run goes on where it was.

A function that is run elsewhere must be importable there and take one piece; pieces and results must be picklable.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from crawltwin.model.checks import count
from crawltwin.model.errors import InputError
from crawltwin.work.cluster import TRIES, LostWorkersError, run_on_cluster
from crawltwin.work.processes import become_worker, quiet_when_given_up, starting_workers
from crawltwin.work.progress import ProgressCallback
from crawltwin.work.store import Store

Piece = TypeVar("Piece")
Result = TypeVar("Result")


MOST_WORKERS = 1024
"""Processes at most; all of them are started at once."""


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(workers: Any) -> int:
    """The number of workers; None means one for each core."""
    if workers is None:
        return available_cores()
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers must be a whole number, at least 1; got {workers!r}. 1 uses this process alone")
    if workers > MOST_WORKERS:
        raise InputError(f"workers must be at most {MOST_WORKERS}; got {count(workers)}. More need a cluster")
    return workers


def run(
    function: Callable[[Piece], Result],
    pieces: Sequence[Piece],
    *,
    workers: int | None = 1,
    cluster: str | None = None,
    store: Store | None = None,
    keys: Sequence[str] | None = None,
    progress: ProgressCallback | None = None,
) -> Iterator[Result]:
    """Results of `function` on each piece, in the order of the pieces, each as soon as its turn has come.

    Parameters
    ----------
    function : callable
        A module-level function of one piece.
    pieces : sequence
        What to work on.
    workers : int, optional
        Processes on this machine; 1 runs here, None uses every core.
    cluster : str, optional
        Address of a running Dask scheduler, for example ``tcp://host:8786``; then `workers` does not matter.
    store, keys : Store and sequence of str, optional
        Where finished pieces are kept, and the key of each piece. A result that is kept must be made of what a
        `Store` can hold.
    progress : callable, optional
        Told (done, in all) once whoever asked is ready for the next result.

    Examples
    --------
    >>> list(run(abs, [-2, 3, -4]))
    [2, 3, 4]
    """
    results = _kept(function, pieces, check_workers(workers), cluster, store, keys)
    for done, result in enumerate(results, start=1):
        yield result
        if progress is not None:
            progress(done, len(pieces))


def _kept(
    function: Callable[[Piece], Result],
    pieces: Sequence[Piece],
    workers: int,
    cluster: str | None,
    store: Store | None,
    keys: Sequence[str] | None,
) -> Iterator[Result]:
    """The results, those that a store holds taken from there and the others put there."""
    if store is None:
        yield from _run(function, pieces, workers, cluster)
        return
    if keys is None or len(keys) != len(pieces):
        raise InputError(f"keys must be one for each of the {len(pieces)} pieces when a store is given; got {keys!r}")
    missing = [index for index, key in enumerate(keys) if key not in store]
    fresh = _run(function, [pieces[index] for index in missing], workers, cluster)
    open_pieces = set(missing)
    for index, key in enumerate(keys):
        if index not in open_pieces:
            try:
                yield store.get(key)
                continue
            except KeyError:
                # Damaged or removed since it was looked for: computed here, never trusted.
                result = function(pieces[index])
        else:
            result = next(fresh)
        store.put(key, result)
        yield result


def _run(
    function: Callable[[Piece], Result], pieces: Sequence[Piece], workers: int, cluster: str | None
) -> Iterator[Result]:
    if cluster is not None:
        return run_on_cluster(function, pieces, cluster)
    if workers == 1 or len(pieces) < 2:
        return map(function, pieces)
    return _in_processes(function, pieces, min(workers, len(pieces)))


def _in_processes(function: Callable[[Piece], Result], pieces: Sequence[Piece], workers: int) -> Iterator[Result]:
    """Processes kept by joblib (loky); when one dies, a new set takes up the pieces that are still open."""
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel, delayed, parallel_config

    done = 0
    for attempt in range(TRIES):
        results: Any = None
        try:
            with parallel_config("loky", initializer=become_worker, initargs=(os.getpid(),)), starting_workers():
                # Enough pieces ahead that no worker waits for this process to hand out the next one.
                parallel = Parallel(n_jobs=workers, return_as="generator", pre_dispatch="16*n_jobs")
                results = parallel(delayed(function)(piece) for piece in pieces[done:])
            with quiet_when_given_up():
                for result in results:
                    done += 1
                    yield result
            return
        except BrokenProcessPool as error:
            if attempt == TRIES - 1:
                raise LostWorkersError(
                    f"worker processes died {TRIES} times; {done} of {len(pieces)} pieces are done. "
                    "Is memory short? Use fewer workers"
                ) from error
        finally:
            with warnings.catch_warnings(), quiet_when_given_up():
                # Whoever stops early, on a budget or Ctrl-C, knows that pieces were under way.
                warnings.simplefilter("ignore", UserWarning)
                if results is not None:
                    results.close()
