"""Decode PLAIN values into comparable Arrow arrays.

The values are bounds and dictionary entries.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, scalar_of, with_validity
from parquet_core.format.schema import Physical, SortOrder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.arrays import Flags
    from parquet_core.format.plain import PlainValues
    from parquet_core.format.schema import LeafColumn


_STORED: dict[Physical, np.dtype[Any]] = {
    Physical.BOOLEAN: np.dtype("u1"),
    Physical.INT32: np.dtype("<i4"),
    Physical.INT64: np.dtype("<i8"),
    Physical.FLOAT: np.dtype("<f4"),
    Physical.DOUBLE: np.dtype("<f8"),
    Physical.FIXED_LEN_BYTE_ARRAY: np.dtype("<f2"),  # only FLOAT16 columns are numeric
}
_DAY = {"ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}


def bounds_type(column: LeafColumn) -> pa.DataType:
    """Return the Arrow type of a column for bounds and literals."""
    arrow_type = column.type
    if arrow_type is None or pa.types.is_string(arrow_type) or pa.types.is_fixed_size_binary(arrow_type):
        return pa.binary()
    if pa.types.is_timestamp(arrow_type) and (arrow_type.unit != "ns" or column.physical is Physical.INT96):
        # Files of one table may use different units; readers use microseconds.
        return pa.timestamp("us", arrow_type.tz)
    # Arrow cannot compare half floats; every half float is exact as a float.
    return pa.float32() if pa.types.is_float16(arrow_type) else arrow_type


def comparable_values(
    column: LeafColumn, written: PlainValues, *, step: int | NDArray[np.int64] | None = None
) -> pa.Array:
    """Decode single values into an array of `bounds_type(column)`.

    Missing values become null. Values that the type cannot hold also become null: a wrong width, an integer beyond its
    declared bits, a decimal beyond its precision, a time beyond a day. NaN is kept. If the type has no order, all
    values are null. `step`: units of `bounds_type(column)` per unit of the stored timestamps, an array if files differ;
    by default `timestamp_step(column)`.
    """
    target = bounds_type(column)
    if column.order is SortOrder.UNDEFINED:
        return pa.nulls(len(written), target)
    if pa.types.is_binary(target):
        return _bytes(column, written)
    if pa.types.is_decimal128(target):
        return _decimal(column, written, target)
    stored_numbers, valid = written.numbers(_STORED[column.physical])
    if pa.types.is_timestamp(target):
        return _timestamps(target, stored_numbers, valid, timestamp_step(column) if step is None else step)
    return _number(target, stored_numbers, valid)


def timestamp_step(column: LeafColumn) -> int:
    """Return units of `bounds_type(column)` per stored timestamp unit; 1 for other types."""
    arrow_type = column.type
    return 1_000 if arrow_type is not None and pa.types.is_timestamp(arrow_type) and arrow_type.unit == "ms" else 1


def _bytes(column: LeafColumn, written: PlainValues) -> pa.Array:
    if column.physical is Physical.FIXED_LEN_BYTE_ARRAY:
        # A bound may be truncated, but a bound longer than the type is invalid.
        return written.only(written.length <= column.type_length).binary()
    return written.binary()


def _number(target: pa.DataType, stored_numbers: NDArray[Any], valid: Flags) -> pa.Array:
    if pa.types.is_boolean(target):
        return from_numpy(stored_numbers == 1, valid=valid & (stored_numbers <= 1))
    if pa.types.is_floating(target):
        return from_numpy(stored_numbers.astype(target.to_pandas_dtype(), copy=False), target, valid=valid)
    if pa.types.is_integer(target):
        if pa.types.is_unsigned_integer(target):
            stored_numbers = stored_numbers.view(stored_numbers.dtype.str.replace("i", "u"))
        narrow = stored_numbers.astype(target.to_pandas_dtype(), copy=False)
        # A stored number that does not fit the declared width is invalid.
        lies = None if narrow is stored_numbers else narrow != stored_numbers
        return from_numpy(narrow, target, valid=valid if lies is None else valid & ~lies)
    if pa.types.is_time(target):
        valid = valid & (stored_numbers >= 0) & (stored_numbers < _DAY[target.unit])
    return from_numpy(stored_numbers, target, valid=valid)


def _timestamps(
    target: pa.DataType, stored_numbers: NDArray[Any], valid: Flags, step: int | NDArray[np.int64]
) -> pa.Array:
    """Convert stored numbers to the target's unit.

    Values that overflow become null; Spark cannot read them either.
    """
    most = np.iinfo(np.int64).max // step
    inside = (stored_numbers <= most) & (stored_numbers >= -most)
    return from_numpy(np.where(inside, stored_numbers, 0) * step, target, valid=valid & inside)


def _decimal(column: LeafColumn, written: PlainValues, target: pa.DataType) -> pa.Array:
    words = np.empty((len(written), 2), np.dtype("<i8"))
    if column.physical is Physical.FIXED_LEN_BYTE_ARRAY:
        raw, valid = written.fixed(column.type_length)
        wide = words.view(np.uint8).reshape(len(written), 16)
        wide[:] = np.where(raw[:, :1] >= 128, np.uint8(0xFF), np.uint8(0))
        wide[:, : column.type_length] = raw[:, ::-1]
    else:
        words[:, 0], valid = written.numbers(_STORED[column.physical])
        words[:, 1] = words[:, 0] >> 63
    stored = pa.Array.from_buffers(target, len(written), [None, pa.py_buffer(words)])
    # Predicates rely on the declared precision. Spark may read values beyond it, so a bound beyond it is unknown.
    largest = Decimal((0, (9,) * target.precision, -target.scale))
    least = scalar_of(largest.copy_negate(), target)
    inside = flags_from(pc.and_(pc.less_equal(stored, scalar_of(largest, target)), pc.greater_equal(stored, least)))
    return with_validity(stored, valid & inside)


def successor(prefix: bytes) -> bytes | None:
    r"""Return the smallest byte string above all strings with a prefix.

    None if there is no upper limit.

    >>> successor(b"a\xff"), successor(b"\xff"), successor(b"")
    (b'b', None, None)
    """
    shortened = prefix.rstrip(b"\xff")
    return shortened[:-1] + bytes([shortened[-1] + 1]) if shortened else None
