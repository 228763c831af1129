"""What can go wrong, in words that tell the way out.

Every refusal is an `InputError` that carries *all* faults found at once, each with its place. The command line turns an
`InputError` into exit code 2 and a `ConvergenceError` into exit code 3.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: where, and what to do about it.

    Parameters
    ----------
    place : str
        Path inside the value or the file, for example ``arrivals.modes[0].D[1]``; indices count from 0.
    text : str
        ``<name> must be <rule>; got <value>`` without the place.
    way_out : str
        What the reader can do, as a sentence; may be empty.
    """

    place: str
    text: str
    way_out: str = ""

    def __str__(self) -> str:
        at = f" at {self.place}" if self.place else ""
        return f"{self.text}{at}." + (f" {self.way_out}" if self.way_out else "")

    def under(self, prefix: str) -> Fault:
        """The same fault, seen from the container that holds the value at `prefix`."""
        if not prefix:
            return self
        joint = "" if not self.place or self.place.startswith("[") else "."
        return Fault(f"{prefix}{joint}{self.place}", self.text, self.way_out)


class CrawltwinError(Exception):
    """Base of all errors that the product raises on purpose."""


class InputError(CrawltwinError, ValueError):
    """The input was wrong. Holds every fault that was found, not only the first.

    Examples
    --------
    >>> raise InputError([Fault("capacity", "capacity must be at least 1; got 0")])
    Traceback (most recent call last):
    ...
    crawltwin.model.errors.InputError: capacity must be at least 1; got 0 at capacity.
    """

    def __init__(self, faults: Iterable[Fault] | str) -> None:
        self.faults: tuple[Fault, ...] = (Fault("", faults.rstrip(".")),) if isinstance(faults, str) else tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    @classmethod
    def at(cls, place: str, text: str, way_out: str = "") -> InputError:
        """One fault, with its place and the way out."""
        return cls([Fault(place, text, way_out)])

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Fault, ...]]]:
        # Exceptions cross process borders in parallel work; the default pickling would lose the faults.
        return type(self), (self.faults,)


class TooLargeError(InputError):
    """The model is sound but does not fit: refused before anything is built."""


class ConvergenceError(CrawltwinError):
    """A numerical method stopped before it reached its tolerance."""


class Faults:
    """Collects faults while a value is checked, so that all of them are told at once.

    Examples
    --------
    >>> faults = Faults()
    >>> faults.add("K", "K must be positive; got -1")
    >>> bool(faults)
    True
    """

    def __init__(self) -> None:
        self._found: list[Fault] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._found)

    def add(self, place: str, text: str, way_out: str = "") -> None:
        """Record one fault."""
        self._found.append(Fault(place, text, way_out))

    def extend(self, error: InputError, prefix: str = "") -> None:
        """Take over the faults of an inner value, placed under `prefix`."""
        self._found.extend(fault.under(prefix) for fault in error.faults)

    @contextmanager
    def under(self, prefix: str) -> Iterator[None]:
        """Run a block; an `InputError` inside it is recorded under `prefix` and not raised."""
        try:
            yield
        except InputError as error:
            self.extend(error, prefix)

    def raise_if_any(self) -> None:
        """Raise one `InputError` with everything found so far."""
        if self._found:
            raise InputError(self._found)


def wrong_object(value: object) -> str:
    """What was given in the place of something else: short values as they are, other objects by their type.

    Examples
    --------
    >>> wrong_object(3), wrong_object(InputError("x"))
    ('3', 'an InputError')
    """
    if value is None or isinstance(value, str | int | float | os.PathLike):
        return repr(value)
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
