"""Values that lie evenly between two bounds, of any ordered type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of, from_numpy, numbers_from

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# Bytes behind a common prefix that are taken for a number.
_BYTES = 7


def as_ordered(values: pa.Array) -> pa.Array:
    """Return values as bytes, doubles or whole numbers, which have the same order."""
    kind = values.type
    if pa.types.is_binary(kind) or pa.types.is_string(kind):
        return pc.cast(values, pa.binary())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_uint64(kind):
        return pc.cast(values, pa.float64(), safe=False)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        values = pc.cast(values, pa.int32())
    return pc.cast(values, pa.int64())


def values_between(lower: pa.Array, upper: pa.Array, points: int) -> pa.Array:
    """Return so many values between each two bounds, which are as `as_ordered` returns them, and not null.

    The first values of all bounds come first, then the second ones.

    >>> values_between(pa.array([0, 100]), pa.array([9, 100]), 2).to_pylist()
    [2, 100, 6, 100]
    >>> values_between(pa.array([b"a1"]), pa.array([b"a9"]), 1).to_pylist()
    [b'a5']
    """
    if pa.types.is_binary(lower.type):
        pairs = list(zip(lower.to_pylist(), upper.to_pylist(), strict=True))
        return array_of([_text_between(*pair, i, points) for i in range(points) for pair in pairs], pa.binary())
    low, high = numbers_from(lower), numbers_from(upper)
    between = _doubles if pa.types.is_floating(lower.type) else _whole
    return from_numpy(np.concatenate(list(between(low, high, points))))


def _doubles(low: NDArray[np.float64], high: NDArray[np.float64], points: int) -> Iterator[NDArray[np.float64]]:
    for i in range(points):
        share = (2 * i + 1) / (2 * points)
        with np.errstate(invalid="ignore"):
            value = low * (1 - share) + high * share
        yield np.where(np.isfinite(value), np.clip(value, low, high), low)


def _whole(low: NDArray[np.int64], high: NDArray[np.int64], points: int) -> Iterator[NDArray[np.int64]]:
    # Without a sign no difference overflows, and none of what is multiplied.
    width = high.astype(np.uint64) - low.astype(np.uint64)
    whole, rest = np.divmod(width, np.uint64(2 * points))
    for i in range(points):
        share = np.uint64(2 * i + 1)
        yield (low.astype(np.uint64) + whole * share + rest * share // np.uint64(2 * points)).astype(np.int64)


def _text_between(low: bytes, high: bytes, i: int, points: int) -> bytes:
    start = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    first, last = (int.from_bytes(side[start : start + _BYTES].ljust(_BYTES, b"\0"), "big") for side in (low, high))
    value = first + (last - first) * (2 * i + 1) // (2 * points)
    # Without the zeros that fill it up it is a value behind the lower bound, and never behind the upper one.
    return min(max(low, low[:start] + value.to_bytes(_BYTES, "big").rstrip(b"\0")), high)
