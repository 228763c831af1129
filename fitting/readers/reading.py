"""From files to a log. A format is one file below `formats`: a class that scores a sample of lines, and reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crawltwin.model.errors import Fault, InputError, wrong_object
from crawltwin.work.memory import no_search_for_cycles
from crawltwin.work.progress import ProgressCallback
from crawltwin.work.workers import check_workers, run
from fitting.readers.assemble import Pieces, ReadFile
from fitting.readers.base import FILTERS, NoRows, Reader
from fitting.readers.columns import SHOWN
from fitting.readers.detection import SAMPLE, detect
from fitting.readers.formats.text.pattern import Pattern, compiled
from fitting.readers.input.opening import open_sources
from fitting.readers.input.streams import Source
from fitting.readers.raw_log import RawLog
from fitting.readers.registry import COUNTERS, FORMATS, known
from fitting.readers.running import with_running
from fitting.readers.settings import COUNTER_NAMES, ReadOptions
from fitting.readers.times import zones
from fitting.readers.told_bytes import note_in, watched

__all__ = ["FORMATS", "read_log"]

Paths = str | Path | Sequence[str | Path]


def read_log(
    paths: Paths,
    *,
    log_format: str | None = None,
    timezone: str | None = None,
    max_broken: float | None = None,
    options: ReadOptions | None = None,
    progress: ProgressCallback | None = None,
) -> RawLog:
    """Read a log from one file, several rotated ones in any order, or standard input (``-``).

    Parameters
    ----------
    paths : path or sequence of paths
        Plain or packed (gzip, bzip2, zstd, xz, zip) files of one format. A file that was given twice is left out once;
        one without deliveries is noted.
    log_format, timezone, max_broken
        Instead of those of `options`.
    options : ReadOptions, optional
        Everything that chooses what is read.
    progress : callable, optional
        Told how many bytes of the files were read, and how many they have; with standard input among them nothing.

    Returns
    -------
    RawLog
        Deliveries in order of time, and the account of everything else.

    Raises
    ------
    InputError
        When there is nothing to read, the format is not known, files differ in format, or too much is broken.

    Notes
    -----
    Cost: one to three microseconds per line and 59 bytes per delivery; blocks of 4 MiB are the only other memory.
    Several files are read by as many processes as `options` says, or by a cluster; the log has the same bits.
    """
    given: dict[str, Any] = {"log_format": log_format, "timezone": timezone, "max_broken": max_broken}
    chosen = replace(options or ReadOptions(), **{name: value for name, value in given.items() if value is not None})
    if chosen.timezone is not None:
        zones.zone(chosen.timezone)
    work = _Reading(chosen, named_reader(chosen))
    listed = listed_paths(paths)
    if len(listed) > 1 and (chosen.cluster is not None or check_workers(chosen.workers) > 1):
        _read_by_workers(work, listed, chosen, progress)
    else:
        work.tell_to(progress, listed)
        for path in listed:
            work.read_path(path, several=len(listed) > 1)
    work.read_unknown()
    return with_running(work.finish(), listed, chosen)


@dataclass(frozen=True)
class _Unknown:
    """A stream whose format is not known by itself: what is wrong with it, and what it is.

    `member`: part of an archive; `cut`: a line without an end, with at most one whole line before it.
    """

    name: str
    error: InputError
    member: bool
    cut: bool


_Apart = tuple[str, list[ReadFile], list[_Unknown]] | InputError


def _read_by_workers(
    work: _Reading, paths: Sequence[str | Path], options: ReadOptions, progress: ProgressCallback | None
) -> None:
    """Paths read by processes or a cluster, taken in their order; standard input is read here."""
    known_sizes = all(Path(path).is_file() for path in paths)
    sizes = [Path(path).stat().st_size if known_sizes else 0 for path in paths]
    with watched(progress if known_sizes else None, sizes) as (places, finished):
        pieces = [(options, str(path), place) for path, place in zip(paths, places) if str(path) != "-"]
        apart = run(_read_apart, pieces, workers=options.workers, cluster=options.cluster)
        for number, path in enumerate(paths):
            if str(path) == "-":
                work.read_path(path, several=True)
            else:
                work.take(path, next(apart))
                finished(number)


def _read_apart(piece: tuple[ReadOptions, str, str]) -> _Apart:
    """One path read in a worker: name of the format, files, streams of unknown format; or what is wrong with it."""
    options, path, place = piece
    work = _Reading(options, named_reader(options))
    if place:
        work.tell_to(note_in(place), [path])
    try:
        work.read_path(path, several=True)
    except InputError as error:
        return error
    return work.told()


class _Reading:
    """One log being read: the format as soon as it is known, and the files that could not be told by themselves."""

    def __init__(self, options: ReadOptions, reader: Reader | None) -> None:
        self._options, self._named, self._used = options, reader, reader
        self._pieces = Pieces(options.max_broken)
        self._unknown: list[tuple[str | Path, _Unknown]] = []
        if reader is not None:
            check_filters(reader, options)
        self._tell: ProgressCallback = lambda *_: None
        self._done = self._bytes = 0

    def tell_to(self, progress: ProgressCallback | None, paths: Sequence[str | Path]) -> None:
        """Tell how far the reading of these paths is, where their sizes are known."""
        if progress is not None and all(Path(path).is_file() for path in paths):
            self._tell, self._bytes = progress, sum(Path(path).stat().st_size for path in paths)

    def read_path(self, path: str | Path, several: bool) -> None:
        """Every stream behind a path; one whose format is not known waits for the others where there are some."""
        with open_sources(path, self._options.member) as sources:
            for source in sources:
                if several or source.archive:
                    source.take_digest()
                try:
                    found = self._named or detect(source, known(), COUNTERS)
                except InputError as error:
                    if not source.archive and (not several or str(path) == "-"):
                        raise
                    head = source.peek(SAMPLE)
                    cut = len(head) < SAMPLE and head.count(b"\n") < 2 and head[-1:] not in (b"", b"\n")
                    self._unknown.append((path, _Unknown(source.name, error, bool(source.archive), cut)))
                    continue
                if self._used is None:
                    check_filters(found, self._options)
                elif found.name != self._used.name:
                    raise _mixed(source.name, found.name, self._used.name, source.archive)
                self._used = found
                self._read(source, found)

    def told(self) -> _Apart:
        """What was read so far, for another process: format, files, and streams whose format is not known."""
        name = "" if self._used is None else self._used.name
        return name, self._pieces.files, [stream for _, stream in self._unknown]

    def take(self, path: str | Path, told: _Apart) -> None:
        """What another process has read of a path."""
        if isinstance(told, InputError):
            raise told
        name, files, unknown = told
        self._unknown += [(path, stream) for stream in unknown]
        if name and self._used is None:
            self._used = next(reader for reader in known() if reader.name == name)
        elif name and self._used is not None and name != self._used.name:
            raise _mixed(files[0].name, name, self._used.name)
        for file in files:
            self._pieces.take(file)

    def read_unknown(self) -> None:
        """Streams that no reader knew: of the format of the others, without deliveries, or refused."""
        if self._unknown and self._used is None:
            raise InputError([fault for _, stream in self._unknown[:SHOWN] for fault in stream.error.faults])
        for path, unknown in self._unknown:
            if unknown.member and (str(path) == "-" or not self._knows_other_lines()):
                # Whoever packed the archive has put other things into it.
                self._pieces.leave_out(unknown.name, unknown.error.faults[0].text)
                continue
            if unknown.cut and not self._knows_other_lines():
                self._pieces.leave_out(unknown.name, f"its last line has no end; {unknown.error.faults[0].text}")
                continue
            self._read_again(path, unknown)

    def _read_again(self, path: str | Path, unknown: _Unknown) -> None:
        """A stream of the format of the others, or refused."""
        assert self._used is not None
        with open_sources(path, self._options.member) as sources:
            for source in sources:
                if source.name == unknown.name:
                    source.take_digest()
                    if not source.peek(SAMPLE).strip() and not source.broken_off:
                        self._pieces.start(source)
                        self._pieces.finish(source)
                    elif self._knows_other_lines():
                        self._read(source, self._used)
                    else:
                        raise unknown.error

    def _knows_other_lines(self) -> bool:
        """Whether files of the format may hold no row at all: logs in which deliveries stand among other messages."""
        return bool(getattr(self._used, "missing", ""))

    def _read(self, source: Source, reader: Reader) -> None:
        self._pieces.start(source)
        try:
            with no_search_for_cycles():
                for columns in reader.read(source, self._options):
                    self._pieces.add(columns)
                    self._tell(self._done + source.taken, self._bytes)
        except NoRows as error:
            self._pieces.without_rows(source, error)
        self._done += source.taken
        self._pieces.finish(source)

    def finish(self) -> RawLog:
        """The log, with at least one row of its format."""
        assert self._used is not None
        options = self._options
        log = self._pieces.assemble(self._used, options)
        missing = getattr(self._used, "missing", "")
        if missing and not log.rows:
            text, _, way_out = missing.partition(" | ")
            raise InputError([Fault(log.files[0], f"{text}; got none in {log.other_lines} lines", way_out)])
        return log


def _mixed(place: str, found: str, before: str, archive: str = "") -> InputError:
    way_out = "Fit them one by one, or name the format with --format."
    if archive:
        way_out = f"Choose members of the archive, for example --member '{place.removeprefix(archive)[1:]}'."
    return InputError.at(place, f"files of one log must have one format; got {found} after {before}", way_out)


def listed_paths(paths: Paths) -> list[str | Path]:
    if not isinstance(paths, Iterable | Path):
        raise InputError.at("log", f"log must be a path or several; got {wrong_object(paths)}")
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    if not listed:
        raise InputError.at("log", "log must be at least one file; got none")
    return listed


def check_filters(reader: Reader, options: ReadOptions) -> None:
    """Refuse a choice that the format cannot obey."""
    for name, option in FILTERS.items():
        if getattr(options, name) and name not in getattr(reader, "filters", ()):
            raise InputError.at(
                option, f"{option} must be left out for the format {reader.name}, which does not tell what it asks for"
            )


def named_reader(options: ReadOptions) -> Reader | None:
    """The reader of the format that was named, or of the pattern; None where the format is to be found."""
    name = options.log_format
    if name is None:
        if options.pattern is None:
            return None
        name = "pattern"
    if name == "pattern":
        if options.pattern is None:
            raise InputError.at("pattern", "pattern must be given for the format 'pattern'; got none")
        compiled(options.pattern)
        return Pattern()
    for reader in known():
        if reader.name == name:
            return reader
    names = ", ".join([*(reader.name for reader in known()), "pattern", *COUNTER_NAMES])
    raise InputError.at("format", f"format must be one of {names}; got {name!r}")
