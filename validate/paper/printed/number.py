"""A printed number: its digits say how precisely it was meant."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal


@dataclass(frozen=True)
class Printed:
    """A number as text, with the unit of its last printed digit.

    Parameters
    ----------
    text : str
    decimals : int, optional
        Decimals that the column keeps, where trailing zeros were dropped in print ("110" among "149.91").

    Examples
    --------
    >>> Printed("89.40").unit
    Decimal('0.01')
    >>> Printed("89.40").agreement(89.4051), Printed("89.40").agreement(89.38)
    ('truncated', '')
    """

    text: str
    decimals: int | None = None

    @property
    def value(self) -> Decimal:
        """The number."""
        return Decimal(self.text)

    @property
    def unit(self) -> Decimal:
        """One unit of the last digit."""
        exponent = int(self.value.as_tuple().exponent)
        return Decimal(1).scaleb(exponent if self.decimals is None else min(exponent, -self.decimals))

    def agreement(self, ours: float) -> str:
        """How `ours` agrees: "rounded", "truncated", both, "within one unit", or "" where it does not."""
        exact = Decimal(ours)
        rounded = self.value in {exact.quantize(self.unit, way) for way in (ROUND_HALF_UP, ROUND_HALF_EVEN)}
        truncated = exact.quantize(self.unit, ROUND_DOWN) == self.value
        if rounded and truncated:
            return "rounded and truncated"
        if rounded or truncated:
            return "rounded" if rounded else "truncated"
        return "within one unit" if abs(exact - self.value) < self.unit else ""

    def renderings(self, number: float) -> tuple[str, ...]:
        """`number` printed with as many decimals, rounded and truncated."""
        exact = Decimal(number)
        made = (str(exact.quantize(self.unit, way)) for way in (ROUND_HALF_UP, ROUND_DOWN))
        return tuple(dict.fromkeys(made))
