"""Places of many bounds among sorted numbers or sorted bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, scalar_of
from parquet_core.ranks import ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.arrays import Numbers

# From this number of bounds on, sorting them first takes less time than random steps through the values.
_MANY = 256
_NEAR = 16
_WORD = 8


def placed(ordered: NDArray[Any], bounds: NDArray[Any]) -> Numbers:
    """Return `2 * i + 1` for a bound equal to number i, and `2 * i` for a bound between numbers i - 1 and i.

    >>> placed(np.array([10, 20]), np.array([5, 10, 15, 25])).tolist()
    [0, 1, 2, 4]
    """
    first = search(ordered, bounds)
    places: Numbers = 2 * first + (ordered[np.minimum(first, len(ordered) - 1)] == bounds)
    return places


def search(ordered: NDArray[Any], values: NDArray[Any]) -> Numbers:
    """Return `np.searchsorted(ordered, values)`. Many values are sorted first, which makes the search much faster."""
    if len(values) < _MANY:
        return np.searchsorted(ordered, values)
    if (values[1:] >= values[:-1]).all():
        return _search_ascending(ordered, values)
    if (values[_NEAR:] >= values[:-_NEAR]).all():  # nearly sorted, like upper bounds of files with sorted lower bounds
        return np.searchsorted(ordered, values)
    order, places = np.argsort(values), np.empty(len(values), np.int64)
    places[order] = _search_ascending(ordered, values[order])
    return places


def _search_ascending(ordered: NDArray[Any], values: NDArray[Any]) -> Numbers:
    if 2 * len(ordered) > len(values):
        return np.searchsorted(ordered, values)
    # Search the longer array for the shorter one: each element of `ordered` is below all `values` from a position on.
    below = np.searchsorted(values, ordered, side="right")
    return np.cumsum(np.bincount(below, minlength=len(values) + 1)[:-1])


class SortedBytes(NamedTuple):
    """Sorted byte strings.

    `common`: common prefix of all strings. `heads`: the next eight bytes as numbers; zeros fill short strings.
    """

    ascending: pa.Array
    common: bytes
    heads: NDArray[np.uint64]

    def places(self, bounds: pa.Array) -> Numbers:
        """Return the places of bounds, as `placed` does for numbers; the place of a null is arbitrary."""
        heads = _heads(bounds, len(self.common))
        first = search(self.heads, heads)
        places = 2 * first
        is_open = self.heads[np.minimum(first, len(self.heads) - 1)] == heads
        if self.common:
            begins = flags_from(pc.starts_with(bounds, self.common))
            smaller = flags_from(pc.less(bounds, scalar_of(self.common, bounds.type)))
            places = np.where(begins, places, np.where(smaller, 0, 2 * len(self.heads)))
            is_open &= begins
        # If the heads are equal, the bytes after them decide the order.
        open_ = np.flatnonzero(is_open)
        stop = np.searchsorted(self.heads, heads[open_], side="right")
        first = first[open_]
        alone, several = open_[stop - first == 1], open_[stop - first > 1]
        if len(alone):
            values = self.ascending.take(from_numpy(first[stop - first == 1]))
            of_bounds = bounds.take(from_numpy(alone))
            places[alone] += flags_from(pc.equal(of_bounds, values)) + 2 * flags_from(pc.greater(of_bounds, values))
        if len(several):
            own, others = ranks(self.ascending, bounds.take(from_numpy(several)))
            places[several] = placed(own, others)
        return places


def sorted_bytes(ascending: pa.Array) -> SortedBytes:
    """Prepare sorted byte strings for searches.

    >>> sorted_bytes(pa.array([b"ab", b"ad"])).places(pa.array([b"a", b"ab", b"ac", b"b"])).tolist()
    [0, 1, 2, 4]
    """
    first, last = ascending[0].as_py(), ascending[-1].as_py()
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return SortedBytes(ascending, first[:length], _heads(ascending, length))


def _heads(values: pa.Array, skip: int) -> NDArray[np.uint64]:
    """Return the eight bytes after the first `skip` bytes of each value, as a number in the order of the bytes."""
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset :][: len(values) + 1].astype(np.int64)
    start = np.minimum(offsets[:-1] + skip, offsets[1:])
    length = np.minimum(offsets[1:] - start, _WORD)
    low, high = int(offsets[0]), int(offsets[-1])
    data = np.zeros(high - low + _WORD, np.uint8)
    if high > low:
        data[:-_WORD] = np.frombuffer(values.buffers()[2], np.uint8)[low:high]
    words = np.ndarray((len(data) - _WORD + 1,), ">u8", data, strides=(1,))
    heads: NDArray[np.uint64] = words[start - low].astype(np.uint64)
    if (length == _WORD).all():
        return heads
    unused = (_WORD * (_WORD - length)).astype(np.uint64)
    # A shift by 64 bits is undefined.
    return np.where(length > 0, heads >> unused << unused, np.uint64(0))
