"""Which pages of one column chunk may match a comparison, by binary search in verified bounds.

A writer's boundary order is a claim. The caller makes it again from the bounds before it searches by it: a
search by an order that does not hold loses rows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import ordered_numbers, valid_flags
from parquet_core.predicate import Op

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Side = Literal["left", "right"]
    Search = Callable[[Any, Side], int]


def matching_pages(
    op: Op, lower: pa.Array, upper: pa.Array, value: pa.Scalar, *, descending: bool = False
) -> NDArray[np.int64]:
    """Return the pages that may hold a value `x` with `x op value`, in ascending order.

    `lower` and `upper` ascend (or descend) from page to page, null in null pages alone, which never match. The
    value has their type; NaN is none. Where the order holds the answer is that of a look at every page.

    >>> matching_pages(Op.GT, pa.array([1, None, 3]), pa.array([3, None, 7]), pa.scalar(3)).tolist()
    [2]
    """
    (pages,) = np.nonzero(valid_flags(lower) & valid_flags(upper))
    if len(pages) < len(lower):
        lower, upper = lower.take(pages), upper.take(pages)
    in_lower, in_upper = _searcher(lower, descending=descending), _searcher(upper, descending=descending)
    matched = _matched(op, in_lower, in_upper, _plain(value), len(pages))
    return pages[(len(pages) - 1 - matched)[::-1] if descending else matched]


def _matched(op: Op, in_lower: Search, in_upper: Search, value: Any, count: int) -> NDArray[np.int64]:
    match op:
        case Op.LT:
            return np.arange(in_lower(value, "left"))
        case Op.LE:
            return np.arange(in_lower(value, "right"))
        case Op.GT:
            return np.arange(in_upper(value, "right"), count)
        case Op.GE:
            return np.arange(in_upper(value, "left"), count)
        case Op.EQ:
            return np.arange(in_upper(value, "left"), in_lower(value, "right"))
        case Op.NE:
            # All but the pages whose both bounds are the value.
            first = in_lower(value, "left")
            return np.concatenate([np.arange(first), np.arange(max(first, in_upper(value, "right")), count)])


def _searcher(values: pa.Array, *, descending: bool) -> Search:
    """Return a search for a value in an array that ascends once it is turned round if it descends."""
    numbers = ordered_numbers(values)
    if numbers is not None:
        ascending = numbers[::-1] if descending else numbers
        return lambda value, side: int(np.searchsorted(ascending, value, side))
    ordered = _Lazily(values, descending=descending)
    return lambda value, side: (bisect_left if side == "left" else bisect_right)(ordered, value)


class _Lazily:
    """The values of an array as Python's own, made when they are looked at."""

    def __init__(self, values: pa.Array, *, descending: bool) -> None:
        self._values = values
        self._last = len(values) - 1 if descending else None

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> Any:
        return self._values[index if self._last is None else self._last - index].as_py()


def _plain(value: pa.Scalar) -> Any:
    numbers = ordered_numbers(pa.repeat(value, 1))
    return value.as_py() if numbers is None else numbers[0]
