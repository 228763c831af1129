"""A web site for demonstrations: real documents on the loopback address, with random latencies and slow spells.

The documents are the reference pages of this Python's own standard library, as `pydoc` writes them: some hundred pages
of real text of very different lengths, present on every machine. The server runs in a process of its own, binds to
127.0.0.1 alone, and ends with its parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import pkgutil
import pydoc
import random
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from crawltwin.model import checks
from crawltwin.model.errors import Faults, InputError

HOST = "127.0.0.1"
_UNWANTED = {"antigravity", "this", "idlelib", "turtledemo", "test", "lib2to3", "ensurepip", "tkinter", "turtle"}


@dataclass(frozen=True)
class SiteSettings:
    """How slow the site is.

    Parameters
    ----------
    latencies : sequence of (weight, seconds)
        A mixture of exponential latencies: the weight and the mean of each kind of page.
    slow_every, slow_for : float
        Mean seconds between slow spells, and mean seconds that one lasts; `slow_every` 0 means none.
    slow_factor : float
        Latencies are this many times longer in a slow spell.
    documents : int
        Documents at most.
    largest : int
        Documents of more bytes are left out.
    seed : int
    """

    latencies: Sequence[tuple[float, float]] = ((0.7, 0.10), (0.3, 0.30))
    slow_every: float = 20.0
    slow_for: float = 6.0
    slow_factor: float = 2.0
    documents: int = 300
    largest: int = 100_000
    seed: int = 1

    def __post_init__(self) -> None:
        faults = Faults()
        for k, (weight, seconds) in enumerate(self.latencies):
            checks.number(weight, f"latencies[{k}] weight", faults, above=0)
            checks.number(seconds, f"latencies[{k}] seconds", faults, above=0)
        checks.number(self.slow_every, "slow_every", faults, at_least=0)
        checks.number(self.slow_for, "slow_for", faults, above=0)
        checks.number(self.slow_factor, "slow_factor", faults, at_least=1)
        checks.integer(self.documents, "documents", faults, at_least=1)
        checks.integer(self.largest, "largest", faults, at_least=1)
        checks.integer(self.seed, "seed", faults, at_least=0)
        faults.raise_if_any()


def documents(most: int, largest: int) -> list[bytes]:
    """Reference pages of the standard library by name: at most `most`, each of at most `largest` bytes."""
    names = sorted(
        module.name
        for module in pkgutil.iter_modules()
        if not module.name.startswith("_") and module.name in sys.stdlib_module_names and module.name not in _UNWANTED
    )
    pages: list[bytes] = []
    writer = pydoc.HTMLDoc()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            if len(pages) >= most:
                break
            try:
                subject = pydoc.locate(name)
                page = writer.page(name, writer.document(subject, name)).encode("utf-8", "replace")
                pages += [page] if len(page) <= largest else []
            except Exception:  # noqa: BLE001 - a module that does not import here is simply no document
                continue
    return pages


class _Weather:
    """Slow spells: a two-state environment common to all requests."""

    def __init__(self, settings: SiteSettings, chance: random.Random) -> None:
        self.settings = settings
        self.chance = chance
        self.factor = 1.0

    async def change(self) -> None:
        """Go through fast and slow spells for ever."""
        if self.settings.slow_every <= 0:
            return
        while True:
            self.factor = 1.0
            await asyncio.sleep(self.chance.expovariate(1 / self.settings.slow_every))
            self.factor = self.settings.slow_factor
            await asyncio.sleep(self.chance.expovariate(1 / self.settings.slow_for))

    def latency(self) -> float:
        """Seconds until an answer is sent."""
        kinds = self.settings.latencies
        mean = self.chance.choices([s for _, s in kinds], weights=[w for w, _ in kinds])[0]
        return self.factor * self.chance.expovariate(1 / mean)


async def _serve(settings: SiteSettings, channel: Connection) -> None:
    pages = documents(settings.documents, settings.largest)
    chance = random.Random(settings.seed)
    weather = _Weather(settings, chance)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readline()
                if not request.strip():
                    break
                while (await reader.readline()).strip():
                    pass
                words = request.split()
                path = words[1].decode("latin-1") if len(words) > 1 else "/"
                number = "".join(c for c in path.partition("?")[0] if c.isdigit())
                found = bool(number) and int(number) < len(pages)
                if found:
                    await asyncio.sleep(weather.latency())
                body = pages[int(number)] if found else b"no such page"
                head = (
                    f"HTTP/1.1 {'200 OK' if found else '404 Not Found'}\r\nContent-Type: text/html; charset=utf-8\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n"
                )
                writer.write(head.encode() + body)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, HOST, 0)
    channel.send((server.sockets[0].getsockname()[1], len(pages)))
    spells = asyncio.ensure_future(weather.change())
    parent = os.getppid()
    async with server:
        while os.getppid() == parent and not channel.poll():
            await asyncio.sleep(0.2)
    spells.cancel()


def _run(settings: SiteSettings, channel: Connection) -> None:
    asyncio.run(_serve(settings, channel))


class Site:
    """The site, running while the `with` block lasts.

    Examples
    --------
    >>> with Site(SiteSettings(documents=2)) as site:
    ...     site.pages
    2
    """

    def __init__(self, settings: SiteSettings | None = None) -> None:
        self.settings = settings or SiteSettings()
        self.port = 0
        self.pages = 0
        self._process: BaseProcess | None = None
        self._channel: Connection | None = None

    def __enter__(self) -> Site:
        context = multiprocessing.get_context("spawn")
        self._channel, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(self.settings, theirs), daemon=True)
        self._process.start()
        theirs.close()
        if not self._channel.poll(60):
            self.__exit__()
            raise InputError("the demonstration's site must start within 60 seconds; it did not")
        self.port, self.pages = self._channel.recv()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._channel is not None:
            with contextlib.suppress(BrokenPipeError, OSError):
                self._channel.send("end")
            self._channel.close()
        if self._process is not None:
            self._process.join(5)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()

    @property
    def address(self) -> str:
        """Where the site is."""
        return f"http://{HOST}:{self.port}"
