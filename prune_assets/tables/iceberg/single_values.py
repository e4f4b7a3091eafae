"""Convert Iceberg's single values, as encoded in manifests or as Python objects, to comparable Arrow arrays.

Invalid encodings become null. Source: "Binary single-value serialization" in Iceberg's specification.
"""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, scalar_of
from parquet_core.format.comparable_values import bounds_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from prune_assets.tables.iceberg.columns import IcebergColumn

_EPOCH = dt.date(1970, 1, 1)
# A long may have been an int when its file was written, and a double a float.
_WIDTHS = {
    "int": (4,),
    "long": (4, 8),
    "date": (4,),
    "timestamp": (8,),
    "timestamptz": (8,),
    "float": (4,),
    "double": (4, 8),
}
# numpy types that decode many values at once.
_CODES = {"int": "<i4", "date": "<i4", "long": "<i8", "float": "<f4", "double": "<f8"}
_CODES |= dict.fromkeys(("timestamp", "timestamptz"), "<i8")
_NUMBERS = frozenset({"int", "long", "date", "timestamp", "timestamptz"})
_LONGEST_DECIMAL = 16


def decoded(column: IcebergColumn, values: pa.Array | Sequence[bytes | None]) -> pa.Array:
    """Decode values to the column's bounds type; null if invalid."""
    values = values if isinstance(values, pa.Array) else bytes_array(values)
    arrow_type = bounds_type(column.leaf)
    if pa.types.is_binary(arrow_type):
        return values
    if pa.types.is_decimal(arrow_type):
        return _decode_decimals(values, arrow_type)
    code = _CODES.get(column.type_name)
    if code is not None:
        return _decode_widths(values, np.dtype(code), _WIDTHS[column.type_name]).view(arrow_type)
    return as_array(column, numbers_of(column, values.to_pylist()))


def bytes_array(values: Sequence[bytes | None]) -> pa.Array:
    """Build a binary array; `pa.array` would import pandas if it is installed."""
    valid = np.array([value is not None for value in values], np.bool_)
    ends = np.cumsum([0, *(len(value or b"") for value in values)], dtype=np.int32)
    data = pa.py_buffer(b"".join(value or b"" for value in values))
    return pa.Array.from_buffers(pa.binary(), len(valid), [from_numpy(valid).buffers()[1], pa.py_buffer(ends), data])


def numbers_of(column: IcebergColumn, values: Sequence[bytes | None]) -> list[Any]:
    """Decode values one by one to numbers, strings or bytes; None if invalid."""
    decode = _decoder(column)
    is_string = column.type_name == "string"
    plain_values = [None if value is None else decode(value) for value in values]
    return [value.decode() if is_string and value is not None else value for value in plain_values]


class _Bytes(NamedTuple):
    """Buffers of a binary array in numpy.

    `starts`, `lengths`: one entry per value; the length of null is 0.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    valid: NDArray[np.bool_]


def _bytes(values: pa.Array) -> _Bytes:
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    valid = flags_from(values.is_valid())
    lengths = np.where(valid, np.diff(offsets), 0).astype(np.int64)
    return _Bytes(np.frombuffer(values.buffers()[2] or b"", np.uint8), offsets[:-1].astype(np.int64), lengths, valid)


def _decode_widths(values: pa.Array, dtype: np.dtype[Any], widths: Sequence[int]) -> pa.Array:
    """Decode numbers of one or several widths. Values of a smaller width were written before the column was widened."""
    given = _bytes(values)
    widened, valid = np.zeros(len(values), dtype), np.zeros(len(values), np.bool_)
    for width in widths:
        positions = np.flatnonzero(given.lengths == width)
        read = given.data[given.starts[positions][:, None] + np.arange(width)].view(f"<{dtype.kind}{width}")
        widened[positions], valid[positions] = read.reshape(-1).astype(dtype), True
    return from_numpy(widened, valid=valid)


def _decode_decimals(values: pa.Array, decimal_type: pa.DataType) -> pa.Array:
    """Decode big-endian decimals of any length up to 16 bytes; null beyond the precision."""
    given = _bytes(values)
    words = np.zeros((len(values), _LONGEST_DECIMAL), np.uint8)
    for length in range(1, _LONGEST_DECIMAL + 1):
        positions = np.flatnonzero(given.lengths == length)
        if len(positions):
            read = given.data[given.starts[positions][:, None] + np.arange(length)]
            words[positions] = np.where(read[:, :1] >= 0x80, np.uint8(0xFF), np.uint8(0))
            words[positions, :length] = read[:, ::-1]
    valid = (given.lengths > 0) & (given.lengths <= _LONGEST_DECIMAL)
    stored = pa.Array.from_buffers(decimal_type, len(values), [from_numpy(valid).buffers()[1], pa.py_buffer(words)])
    most = scalar_of(decimal.Decimal((0, (9,) * decimal_type.precision, -decimal_type.scale)), decimal_type)
    fits = pc.and_(pc.less_equal(stored, most), pc.greater_equal(stored, pc.negate(most)))
    return pc.if_else(fits, stored, pa.nulls(1, decimal_type)[0])


def _decoder(column: IcebergColumn) -> Callable[[bytes], Any]:
    type_name = column.type_name
    if type_name in _NUMBERS:
        widths = _WIDTHS[type_name]
        return lambda value: int.from_bytes(value, "little", signed=True) if len(value) in widths else None
    if type_name == "boolean":
        return lambda value: value != b"\0" if len(value) == 1 else None
    if type_name.startswith("decimal("):
        return lambda value: int.from_bytes(value, "big", signed=True) if 0 < len(value) <= _LONGEST_DECIMAL else None
    return lambda value: value


def number_of(value: Any) -> Any:
    """Convert a Python value to a number, string or bytes.

    Times become days or microseconds, decimals become their unscaled integers.
    """
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # noqa: DTZ001
    if isinstance(value, dt.date):
        return (value - _EPOCH).days
    if hasattr(value, "as_tuple"):
        sign, digits, _ = value.as_tuple()
        return int("".join(map(str, digits))) * (-1 if sign else 1)
    return value


def as_array(column: IcebergColumn, values: Sequence[Any]) -> pa.Array:
    """Convert numbers, strings or bytes to the column's bounds type; a value that does not fit becomes null."""
    arrow_type = bounds_type(column.leaf)
    if pa.types.is_binary(arrow_type):
        return bytes_array([value.encode() if isinstance(value, str) else value for value in values])
    valid = np.array([value is not None for value in values], np.bool_)
    if pa.types.is_boolean(arrow_type):
        return from_numpy(np.array([bool(value) for value in values], np.bool_), valid=valid)
    if pa.types.is_floating(arrow_type):
        floats = np.array([0.0 if value is None else value for value in values], np.float64)
        return from_numpy(floats.astype(f"f{arrow_type.bit_width // 8}"), valid=valid)
    if pa.types.is_decimal(arrow_type):
        most = 1 << 127
        fits = [value if value is not None and -most <= value < most else None for value in values]
        return _decode_decimals(
            bytes_array([None if value is None else value.to_bytes(16, "big", signed=True) for value in fits]),
            arrow_type,
        )
    most = 1 << arrow_type.bit_width - 1
    valid &= np.array([value is not None and -most <= value < most for value in values], np.bool_)
    plain = [value if fits else 0 for value, fits in zip(values, valid.tolist(), strict=True)]
    return from_numpy(np.array(plain, f"i{arrow_type.bit_width // 8}"), valid=valid).view(arrow_type)
