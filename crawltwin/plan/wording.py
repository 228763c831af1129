"""Times, shares and numbers as people write them: read from words, and put into words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from crawltwin.model import Policy
from crawltwin.model.errors import InputError
from crawltwin.model.measures import unit_of


def read_share(text: Any) -> float:
    """A share from a number, or from a percentage; a 1 that was typed without its sign is refused.

    Examples
    --------
    >>> read_share("1%"), read_share("0.05")
    (0.01, 0.05)
    """
    words = str(text).strip()
    try:
        value = float(words.removesuffix("%")) / (100 if words.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if isinstance(text, str) and value == 1 and not words.endswith("%"):
        raise InputError(f"a share of 1 may mean 1% or all, so it must be written 1% or 100%; got {text!r}")
    if not 0 <= value <= 1:
        raise InputError(f"a share must be a percentage or a number from 0 to 1, such as 1% or 0.01; got {text!r}")
    return value


Kind = Literal["share", "time", "rate", "frequency", "pages", "number"]
UNIT_OF_KIND: dict[Kind, str] = {
    "share": "share", "time": "s", "rate": "pages/s", "frequency": "1/s", "pages": "pages", "number": "",
}  # fmt: skip
_TIMES = ((86_400.0, " days"), (3_600.0, " hours"), (60.0, " minutes"))
_RATES = ((1.0, "per second"), (3_600.0, "per hour"), (86_400.0, "per day"))


def kind_of(measure: str) -> Kind:
    """Of which kind the values of a measure are; times of a plan are in seconds.

    Examples
    --------
    >>> kind_of("loss_probability"), kind_of("arrival_rate"), kind_of("switch_rate"), kind_of("mean_pages")
    ('share', 'rate', 'frequency', 'pages')
    """
    kinds: dict[str, Kind] = {
        "probability": "share", "time": "time", "pages/time": "rate", "1/time": "frequency", "pages": "pages",
    }  # fmt: skip
    return "rate" if measure == "indexed_rate" else kinds.get(unit_of(measure), "number")


def in_time(seconds: float, digits: int = 3) -> str:
    """A duration in the unit that people would use.

    Examples
    --------
    >>> in_time(90.0), in_time(5.0 * 86_400), in_time(68.6 * 86_400, digits=2)
    ('90 s', '5 days', '69 days')
    """
    if math.isinf(seconds):
        return "never"
    factor, unit = _unit(seconds, "time")
    return _digits(factor * seconds, digits) + unit


def unit_of_time(seconds: float) -> tuple[float, str]:
    """What seconds are multiplied by to be in the unit that people would use for so many of them, and that unit.

    Examples
    --------
    >>> unit_of_time(90.0), unit_of_time(7_200.0)[1]
    ((1.0, 'seconds'), 'hours')
    """
    factor, unit = _unit(seconds, "time")
    return factor, {"s": "seconds"}.get(unit.strip(), unit.strip())


def unit_of_rate(rate: float) -> tuple[float, str]:
    """What pages per second are multiplied by to be in the unit that people would use for so many, and that unit.

    Examples
    --------
    >>> unit_of_rate(0.05), unit_of_rate(12.0)[1]
    ((3600.0, 'pages per hour'), 'pages per second')
    """
    factor, unit = _unit(rate, "rate")
    return factor, unit.strip()


def in_percent(share: float) -> str:
    """A share as a percentage with three digits, never a bare 0 or 100 for something that is not all or nothing.

    Examples
    --------
    >>> in_percent(0.01234), in_percent(0.0), in_percent(2e-7)
    ('1.23%', '0%', 'less than 0.001%')
    >>> in_percent(0.999867), in_percent(1.0), in_percent(1 - 2e-7)
    ('99.987%', '100%', 'more than 99.999%')
    """
    return with_interval(share, kind="share")


def with_interval(
    value: float, low: float = math.nan, high: float = math.nan, *, kind: Kind = "number", like: float | None = None
) -> str:
    """A value in its unit, with its interval where there is one, rounded to what the interval allows.

    `like` is the value whose unit is taken where several stand side by side.

    Examples
    --------
    >>> with_interval(0.1862, 0.115, 0.218, kind="share"), with_interval(0.0511, 0.04, 0.0594, kind="rate")
    ('19% (12 to 22)', '184 (144 to 214) pages per hour')
    >>> with_interval(0.0032, kind="frequency")
    '11.5 per hour'
    >>> with_interval(2e-7, 0.0, 0.0115, kind="share"), with_interval(2e-7, 0.0, 1e-6, kind="share")
    ('less than 0.001% (up to 1.15%)', 'less than 0.001%')
    """
    factor, unit = _unit(value if like is None else like, kind)
    if kind == "share" and 0 < value < 1e-5:
        return "less than 0.001%" + (f" (up to {_digits(100 * high, 3)}%)" if high >= 1e-5 else "")
    if not (math.isfinite(low) and math.isfinite(high)) or high - low <= 1e-9 * abs(value):
        return _near_all(value) if kind == "share" and 0.9995 <= value < 1 else _digits(factor * value, 3) + unit
    text, *ends = (rounded(factor * one, factor * low, factor * high) for one in (value, low, high))
    interval = f" ({ends[0]} to {ends[1]})"
    return text + unit + interval if kind == "share" else text + interval + unit


def _near_all(share: float) -> str:
    """A share just below 1, told by what is missing: two digits of that."""
    if share > 1 - 1e-5:
        return "more than 99.999%"
    return f"{100 * share:.{1 - math.floor(math.log10(100 * (1 - share)))}f}%"


def _unit(value: float, kind: Kind) -> tuple[float, str]:
    """What a value is multiplied by, and the unit that it then has."""
    if kind == "share":
        return 100.0, "%"
    if kind == "time":
        return next(((1 / size, unit) for size, unit in _TIMES if value >= 2 * size), (1.0, " s"))
    if kind in ("rate", "frequency"):
        size, unit = next((one for one in _RATES if value * one[0] >= 1), _RATES[-1])
        return size, f" pages {unit}" if kind == "rate" else f" {unit}"
    return 1.0, " pages" if kind == "pages" else ""


def rounded(value: float, low: float, high: float) -> str:
    """A number to the place that its interval allows: of the half width one digit, or two where it begins below 3.55.

    Value and ends of an interval have the same number of places, zeros at the end included.

    Examples
    --------
    >>> rounded(12.34567, 11.9, 12.8), rounded(12.34567, 12.1, 12.6), rounded(12.6, 12.1, 12.6)
    ('12.3', '12.35', '12.60')
    """
    half, largest = (high - low) / 2, max(abs(value), abs(low), abs(high))
    if not math.isfinite(half) or half <= 0 or not _EVERYDAY[0] <= largest < _EVERYDAY[1]:
        return _digits(value, 3)
    place = math.floor(math.log10(half))
    places = (1 if half < 3.55 * 10**place else 0) - place
    places = min(places, 5 - math.floor(math.log10(largest)))
    return f"{round(value, places) + 0.0:,.{max(0, places)}f}"


_EVERYDAY = (1e-4, 1e12)
"""Sizes of numbers that are written without a power of ten."""


def _digits(value: float, digits: int) -> str:
    """A number to so many digits, in plain notation with separators for thousands where it is of everyday size."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    if not _EVERYDAY[0] <= abs(value) < _EVERYDAY[1]:
        return f"{value:.{digits}g}"
    text = f"{round(value, places):,.{max(0, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_NUMBERS: dict[str, tuple[str, Kind]] = {
    "page_rate": ("pages delivered", "rate"),
    "batch_rate": ("batches per second", "number"),
    "interval": ("interval", "time"),
    "mean_count": ("pages per interval", "number"),
    "count_dispersion": ("dispersion of the counts", "number"),
    "mean_gap": ("mean gap between batches", "time"),
    "variance": ("variance of the gaps, s²", "number"),
    "scv": ("squared coefficient of variation", "number"),
    "third_moment": ("third moment of the gaps, s³", "number"),
    "gap_median": ("median gap", "time"),
    "mean_batch": ("pages per batch", "number"),
    "dispersion": ("index of dispersion in the long run", "number"),
}
_FAMILIES: dict[str, tuple[str, Kind]] = {
    "correlation": ("correlation at lag {}", "number"),
    "gap_quantile": ("gap at the quantile of {}%", "time"),
    "batch_size": ("batches of {}", "share"),
}


