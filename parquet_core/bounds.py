"""Bounds of one column over a batch of containers, as Arrow arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.schema import LeafColumn, Physical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of the values in each container; null is unknown, never 0 or empty.

    `lower` and `upper` enclose every non-null value; they need not occur. `null_count` is int64.
    `row_count` is known for every container. Strings are held as binary: a cut bound need not be UTF-8.
    """

    lower: pa.Array
    upper: pa.Array
    null_count: pa.Array
    row_count: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.row_count)

    def take(self, indices: NDArray[np.int64]) -> Bounds:
        """Return the bounds of the containers at these indices."""
        return Bounds(
            self.lower.take(indices), self.upper.take(indices), self.null_count.take(indices), self.row_count[indices]
        )


def bounds_type(column: LeafColumn) -> pa.DataType:
    """Return the Arrow type that bounds and literals of a column are compared in."""
    return pa.binary() if column.type is None or pa.types.is_string(column.type) else column.type


def make_bounds(
    column: LeafColumn,
    lower: Sequence[bytes | None],
    upper: Sequence[bytes | None],
    null_counts: Sequence[int | None],
    row_counts: Sequence[int],
) -> Bounds:
    """Decode PLAIN-encoded bounds and drop what contradicts itself.

    A bound of a wrong width, a lower bound above its upper one, a null count outside of 0 to the row
    count or on a required column: each becomes unknown.
    """
    rows = np.asarray(row_counts, dtype=np.int64)
    low, high = decode_plain(column, lower), decode_plain(column, upper)
    reversed_ = pc.fill_null(pc.greater(low, high), fill_value=False)
    nothing = pa.scalar(None, low.type)
    return Bounds(
        lower=pc.if_else(reversed_, nothing, low),
        upper=pc.if_else(reversed_, nothing, high),
        null_count=_null_counts(column, null_counts, rows),
        row_count=rows,
    )


def unknown_bounds(column: LeafColumn, row_counts: Sequence[int]) -> Bounds:
    """Return bounds of which nothing but the row counts is known."""
    nothing = pa.nulls(len(row_counts), bounds_type(column))
    counts = pa.nulls(len(row_counts), pa.int64())
    return Bounds(nothing, nothing, counts, np.asarray(row_counts, dtype=np.int64))


def _null_counts(column: LeafColumn, counts: Sequence[int | None], rows: NDArray[np.int64]) -> pa.Array:
    if column.max_definition_level == 0:
        # A required column has no definition levels to mark a null with, whatever the count claims.
        return pa.array(np.zeros(len(rows), dtype=np.int64))
    array = pa.array(counts, pa.int64())
    credible = pc.and_(pc.greater_equal(array, 0), pc.less_equal(array, pa.array(rows)))
    return pc.if_else(pc.fill_null(credible, fill_value=False), array, pa.scalar(None, pa.int64()))


def decode_plain(column: LeafColumn, values: Sequence[bytes | None]) -> pa.Array:
    """Decode PLAIN-encoded single values; None and what the type cannot hold become null."""
    match column.physical:
        case Physical.INT32:
            return _from_integers(column, *_fixed(values, 4), np.dtype("<i4"))
        case Physical.INT64:
            return _from_integers(column, *_fixed(values, 8), np.dtype("<i8"))
        case Physical.FIXED_LEN_BYTE_ARRAY if pa.types.is_decimal128(bounds_type(column)):
            return _from_big_endian(column, *_fixed(values, column.type_length))
        case Physical.BYTE_ARRAY:
            return pa.array(values, pa.binary())
        case _:
            return pa.nulls(len(values), bounds_type(column))


def _fixed(values: Sequence[bytes | None], width: int) -> tuple[bytes, NDArray[np.bool_]]:
    """Join values of one width; returns the bytes and where a value really stands."""
    zero = bytes(width)
    valid = np.fromiter((value is not None and len(value) == width for value in values), np.bool_, len(values))
    data = b"".join(value if ok and value is not None else zero for value, ok in zip(values, valid, strict=True))
    return data, valid


def _from_integers(column: LeafColumn, data: bytes, valid: NDArray[np.bool_], stored: np.dtype) -> pa.Array:
    numbers = np.frombuffer(data, stored)
    target = bounds_type(column)
    if pa.types.is_decimal128(target):
        return _decimals(numbers.astype(np.int64), np.where(numbers < 0, -1, 0), valid, target)
    if pa.types.is_unsigned_integer(target):
        numbers = numbers.view(stored.str.replace("i", "u"))
    if pa.types.is_integer(target):
        narrow = numbers.astype(target.to_pandas_dtype())
        # A stored number that the declared width cannot hold is a lie.
        return pa.array(narrow, target, mask=~(valid & (narrow == numbers)))
    if pa.types.is_date32(target):
        return pa.array(numbers, pa.int32(), mask=~valid).view(target)
    return pa.nulls(len(valid), target)


def _from_big_endian(column: LeafColumn, data: bytes, valid: NDArray[np.bool_]) -> pa.Array:
    width = column.type_length
    raw = np.frombuffer(data, np.uint8).reshape(len(valid), width)
    wide = np.where(raw[:, :1] >= 128, np.uint8(0xFF), np.uint8(0)).repeat(16, axis=1)
    wide[:, 16 - width :] = raw
    words = np.ascontiguousarray(wide[:, ::-1]).view("<i8")
    return _decimals(words[:, 0], words[:, 1], valid, bounds_type(column))


def _decimals(
    low: NDArray[np.int64], high: NDArray[np.int64], valid: NDArray[np.bool_], target: pa.DataType
) -> pa.Array:
    words = np.ascontiguousarray(np.column_stack([low, high]).astype("<i8"))
    validity = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(target, len(valid), [validity, pa.py_buffer(words.tobytes())])
