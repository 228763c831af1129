"""Where else a printed number could come from: a slip of the pen, or another place of the same table.

A misprint is called one only when the printed digits are explained. Explanations are tried from the nearest to the
farthest, and the first that fits is told; how many were tried is told too, because among thousands of policies some
number fits by chance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from validate.paper.printed.number import Printed


@dataclass(frozen=True)
class NearbyValue:
    """Another place or policy whose value might have been printed here.

    Parameters
    ----------
    kind : str
        For example "row below" or "other policy".
    words : str
        What it is, as the end of the sentence "the printed digits are ...".
    value : float
    next_row : bool
        Whether it stands in the row above or below: nearer than a slip of the pen.
    """

    kind: str
    words: str
    value: float
    next_row: bool = False


@dataclass(frozen=True)
class Explanation:
    """A candidate that fits, with the number of candidates tried up to it."""

    kind: str
    words: str
    tried: int


def slip_of_the_pen(printed: Printed, ours: float) -> Explanation | None:
    """One wrong digit, two digits exchanged, a sign, or the decimal point: the printed text against ours.

    Examples
    --------
    >>> slip_of_the_pen(Printed("52.07"), 51.0774).words
    'one digit is wrong: 51.07 became 52.07'
    >>> slip_of_the_pen(Printed("3.48"), -3.48).kind
    'sign'
    """
    shown = format(printed.value.quantize(printed.unit), "f")
    for tried, text in enumerate(printed.renderings(ours), start=1):
        if text.lstrip("-") == shown.lstrip("-"):
            return Explanation("sign", f"the sign is wrong: {text} became {shown}", tried)
        if len(text) != len(shown):
            continue
        wrong = [index for index, (a, b) in enumerate(zip(text, shown, strict=True)) if a != b]
        if len(wrong) == 1 and text[wrong[0]].isdigit() and shown[wrong[0]].isdigit():
            return Explanation("digit", f"one digit is wrong: {text} became {shown}", tried)
        exchanged = len(wrong) == 2 and wrong[1] - wrong[0] == 1
        if exchanged and text[wrong[0]] + text[wrong[1]] == shown[wrong[1]] + shown[wrong[0]]:
            return Explanation("digits exchanged", f"two digits changed places: {text} became {shown}", tried)
    for power, words in ((10.0, "ten times"), (0.1, "a tenth of")):
        if Printed(printed.text).agreement(ours * power) and ours:
            return Explanation("decimal point", f"the decimal point moved: the print is {words} {ours:.6g}", 4)
    return None


def explain(printed: Printed, ours: float, candidates: Iterable[NearbyValue]) -> Explanation | None:
    """The nearest explanation of digits that are not ours: candidates in their order, the pen's slip in between.

    Candidates of the next rows are nearer than a slip of the pen, all others farther.
    """
    slip = slip_of_the_pen(printed, ours)
    for tried, candidate in enumerate(candidates, start=1):
        if slip is not None and not candidate.next_row:
            return slip
        if printed.agreement(candidate.value):
            return Explanation(candidate.kind, f"the printed digits are {candidate.words}", tried)
    return slip
