"""Pictures on a telephone: letters that can be read, nothing cut off, times with their unit."""

import re

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from crawltwin.model import examples
from crawltwin.pages.regions import cost_curves, policy_map, sweep_in_words, sweep_picture
from crawltwin.plan.what_if.axes import read_axis
from crawltwin.plan.what_if.sweeps import sweep
from crawltwin.report import Figure, draw, style_axes
from crawltwin.report.drawing import WIDTH

NARROW = 390 - 2 * 16
"""CSS pixels that a picture has on a telephone."""
READABLE = 11
"""CSS pixels, the smallest letters that are asked for."""


def many_policies() -> Figure:
    grid = [[f"4,3,1@{x},{x + y}" for x in range(6)] for y in range(5)]
    return policy_map(
        "map", ("mean time until obsolete, s", "weight of loss in the cost"), (range(1, 7), range(1, 6)), grid
    )


def curves() -> Figure:
    costs = {"best policy": [3.0, 2.0, 1.0]} | {f"{n} always": [n + 3.0] * 3 for n in range(1, 6)}
    return cost_curves("curves", "pages in the system at most", [1, 2, 3], costs, ["1", "2,1@1", "2,1@1"])


def long_words() -> Figure:
    def paint(axes):
        axes.plot([1, 2], [1, 2], label="95% band of the model of the crawl")
        axes.plot([1, 2], [2, 1], label="intervals of the recorded trace")
        style_axes(
            axes, "seconds (for intervals: number of gaps times their mean)", "share of all gaps that are longer"
        )

    return draw("words", paint, "A caption.", "Two lines.")


def many_decades() -> Figure:
    def paint(axes):
        axes.plot([1e-3, 1e5], [1e-6, 1.0], label="trace")
        axes.set_xscale("log")
        axes.set_yscale("log")
        style_axes(axes, "gap, s", "share of longer gaps")

    return draw("decades", paint, "A caption.", "One line.")


PICTURES = pytest.mark.parametrize("picture", [many_policies, curves, long_words, many_decades])


def height_of(svg: str) -> float:
    return float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', svg).group(1)) / 72


@PICTURES
def test_letters_can_be_read_on_a_telephone(picture):
    svg = picture().svg
    wide = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg).group(1))
    letters = [float(size) for size in re.findall(r"font(?:-size)?: ?(?:bold )?([\d.]+)px", svg)]
    assert letters
    assert min(letters) * NARROW / wide >= READABLE


@PICTURES
def test_no_words_leave_the_picture(picture):
    drawn = picture()
    canvas = Canvas(figsize=(WIDTH, height_of(drawn.svg)), layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.add_subplot()
    from matplotlib import rc_context

    with rc_context({"font.size": 11}):
        drawn.painter(axes)
        canvas.draw_without_rendering()
    inside = canvas.bbox.padded(1)
    shown = [axes.xaxis.label, axes.yaxis.label, axes.get_legend()]
    for words in shown:
        box = words.get_window_extent()
        assert inside.x0 <= box.x0 and box.x1 <= inside.x1, words
        assert inside.y0 <= box.y0 and box.y1 <= inside.y1, words
    # The map is not squeezed by its own legend.
    assert axes.get_window_extent().height >= 0.35 * canvas.bbox.height


def test_times_of_a_plans_sweep_have_their_unit():
    found = sweep(examples.load("paper"), [read_axis("obsolescence.mean=600,7200")], workers=1)
    assert "mean time until obsolete, s" in sweep_picture(found, "what-if", unit="s").caption
    told = sweep_in_words(found, "3,1@2")
    assert re.search(r"mean time until obsolete: (10 minutes|2 hours)\.$", told), told


def test_the_last_number_of_an_axis_is_not_cut_off():
    """Wide numbers at the side and a last number near the end: for it no room was left."""

    def paint(axes):
        axes.plot([0, 16.8], [2e-3, 172_800], ".", label="gap")
        axes.set_yscale("log")
        style_axes(axes, "days since the first page", "gap, s")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")

    svg = draw("cut", paint, "A caption.", "Points.").svg
    wide = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg).group(1))
    at = float(re.search(r'text-anchor: middle[^"]*" x="([\d.]+)"[^>]*>17\.5<', svg).group(1))
    assert at + 12 < wide  # half of four figures of 11 px
