"""Vector pictures whose bytes depend on the numbers alone, legible on light and on dark paper.

Colours are drawn as fixed stand-ins; the page replaces them by its own variables, so one picture serves both
themes.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crawltwin.report.blocks import Figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

INK = "#1b1f24"
FAINT = "#8a919a"
COLOURS = ("#0b62b5", "#b3470f", "#20743a", "#7a3b9a", "#8a6500", "#0c7a86")
"""Series colours on light paper; each reaches a contrast of 4.5 on white."""
MARKERS = ("o", "s", "^", "D", "v", "P")
"""A marker for each colour, so that no curve is told by its colour alone."""

WIDTH = 4.8
"""Inches. All pictures have one width, so that their letters have one size: on a telephone of 390 px about 11 px."""

_DARK = ("#6db3f2", "#f0935a", "#62c281", "#c79be0", "#d9b84a", "#58c4cf")


def draw(
    name: str,
    painter: Callable[[Axes], None],
    caption: str,
    alternative: str,
    *,
    height: float = 3.3,
    data: Mapping[str, Any] | None = None,
) -> Figure:
    """Let `painter` draw on one pair of axes and return the picture as a block.

    Parameters
    ----------
    name : str
        Lower-case letters, digits, hyphens; unique in the report.
    painter : callable
        Gets the axes. Take colours from `COLOURS`, markers from `MARKERS`.
    caption, alternative : str
        What to see; the picture in words.
    height : float
        Inches, of a picture that is `WIDTH` inches wide.
    data : mapping, optional
        The numbers behind the picture.

    Notes
    -----
    Cost: about 50 ms per picture, and half a second for the first. No global state of matplotlib is touched.
    """
    from cycler import cycler
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas
    from matplotlib.ticker import FixedLocator

    settings: dict[Any, Any] = {
        "svg.hashsalt": name,
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 11,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": FAINT,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": FAINT,
        "grid.alpha": 0.35,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "lines.markersize": 5,
        "legend.frameon": False,
        "axes.prop_cycle": cycler(color=list(COLOURS), marker=list(MARKERS)),
    }
    with rc_context(settings):
        canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(canvas)
        axes = canvas.add_subplot()
        painter(axes)
        # Axes that grow while the picture is laid out may get one more label, for which no room was left: not any more.
        canvas.draw_without_rendering()
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "linear":
                axis.set_major_locator(FixedLocator(axis.get_majorticklocs().tolist()))
        stream = io.StringIO()
        canvas.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return Figure(name, _tidy(stream.getvalue(), name), caption, alternative, data or {}, painter)


LINE = 42
"""Letters of a line below or beside the axes."""
FEW_DECADES = 300.0
"""Ratio of the ends of a logarithmic axis below which 1, 2, 5 times the powers of ten are labelled."""


def style_axes(axes: Axes, x: str, y: str, *, whole_x: bool = False, legend: bool = True) -> None:
    """Labels, whole numbers on the horizontal axis where asked, and a legend where there are series."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel(textwrap.fill(x, LINE))
    axes.set_ylabel(textwrap.fill(y, LINE))
    if whole_x:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    plain_powers(axes)
    if legend and axes.get_legend_handles_labels()[1]:
        legend_above(axes)


def plain_powers(axes: Axes) -> None:
    """Logarithmic axes with plain numbers: raised exponents would be too small to be read on a telephone."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() != "log":
            continue
        low, high = sorted(axis.get_view_interval())
        if high < FEW_DECADES * low:
            # Powers of ten alone would be one or two, and the labels between them that matplotlib adds overlap.
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
        axis.set_minor_formatter(NullFormatter())


def short_number(value: float) -> str:
    """A number of an axis: thousands and millions by a letter.

    Examples
    --------
    >>> [short_number(value) for value in (0.001, 20, 1000, 50_000, 1e6)]
    ['0.001', '20', '1000', '50k', '1M']
    """
    factor, letter = (1e-6, "M") if value >= 1e6 else (1e-3, "k") if value >= 1e4 else (1.0, "")
    return f"{value * factor:g}{letter}"


def legend_above(axes: Axes, handles: Sequence[Artist] | None = None) -> None:
    """A legend over the axes: inside them it would hide what is drawn, beside them it would take their width."""
    shown = axes.get_legend_handles_labels()[0] if handles is None else handles
    columns = legend_columns([str(handle.get_label()) for handle in shown])
    axes.legend(
        handles=shown, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, columnspacing=1.2,
        handlelength=1.6, handletextpad=0.5,
    )  # fmt: skip


def legend_columns(labels: Sequence[str]) -> int:
    """As many columns of a legend as the width of a picture holds."""
    letters, mark = 54, 6  # in a line of a picture's width; before an entry stands a mark that takes the room of six
    if sum(len(label) + mark for label in labels) <= letters:
        return len(labels)
    return max(1, min(len(labels) - 1, letters // (mark + max(map(len, labels)))))


def themed(svg: str) -> str:
    """The picture with its stand-in colours replaced by the page's variables."""
    for index, colour in enumerate(COLOURS, start=1):
        svg = svg.replace(colour, f"var(--series-{index})")
    return svg.replace(INK, "var(--ink)").replace(FAINT, "var(--faint)")


def theme_variables(dark: bool) -> str:
    """CSS of the series colours."""
    return "".join(f"--series-{index}:{colour};" for index, colour in enumerate(_DARK if dark else COLOURS, start=1))


def _tidy(svg: str, name: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    # Several pictures share a page: their inner names must not meet.
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", svg)
    return svg.strip() + "\n"