def number_words(name: str) -> tuple[str, Kind]:
    """A number of a trace or of a fitted process, for people, and of which kind it is.

    Examples
    --------
    >>> number_words("mean_gap"), number_words("batch_size_3")
    (('mean gap between batches', 'time'), ('batches of 3', 'share'))
    """
    family, _, which = name.rpartition("_")
    if family in _FAMILIES:
        words, kind = _FAMILIES[family]
        return words.format(which.lstrip("0") or "0"), kind
    return _NUMBERS.get(name, (name.replace("_", " "), "number"))


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence.

    Examples
    --------
    >>> listed(["losses"]), listed(["deliveries", "losses", "stale pages"])
    ('losses', 'deliveries, losses and stale pages')
    """
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def instruction(policy: Policy, capacity: int) -> str:
    """The policy as an instruction.

    Examples
    --------
    >>> from crawltwin.model import ThresholdPolicy
    >>> instruction(ThresholdPolicy([4, 1], [4]), 20)
    'Run 4 robots while at most 4 pages await indexing, otherwise 1.'
    """
    table = policy.robots_by_level(capacity)
    ends = [level for level in range(capacity) if table[level] != table[level + 1]]
    if not ends:
        return f"Run {_robots(table[0])} always."
    first, *rest = [(level, table[level]) for level in ends]
    held = "no page awaits indexing" if first[0] == 0 else f"at most {_pages(first[0])} indexing"
    middle = "".join(f", {_robots(robots)} up to {level}" for level, robots in rest)
    return f"Run {_robots(first[1])} while {held}{middle}, otherwise {table[-1]}."


def named(short: str) -> str:
    """A policy in its short form; in words where that would be a bare number.

    Examples
    --------
    >>> named("4,1@4"), named("1"), named("3")
    ('4,1@4', '1 robot always', '3 robots always')
    """
    return f"{_robots(int(short))} always" if short.isdigit() else short


def gain_in_words(percent: float, fixed: bool) -> str:
    """The cost of a policy beside that of the best fixed number of robots; one for two readings may cost more in one.

    Examples
    --------
    >>> gain_in_words(12.34, fixed=False), gain_in_words(0.0, fixed=True)
    ('12.3% below the best fixed number of robots', 'the least of all numbers of robots that never change')
    """
    if fixed and percent < 0.05:
        return "the least of all numbers of robots that never change"
    size = f"{abs(percent):.1f}%" if abs(percent) >= 0.05 else "less than 0.1%"
    return f"{size} {'below' if percent >= 0 else 'above'} the best fixed number of robots"


def is_told(clause: str, text: str) -> bool:
    """Whether every part of a clause stands in a text already, whatever the case of its first letters.

    Examples
    --------
    >>> is_told("the clock is coarse; the log is short", "The log is short. The clock is coarse.")
    True
    """
    return all(part.strip(" .").lower() in text.lower() for part in clause.split("; "))


def _robots(count: int) -> str:
    return f"{count} robot{'s' if count != 1 else ''}"


def _pages(count: int) -> str:
    return f"{count} page{'s await' if count != 1 else ' awaits'}"
