"""Convert bounds to JSON values, and literals of the command line to column values."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.errors import WrongUse
from parquet_core.format.schema import Physical
from parquet_core.inspection.facts import Hex

if TYPE_CHECKING:
    from parquet_core.format.schema import LeafColumn
    from parquet_core.inspection.facts import Value

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,60}(?:\.[0-9]{0,60})?|\.[0-9]{1,60})")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,9}))?")
_ZONE = re.compile(r"(?:Z|[+-][0-9]{2}:?[0-9]{2})$")
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_UUID_BYTES = 16


def plain_values(column: LeafColumn, bounds: pa.Array) -> list[Value]:
    """Convert bounds of a column to JSON values, not shortened; None if unknown.

    >>> from parquet_core.format.schema import LeafColumn, Physical, SortOrder
    >>> day = LeafColumn(("d",), 0, Physical.INT32, pa.date32(), SortOrder.SIGNED)
    >>> plain_values(day, pa.array([0, None], pa.int32()).view(pa.date32()))
    ['1970-01-01', None]
    """
    arrow_type = bounds.type
    if pa.types.is_binary(arrow_type):
        is_text = column.type is not None and pa.types.is_string(column.type)
        return [None if value is None else _bytes_value(value, is_text=is_text) for value in bounds.to_pylist()]
    if pa.types.is_decimal(arrow_type):
        return [None if value is None else format(value, "f") for value in bounds.to_pylist()]
    if pa.types.is_floating(arrow_type):
        return [_float_value(value) for value in bounds.to_pylist()]
    if pa.types.is_timestamp(arrow_type):
        return _timestamp_texts(bounds)
    if pa.types.is_temporal(arrow_type):
        # Arrow formats days outside of Python's calendar.
        return _texts(bounds)
    return bounds.to_pylist()  # type: ignore[no-any-return]  # integers and booleans


def _texts(values: pa.Array) -> list[Any]:
    return pc.cast(values, pa.string()).to_pylist()  # type: ignore[no-any-return]  # strings


def _timestamp_texts(values: pa.Array) -> list[Value]:
    # A cast with the zone would read the time zone database of the machine.
    zone = "Z" if values.type.tz else ""
    naive = values.view(pa.int64()).view(pa.timestamp(values.type.unit))
    return [None if time_string is None else f"{time_string}{zone}" for time_string in _texts(naive)]


def _bytes_value(value: bytes, *, is_text: bool) -> Value:
    try:
        return value.decode("utf-8") if is_text else Hex(value.hex())
    except UnicodeDecodeError:  # a bound may be truncated inside a character
        return Hex(value.hex())


def _float_value(value: float | None) -> Value:
    return value if value is None or math.isfinite(value) else str(value)


def parse_value(column: LeafColumn, literal: str) -> pa.Array:
    """Parse text as one value of the column's type.

    Raises WrongUse for text that is not a value of this type. Dates are written as yyyy-mm-dd, timestamps in ISO 8601
    (in UTC if the column is UTC and the text has no zone), and bytes as 0x with hex digits or as UTF-8 text. A decimal
    may have fewer digits after the point than the column, but not more.

    >>> from parquet_core.format.schema import LeafColumn, Physical, SortOrder
    >>> parse_value(LeafColumn(("n",), 0, Physical.INT32, pa.int8(), SortOrder.SIGNED), "-7").to_pylist()
    [-7]
    """
    try:
        value = _parse(column, literal)
    except (ValueError, OverflowError, pa.ArrowException) as error:
        if isinstance(error, WrongUse):
            raise
        value = None
    if value is None:
        raise WrongUse(f"{literal!r} is not a value of column {column.name}: write {_form(column)}")
    return value


def _parse(column: LeafColumn, literal: str) -> pa.Array | None:  # noqa: PLR0911 - one for each kind of type
    arrow_type = column.type
    if arrow_type is None or pa.types.is_binary(arrow_type) or pa.types.is_fixed_size_binary(arrow_type):
        return _read_bytes(column, literal)
    if pa.types.is_string(arrow_type):
        return pa.array([literal], arrow_type)
    if pa.types.is_integer(arrow_type):
        return pa.array([int(literal)], arrow_type) if _INTEGER.fullmatch(literal) else None
    if pa.types.is_decimal(arrow_type):
        return pa.array([Decimal(literal)], arrow_type) if _DECIMAL.fullmatch(literal) else None
    if pa.types.is_floating(arrow_type):
        return _read_float(literal, arrow_type)
    if pa.types.is_date(arrow_type):
        return pa.array([dt.date.fromisoformat(literal)], arrow_type) if _DATE.fullmatch(literal) else None
    if pa.types.is_timestamp(arrow_type):
        zone = "Z" if arrow_type.tz and not _ZONE.search(literal) else ""
        return pc.cast(pa.array([literal + zone]), arrow_type)
    return _parse_time(literal, arrow_type) if pa.types.is_time(arrow_type) else None


def _parse_time(literal: str, arrow_type: pa.DataType) -> pa.Array | None:
    match = _TIME.fullmatch(literal)
    if match is None:
        return None
    nanoseconds = int(match[1]) * 3600 * 10**9 + int(match[2]) * 60 * 10**9 + int(match[3]) * 10**9
    nanoseconds += int((match[4] or "").ljust(9, "0"))
    # The cast from nanoseconds fails if it would lose digits.
    return pa.array([nanoseconds], pa.int64()).cast(pa.time64("ns")).cast(arrow_type)


def _read_float(literal: str, arrow_type: pa.DataType) -> pa.Array | None:
    with np.errstate(over="ignore"):
        value = np.array([float(literal)]).astype(arrow_type.to_pandas_dtype())
    too_large = np.isinf(value[0]) and "inf" not in literal.lower()
    return None if too_large else pa.array(value, arrow_type)


def _read_bytes(column: LeafColumn, literal: str) -> pa.Array | None:
    if _HEX.fullmatch(literal):
        data = bytes.fromhex(literal[2:])
    elif column.type_length == _UUID_BYTES and _UUID.fullmatch(literal):
        data = bytes.fromhex(literal.replace("-", ""))
    else:
        data = literal.encode()
    fixed = column.physical is Physical.FIXED_LEN_BYTE_ARRAY and len(data) == column.type_length
    fits = column.physical is Physical.BYTE_ARRAY or fixed
    return pa.array([data], pa.binary()) if fits else None


def _form(column: LeafColumn) -> str:
    """Return a description of the literals of a column."""
    arrow_type = column.type
    if column.physical is Physical.FIXED_LEN_BYTE_ARRAY and (
        arrow_type is None or pa.types.is_fixed_size_binary(arrow_type)
    ):
        return f"{column.type_length} bytes, as 0x and {2 * column.type_length} hex digits"
    if arrow_type is not None and pa.types.is_date(arrow_type):
        return "a date as yyyy-mm-dd"
    if arrow_type is not None and pa.types.is_timestamp(arrow_type):
        zone = "with or without a zone" if arrow_type.tz else "without a zone"
        return f"a time such as 2024-03-01 12:30:00, {zone}, no finer than {arrow_type.unit}"
    return f"one of type {column.physical.name if arrow_type is None else arrow_type}"
