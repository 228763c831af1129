"""How a result shows itself: a few lines in a terminal, a table in a notebook, a picture on request.

A result says what it is in one sentence (`headline`) and gives a frame (`to_frame`); the rest follows from these two.
Pictures are made where all pictures are made, in `crawltwin.pages`; it is opened when one is asked for, so a room that
computes never knows matplotlib.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from crawltwin.model.measures import MEASURES
from crawltwin.model.results.carried import Carried

if TYPE_CHECKING:
    import pandas as pd

ROWS = 40
"""Rows of a frame that a notebook shows at most."""


class Shown(Carried, ABC):
    """A result with a headline and a frame."""

    @abstractmethod
    def headline(self) -> str:
        """What was found, in one sentence."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """The result as a table; units stand in a column ``unit``, or by column in ``attrs["units"]``."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.headline()}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the headline, the table with units and meanings, what the reader must know."""
        told: tuple[str, ...] = getattr(self, "warnings", ()) or getattr(self, "notes", ())
        notes = "".join(f"<li>{escape(words)}</li>" for words in told)
        return f"<p><strong>{escape(self.headline())}</strong></p>{frame_as_html(self.to_frame())}" + (
            f"<ul>{notes}</ul>" if notes else ""
        )


class Drawn(Shown):
    """A result that a picture tells more about."""

    def plot(self, picture: str | None = None, axes: Any = None, **options: Any) -> Any:
        """A picture of the result, which a notebook shows; the first of its kind unless another one is named.

        Parameters
        ----------
        picture : str, optional
            Which one; a name that is not there is answered by those that are.
        axes : matplotlib axes, optional
            Paint on these instead, and return them.
        options
            What the picture asks for, such as the two criteria of a front.
        """
        made = import_module("crawltwin.pages.notebook.choice").picture_of(self, picture, options)
        return made if axes is None else made.paint(axes)


def measure_of(measures: Mapping[str, Any], name: str) -> Any:
    """A measure by its name; a name that is not there is answered by the nearest that is."""
    try:
        return measures[name]
    except KeyError:
        from difflib import get_close_matches

        near = get_close_matches(str(name), measures, 1)
        way = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(measures)}."
        raise KeyError(f"measure must be one that this result has; got {name!r}. {way}") from None


def shown_as_html(headline: str, columns: Mapping[str, Any]) -> str:
    """A headline and columns of equal length, as a notebook shows them."""
    import pandas as pd

    return f"<p><strong>{escape(headline)}</strong></p>{frame_as_html(pd.DataFrame(columns))}"


def frame_as_html(frame: pd.DataFrame) -> str:
    """A frame for people: numbers to six digits, units in the heads, the meaning of each measure, no long tails."""
    units = frame.attrs.get("units", {})
    if "level" in frame and frame["level"].notna().any():
        frame = frame[frame["level"].isna()].drop(columns="level")
    if "measure" in frame:
        meanings = [MEASURES[name].words if name in MEASURES else "" for name in frame["measure"]]
        frame = frame.assign(meaning=meanings) if any(meanings) else frame
    shown = frame.head(ROWS)
    heads = "".join(
        f'<th style="text-align:left;padding:.2rem .6rem">{escape(str(name))}'
        + (f"<br><small>{escape(units[name])}</small>" if name in units else "")
        + "</th>"
        for name in shown
    )
    rows = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:left;padding:.2rem .6rem">{escape(_cell(value))}</td>' for value in row)
        + "</tr>"
        for row in shown.itertuples(index=False, name=None)
    )
    more = f"<p>{len(frame) - ROWS:,} more rows: <code>to_frame()</code> has them.</p>" if len(frame) > ROWS else ""
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div style="overflow-x:auto">{table}</div>{more}'


def _cell(value: Any) -> str:
    import pandas as pd

    if isinstance(value, tuple | list):
        return ", ".join(map(_cell, value))
    if pd.isna(value):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
