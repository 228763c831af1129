"""The names of the methods; in a module of their own, because help is shown without loading a solver."""

from __future__ import annotations

from typing import Literal, get_args

Method = Literal["auto", "direct", "block", "qbd", "banded", "matrix-free", "window"]
METHODS: tuple[str, ...] = get_args(Method)
