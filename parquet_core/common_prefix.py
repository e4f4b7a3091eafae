"""The common prefix of two byte strings: every string between them in byte order has it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.ragged import firsts, spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

# Longer ones are cut, so that the work is bounded by the count of rows.
MAX_LENGTH = 256


def common_prefix(left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the longest common beginning of each pair, at most 256 bytes; both are binary, without nulls.

    >>> common_prefix(pa.array([b"abc", b"x"]), pa.array([b"abd", b""])).to_pylist()
    [b'ab', b'']
    """
    (left_start, left_length, left_data), (right_start, right_length, right_data) = map(_views, (left, right))
    length = np.minimum(np.minimum(left_length, right_length), MAX_LENGTH)
    differs = left_data[spans(left_start, length)] != right_data[spans(right_start, length)]
    first = firsts(length)
    (places,) = np.nonzero(differs)
    row = np.searchsorted(first, places, side="right") - 1
    # From the last to the first: what is written last stays.
    length[row[::-1]] = (places - first[row])[::-1]
    offsets = firsts(length).astype(np.int32)
    data = np.ascontiguousarray(left_data[spans(left_start, length)])
    return pa.Array.from_buffers(pa.binary(), len(left), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _views(array: pa.Array) -> tuple[Numbers, Numbers, NDArray[np.uint8]]:
    """Return starts, lengths and the bytes of an array of binary."""
    _, offsets, data = array.buffers()
    edges = np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4).astype(np.int64)
    plain = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return edges[:-1], np.diff(edges), plain
