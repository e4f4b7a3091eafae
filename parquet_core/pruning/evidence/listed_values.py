"""Sorted values of an IN list, searched for bounds."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, ordered_numbers
from parquet_core.pruning.evidence.sorted_search import SortedBytes, placed, sorted_bytes
from parquet_core.ranks import ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.arrays import Numbers


class ListedValues(NamedTuple):
    """Sorted values of a list, without NaN.

    `runs`: a number per value; two values share it if every value between them is listed. `plain`: the sorted values as
    numbers that numpy can search; None for bytes and for wide decimals. `heads`: the sorted values if they are bytes,
    else None. `has_nan`: True if the list has NaN.
    """

    ascending: pa.Array
    runs: Numbers
    plain: NDArray[Any] | None
    heads: SortedBytes | None = None
    has_nan: bool = False

    def places(self, bounds: pa.Array) -> Numbers:
        """Return the place of each bound among the values.

        The place is `2 * i + 1` for a bound equal to the i-th value, and `2 * i` for a bound between this value and the
        previous one. The place of a null is arbitrary.

        >>> listed_values(pa.array([10, 20]), pa.int64()).places(pa.array([5, 10, 15, 20, 25])).tolist()
        [0, 1, 2, 3, 4]
        """
        if self.plain is not None and (numbers := _plain(bounds)) is not None:
            return placed(self.plain, numbers)
        if self.heads is not None:
            return self.heads.places(bounds)
        own, others = ranks(self.ascending, bounds)
        return placed(own, others)

    def between(self, low: pa.Scalar, high: pa.Scalar) -> pa.Array:
        """Return the values from `low` to `high`, both included.

        A null limit excludes nothing.
        """
        first, stop = 0, len(self.ascending)
        if low.is_valid:
            first = int(self.places(pa.repeat(low, 1))[0]) // 2
        if high.is_valid:
            stop = (int(self.places(pa.repeat(high, 1))[0]) + 1) // 2
        return self.ascending[first : max(first, stop)]


# Keyed by the identity of a live array.
_KNOWN: dict[tuple[int, pa.DataType], ListedValues] = {}


def listed_values(values: pa.Array, arrow_type: pa.DataType) -> ListedValues:
    """Return the sorted values of an IN list, cast to `arrow_type`.

    `values`: at least one. `arrow_type`: usually the type of bounds. The result is cached as long as the array lives.
    """
    key = id(values), arrow_type
    listed = _KNOWN.get(key)
    if listed is None:
        listed = _listed(values.cast(arrow_type))
        _KNOWN[key] = listed
        weakref.finalize(values, _KNOWN.pop, key, None).atexit = False
    return listed


def _listed(values: pa.Array) -> ListedValues:
    has_nan = pa.types.is_floating(values.type) and bool(pc.any(pc.is_nan(values)).as_py())
    if has_nan:
        values = values.filter(pc.invert(pc.is_nan(values)))
    numbers = _plain(values)
    if numbers is not None and not _is_saturated(values.type, numbers):
        order = np.argsort(numbers, kind="stable")
        ordered = values.take(from_numpy(order))
        return ListedValues(ordered, _runs(ordered), numbers[order], has_nan=has_nan)
    if pa.types.is_binary(values.type):
        ordered = values if _is_ascending(values) else values.take(pc.sort_indices(values))
        return ListedValues(ordered, _runs(ordered), None, sorted_bytes(ordered))
    (rank,) = ranks(values)
    ordered = values.take(from_numpy(np.argsort(rank, kind="stable")))
    return ListedValues(ordered, _runs(ordered), None)


def _plain(values: pa.Array) -> NDArray[Any] | None:
    """Return numbers in the order of the values; None for bytes.

    A decimal beyond 64 bits becomes the largest or smallest number. Nulls become arbitrary numbers.
    """
    if not pa.types.is_decimal128(values.type):
        return ordered_numbers(values)
    low, high = _halves(values)
    ends = np.iinfo(np.int64)
    return np.where(high == low >> 63, low, np.where(high < 0, ends.min, ends.max))


def _is_saturated(arrow_type: pa.DataType, numbers: NDArray[Any]) -> bool:
    ends = np.iinfo(np.int64)
    return pa.types.is_decimal128(arrow_type) and bool(((numbers == ends.min) | (numbers == ends.max)).any())


def _halves(decimals: pa.Array) -> tuple[Numbers, Numbers]:
    """Return the lower and the upper 64 bits of decimals."""
    halves = np.frombuffer(decimals.buffers()[1], "<i8").reshape(-1, 2)[decimals.offset :][: len(decimals)]
    return halves[:, 0], halves[:, 1]


def _is_ascending(values: pa.Array) -> bool:
    return bool(pc.all(pc.less_equal(values[:-1], values[1:])).as_py())


def _runs(values: pa.Array) -> Numbers:
    """Return the run number of each sorted value; between the values of a run, no other value is possible."""
    numbers = ordered_numbers(values)
    if pa.types.is_decimal128(values.type):
        low, high = (half.view(np.uint64) for half in map(np.ascontiguousarray, _halves(values)))
        carried = (low[1:] < low[:-1]).astype(np.uint64)
        together = (np.diff(low) <= 1) & (np.diff(high) == carried)
    elif numbers is None or pa.types.is_floating(values.type):
        together = flags_from(pc.equal(values[1:], values[:-1]))
    else:
        # A step that overflows wraps around, but never to 0 or 1.
        step = np.diff(numbers)
        together = (step == 0) | (step == 1)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(~together)])
