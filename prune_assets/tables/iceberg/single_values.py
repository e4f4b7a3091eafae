"""Single values of Iceberg as Arrow arrays that compare as bounds do: encoded in manifests, or as Python has them.

Source: "Binary single-value serialization" in Iceberg's specification. What is no value of its type is not known.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import from_numpy, numbers_from
from parquet_core.format.comparable_values import bounds_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
# What reads many of them at once.
_CODES = {"int": "<i4", "date": "<i4", "long": "<i8", "float": "<f4", "double": "<f8"}
_CODES |= dict.fromkeys(("timestamp", "timestamptz"), "<i8")
_NUMBERS = frozenset({"int", "long", "date", "timestamp", "timestamptz"})
_LONGEST_DECIMAL = 16


def decoded(column: IcebergColumn, values: pa.Array | Sequence[bytes | None]) -> pa.Array:
    """Decode values of a column."""
    values = values if isinstance(values, pa.Array) else pa.array(values, pa.binary())
    kind = bounds_type(column.leaf)
    if pa.types.is_binary(kind):
        return values.cast(kind)
    code = _CODES.get(column.kind)
    if code is not None:
        return _of_widths(values, np.dtype(code), _WIDTHS[column.kind]).view(kind)
    decode = _decoder(column)
    return as_array(column, [None if value is None else decode(value) for value in values.to_pylist()])


def numbers_of(column: IcebergColumn, values: Sequence[bytes | None]) -> list[Any]:
    """Decode values one by one, as the number, text or bytes that stands for each; None for what is none."""
    decode = _decoder(column)
    texts = column.kind == "string"
    found = [None if value is None else decode(value) for value in values]
    return [value.decode() if texts and value is not None else value for value in found]


def _of_widths(values: pa.Array, dtype: np.dtype[Any], widths: Sequence[int]) -> pa.Array:
    """Decode numbers; of half the width are those that were written before the column was widened."""
    lengths = numbers_from(pc.fill_null(pc.binary_length(values), 0))
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values)]
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    found, known = np.zeros(len(values), dtype), np.zeros(len(values), np.bool_)
    for width in widths:
        at = np.flatnonzero(lengths == width)
        read = data[offsets[at][:, None] + np.arange(width)].view(f"<{dtype.kind}{width}")
        found[at], known[at] = read.reshape(-1).astype(dtype), True
    return from_numpy(found, valid=known)


def _decoder(column: IcebergColumn) -> Callable[[bytes], Any]:
    kind = column.kind
    if kind in _NUMBERS:
        widths = _WIDTHS[kind]
        return lambda value: int.from_bytes(value, "little", signed=True) if len(value) in widths else None
    if kind == "boolean":
        return lambda value: value != b"\0" if len(value) == 1 else None
    if kind.startswith("decimal("):
        return lambda value: int.from_bytes(value, "big", signed=True) if 0 < len(value) <= _LONGEST_DECIMAL else None
    return lambda value: value


def number_of(value: Any) -> Any:
    """Return a value as the number, text or bytes that stands for it: days, microseconds, an unscaled decimal."""
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # noqa: DTZ001
    if isinstance(value, dt.date):
        return (value - _EPOCH).days
    if hasattr(value, "as_tuple"):
        sign, digits, _ = value.as_tuple()
        return int("".join(map(str, digits))) * (-1 if sign else 1)
    return value


def as_array(column: IcebergColumn, values: Sequence[Any]) -> pa.Array:
    """Return numbers, texts or bytes as an array of the column's bounds type; null where one does not fit."""
    kind = bounds_type(column.leaf)
    if pa.types.is_binary(kind):
        return pa.array([value.encode() if isinstance(value, str) else value for value in values], kind)
    if pa.types.is_boolean(kind):
        return pa.array(values, kind)
    if pa.types.is_floating(kind):
        return pa.array(values, pa.float64()).cast(kind, safe=False)
    if pa.types.is_decimal(kind):
        return _decimals(values, kind)
    width = kind.bit_width
    fits = [None if value is None or not -(1 << width - 1) <= value < 1 << width - 1 else value for value in values]
    return pa.array(fits, pa.int32() if width == 32 else pa.int64()).view(kind)


def _decimals(values: Sequence[int | None], kind: pa.DataType) -> pa.Array:
    most = 10**kind.precision
    fits = [value if value is not None and -most < value < most else None for value in values]
    words = b"".join((value or 0).to_bytes(16, "little", signed=True) for value in fits)
    stored = pa.Array.from_buffers(kind, len(fits), [None, pa.py_buffer(words)])
    known = from_numpy(np.array([value is not None for value in fits], np.bool_))
    return pc.if_else(known, stored, pa.nulls(1, kind)[0])
