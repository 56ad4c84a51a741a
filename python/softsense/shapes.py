"""Shapes of JSON documents of unknown origin, and the first place where a document does not have its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any

_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}
_MOST_SHOWN = 40


@dataclass(frozen=True)
class Between:
    """Numbers from `least` to `most`, both included."""

    least: float
    most: float


Shape = Any
"""A type or a union of types, `Between`, a frozenset of values, a list with the shape of all elements, a tuple with the
shape of each element, or a mapping of keys to shapes.

A key that ends in `?` may be missing, and `*` stands for all keys. Keys that are not named are allowed.
"""


def misfit(found: Any, shape: Shape, place: str = "") -> str | None:
    """A message with the place where a document does not fit a shape, and the two values; None if it fits.

    >>> misfit({"count": 1, "history": [[0, 0.5], [1, "x"]]}, {"count": int, "history": [(float, float)]})
    '`history[1][1]`: found `x`, expected a number'
    """
    if isinstance(shape, Mapping):
        if not isinstance(found, dict):
            return _told(found, "an object", place)
        below = []
        for key, each in shape.items():
            name = key.removesuffix("?")
            if key == "*":
                below += [(found[name], each, f"{place}.{name}") for name in found]
            elif name in found:
                below.append((found[name], each, f"{place}.{name}"))
            elif name == key:
                return f"found no `{f'{place}.{name}'.lstrip('.')}`"
    elif isinstance(shape, list | tuple):
        if not isinstance(found, list) or (isinstance(shape, tuple) and len(found) != len(shape)):
            return _told(found, f"a list of {len(shape)}" if isinstance(shape, tuple) else "a list", place)
        shapes = shape if isinstance(shape, tuple) else shape * len(found)
        below = [(each, of, f"{place}[{i}]") for i, (each, of) in enumerate(zip(found, shapes, strict=True))]
    else:
        return None if _fits(found, shape) else _told(found, _expected(shape), place)
    return next(filter(None, (misfit(*each) for each in below)), None)


def _fits(found: Any, shape: Shape) -> bool:
    if isinstance(shape, frozenset):
        return isinstance(found, str) and found in shape
    # bool is an int in Python, and an int counts as a float.
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if isinstance(shape, Between):
        return is_number and shape.least <= found <= shape.most
    kinds = shape.__args__ if isinstance(shape, UnionType) else (shape,)
    return any(
        is_number and (kind is float or isinstance(found, kind)) if kind in (int, float) else isinstance(found, kind)
        for kind in kinds
    )


def _expected(shape: Shape) -> str:
    if isinstance(shape, frozenset):
        return f"one of {', '.join(sorted(shape))}"
    if isinstance(shape, Between):
        return f"a number from {shape.least:g} to {shape.most:g}"
    return " or ".join(_NAMES[kind] for kind in (shape.__args__ if isinstance(shape, UnionType) else (shape,)))


def _told(found: Any, expected: str, place: str) -> str:
    what = {dict: "an object", list: "a list", NoneType: "null"}.get(type(found)) or f"`{str(found)[:_MOST_SHOWN]}`"
    at = f"`{place.lstrip('.')}`: " if place else ""
    return f"{at}found {what}, expected {expected}"
