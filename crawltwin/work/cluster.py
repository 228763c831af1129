"""A Dask cluster: connect within a stated time, hand out pieces, say in one line what went wrong.

The scheduler gives the pieces of a dead worker to the others. When the scheduler itself dies, the work stops with an
error; pieces that were handed out are kept where a store is given, so that the same command goes on.
"""

from __future__ import annotations

import asyncio
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeVar

from crawltwin.model.errors import CrawltwinError, InputError

Piece = TypeVar("Piece")
Result = TypeVar("Result")

PATIENCE = 10.0
"""Seconds to wait for a scheduler to answer."""
TRIES = 5
"""How often the loss of workers is repaired before the work is given up."""
_ADDRESS = re.compile(r"(?:[a-z]+://)?(?:\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):(?P<port>\d+)")


class LostWorkersError(CrawltwinError):
    """Workers died again and again on the same work, or nobody hands it out any more."""


class EmptyClusterWarning(UserWarning):
    """A scheduler has no workers: nothing is done until one joins."""


def run_on_cluster(function: Callable[[Piece], Result], pieces: Sequence[Piece], address: str) -> Iterator[Result]:
    """Results of the pieces in their order, computed by the workers of a running scheduler."""
    client = connect(address)
    futures: list[Any] = []
    index = 0
    try:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        lost = (FutureCancelledError, CommClosedError, OSError, asyncio.CancelledError)
        if not client.scheduler_info()["workers"]:
            words = f"the cluster at {address} has no workers yet; waiting for one. Start one: dask worker {address}"
            warnings.warn(words, EmptyClusterWarning, stacklevel=2)
        futures += client.map(function, list(pieces), pure=False, retries=TRIES)
        for index, future in enumerate(futures):
            try:
                result = future.result()
            except KilledWorker as error:
                raise LostWorkersError(
                    f"workers of the cluster at {address} died again and again; {index} of {len(pieces)} pieces "
                    "are done. Is memory short on them?"
                ) from error
            except lost:
                if client.status == "running" and not future.cancelled():
                    raise
                raise LostWorkersError(
                    f"the scheduler at {address} must stay until the work is done; got no answer any more after "
                    f"{index} of {len(pieces)} pieces. Start it again: where pieces are kept, the same command goes on"
                ) from None
            yield result
            futures[index] = None
    finally:
        with suppress(Exception):
            client.cancel([future for future in futures if future is not None])
        with suppress(Exception):
            client.close(timeout=2)


def connect(address: str) -> Any:
    """A client of a running Dask scheduler; a clear error where there is none, within a stated time."""
    try:
        import distributed
    except ImportError:
        raise InputError(
            "a cluster needs dask.distributed, which is not installed. Install the extra: crawltwin[cluster]"
        ) from None
    # What the libraries say of connections that fail stands in our own words below. Each of their modules has a level.
    for name in ("distributed", "tornado", "asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    inside = address.startswith("inproc://")
    found = _ADDRESS.fullmatch(address)
    if not inside and (not found or not 0 < int(found["port"][:9]) < 65_536):
        raise _no_scheduler(address, "which is none: it has the form tcp://host:8786")
    try:
        if not inside:
            # In a thread of its own: a notebook's thread has an event loop that is running already.
            with ThreadPoolExecutor(1) as alone:
                alone.submit(asyncio.run, _greet(address)).result()
        client: Any = distributed.Client
        return client(address, timeout=PATIENCE, set_as_default=False)
    except TimeoutError:
        raise _no_scheduler(address, f"which does not answer as a scheduler within {PATIENCE:g} s") from None
    except (OSError, ValueError, TypeError, MemoryError, OverflowError) as error:
        # Another program's answer is taken for the length of a message: no memory holds it.
        reason = (str(error) or type(error).__name__).partition("\n")[0]
        raise _no_scheduler(address, f"which does not answer ({reason})") from None


async def _greet(address: str) -> None:
    """Ask who is there and wait for the answer: a web server or a silent program gives none that is understood."""
    communication: Any = import_module("distributed.comm")
    async with asyncio.timeout(PATIENCE):
        connection = await communication.connect(address, timeout=PATIENCE)
        try:
            await connection.write({"op": "identity", "reply": True})
            answer = await connection.read()
        finally:
            connection.abort()
    if not isinstance(answer, dict) or "workers" not in answer:
        raise ValueError("another program answers")


def _no_scheduler(address: str, why: str) -> InputError:
    return InputError(
        f"cluster must be the address of a running Dask scheduler; got {address!r}, {why}. Start one with "
        "`dask scheduler`, or leave --cluster out"
    )
