"""Which file of several logs was written by how many robots; nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crawltwin.model.errors import Faults


@dataclass(frozen=True)
class RobotsOf:
    """Robots that ran while each file was written.

    Parameters
    ----------
    numbers : tuple of (str, int)
        File, by its path or its name alone, and robots.

    Examples
    --------
    >>> RobotsOf.read("one.log=1, four.log=4").numbers
    (('one.log', 1), ('four.log', 4))
    """

    numbers: tuple[tuple[str, int], ...]

    @classmethod
    def read(cls, text: str) -> RobotsOf:
        """From words such as ``one.log=1,two.log=2``."""
        faults, found = Faults(), []
        for part in text.split(","):
            name, _, number = part.strip().rpartition("=")
            if name and number.isdigit() and 1 <= int(number) <= 1000:
                found.append((name, int(number)))
            else:
                faults.add(
                    "robots_of",
                    f"robots-of must be FILE=ROBOTS with 1 to 1000 robots, separated by commas; got {part.strip()!r}",
                )
        faults.raise_if_any()
        return cls(tuple(found))

    def __str__(self) -> str:
        """The words that `read` takes; names without their folders where these tell the files apart."""
        names = [Path(name).name for name, _ in self.numbers]
        if len(set(names)) < len(names):
            names = [name for name, _ in self.numbers]
        return ",".join(f"{name}={number}" for name, (_, number) in zip(names, self.numbers, strict=True))

    def of(self, path: str | Path) -> int | None:
        """Robots of that file; None where it is not named."""
        named = dict(self.numbers)
        return named.get(str(path), named.get(Path(path).name))

    def groups(self, paths: Sequence[str | Path]) -> dict[int, list[str | Path]]:
        """The files of each number of robots, the fewest first.

        Raises
        ------
        InputError
            For a file without a number, a number without a file, or one number of robots alone.
        """
        faults = Faults()
        for path in paths:
            if self.of(path) is None:
                faults.add("robots_of", f"robots-of must name every log; got no number of robots for {str(path)!r}")
        known = {str(path) for path in paths} | {Path(path).name for path in paths}
        for name, _ in self.numbers:
            if name not in known:
                faults.add("robots_of", f"robots-of must name logs that are read; got {name!r}")
        numbers = sorted({number for path in paths if (number := self.of(path)) is not None})
        if not faults and len(numbers) < 2:
            faults.add(
                "robots_of",
                f"robots-of must give at least two different numbers of robots; got {numbers}",
                "Logs of one number of robots need --robots only.",
            )
        faults.raise_if_any()
        return {number: [path for path in paths if self.of(path) == number] for number in numbers}
