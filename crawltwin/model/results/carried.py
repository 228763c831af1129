"""Results that can be saved and sent to another process: what they hold to answer faster is left behind."""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import Any


class Carried:
    """Pickled without its cached properties, which are computed again where they are asked for.

    Factors of matrices and walks that have begun cannot be pickled, and mappings that cannot be written to have to be
    made anew.

    Examples
    --------
    >>> import pickle
    >>> from analytic import solve
    >>> from crawltwin.model import examples
    >>> solution = solve(examples.load("paper"))
    >>> pickle.loads(pickle.dumps(solution)).sojourn.quantile(0.9) == solution.sojourn.quantile(0.9)
    True
    """

    def __getstate__(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The fields, and the names of those that cannot be written to."""
        kinds = type(self).__mro__
        cached = {name for kind in kinds for name, one in vars(kind).items() if isinstance(one, cached_property)}
        held = {name: value for name, value in vars(self).items() if name not in cached}
        closed = tuple(name for name, value in held.items() if isinstance(value, MappingProxyType))
        return held | {name: dict(held[name]) for name in closed}, closed

    def __setstate__(self, state: tuple[dict[str, Any], tuple[str, ...]]) -> None:
        held, closed = state
        vars(self).update(held | {name: MappingProxyType(held[name]) for name in closed})
