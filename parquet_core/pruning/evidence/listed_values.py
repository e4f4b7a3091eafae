"""Sorted values of an IN list, searched for bounds."""

from __future__ import annotations

import weakref
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, ordered_numbers
from parquet_core.ranks import ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.arrays import Numbers


class ListedValues(NamedTuple):
    """Sorted values of a list.

    `runs`: a number per value; two values share it if every value between them is listed. `plain`: the sorted values in
    a form that numpy or Python can search; None if Arrow has to rank them.
    """

    ascending: pa.Array
    runs: Numbers
    plain: NDArray[Any] | list[bytes] | None

    def places(self, bounds: pa.Array) -> Numbers:
        """Return the place of each bound among the values.

        The place is `2 * i + 1` for a bound equal to the i-th value, and `2 * i` for one between it and the value
        before. The place of a null is arbitrary.

        >>> listed_values(pa.array([10, 20]), pa.int64()).places(pa.array([5, 10, 15, 20, 25])).tolist()
        [0, 1, 2, 3, 4]
        """
        if isinstance(self.plain, np.ndarray):
            return _placed(self.plain, ordered_numbers(bounds))
        if self.plain is not None and len(bounds) < len(self.plain):
            return _placed_texts(self.plain, bounds.to_pylist())
        own, others = ranks(self.ascending, bounds)
        return _placed(own, others)

    def between(self, low: pa.Scalar, high: pa.Scalar) -> pa.Array:
        """Return the values from `low` to `high`; null is no limit.

        Both limits are included.
        """
        first, stop = 0, len(self.ascending)
        if low.is_valid:
            first = int(self.places(pa.repeat(low, 1))[0]) // 2
        if high.is_valid:
            stop = (int(self.places(pa.repeat(high, 1))[0]) + 1) // 2
        return self.ascending[first : max(first, stop)]


def _placed(ordered: NDArray[Any], bounds: NDArray[Any] | None) -> Numbers:
    assert bounds is not None
    first = np.searchsorted(ordered, bounds)
    places: Numbers = 2 * first + (ordered[np.minimum(first, len(ordered) - 1)] == bounds)
    return places


def _placed_texts(ordered: list[bytes], bounds: list[bytes | None]) -> Numbers:
    positions = np.zeros(len(bounds), np.int64)
    for i, bound in enumerate(bounds):
        if bound is not None:
            first = bisect_left(ordered, bound)
            positions[i] = 2 * first + (first < len(ordered) and ordered[first] == bound)
    return positions


# Keyed by the identity of a live array.
_KNOWN: dict[tuple[int, pa.DataType], ListedValues] = {}


def listed_values(values: pa.Array, arrow_type: pa.DataType) -> ListedValues:
    """Return the sorted values, cast to `arrow_type`; at least one value.

    The result is cached as long as the array lives. `arrow_type`: usually the type of bounds.
    """
    key = id(values), arrow_type
    listed = _KNOWN.get(key)
    if listed is None:
        listed = _listed(values.cast(arrow_type))
        _KNOWN[key] = listed
        weakref.finalize(values, _KNOWN.pop, key, None).atexit = False
    return listed


def _listed(values: pa.Array) -> ListedValues:
    numbers = None if pa.types.is_floating(values.type) else ordered_numbers(values)
    if numbers is not None:
        ordered = values.take(from_numpy(np.argsort(numbers, kind="stable")))
        return ListedValues(ordered, _runs(ordered), ordered_numbers(ordered))
    if pa.types.is_binary(values.type):
        ordered = values if _is_ascending(values) else values.take(pc.sort_indices(values))
        return ListedValues(ordered, _runs(ordered), ordered.to_pylist())
    (order,) = ranks(values)
    ordered = values.take(from_numpy(np.argsort(order, kind="stable")))
    return ListedValues(ordered, _runs(ordered), None)


def _is_ascending(values: pa.Array) -> bool:
    return bool(pc.all(pc.less_equal(values[:-1], values[1:])).as_py())


def _runs(values: pa.Array) -> Numbers:
    """Number sorted values by run, without gaps inside a run."""
    numbers = ordered_numbers(values)
    if pa.types.is_decimal128(values.type):
        halves = np.frombuffer(values.buffers()[1], "<u8").reshape(-1, 2)[values.offset : values.offset + len(values)]
        low, high = halves[:, 0], halves[:, 1]
        carried = (low[1:] < low[:-1]).astype(np.uint64)
        together = (np.diff(low) <= 1) & (np.diff(high) == carried)
    elif numbers is None or pa.types.is_floating(values.type):
        together = flags_from(pc.equal(values[1:], values[:-1]))
    else:
        # A step that overflows wraps around, but never to 0 or 1.
        step = np.diff(numbers)
        together = (step == 0) | (step == 1)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(~together)])
