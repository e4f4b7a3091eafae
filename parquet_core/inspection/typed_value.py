"""A value written as text, as a value of a column's type."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.errors import WrongUse
from parquet_core.format.schema import Physical

if TYPE_CHECKING:
    from parquet_core.format.schema import LeafColumn

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,60}(?:\.[0-9]{0,60})?|\.[0-9]{1,60})")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,9}))?")
_ZONE = re.compile(r"(?:Z|[+-][0-9]{2}:?[0-9]{2})$")
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_UUID_BYTES = 16


def parse_value(column: LeafColumn, text: str) -> pa.Array:
    """Read a text as one value of the column's type; WrongUse when it cannot be one.

    Dates are yyyy-mm-dd, timestamps ISO 8601 (of a UTC column without a zone: UTC), bytes are 0x and hex digits or
    else UTF-8 text. A decimal may have fewer digits behind the point than the column, not more.

    >>> from parquet_core.format.schema import LeafColumn, Physical, SortOrder
    >>> parse_value(LeafColumn(("n",), 0, Physical.INT32, pa.int8(), SortOrder.SIGNED), "-7").to_pylist()
    [-7]
    """
    try:
        found = _parse(column, text)
    except (ValueError, OverflowError, pa.ArrowException) as error:
        if isinstance(error, WrongUse):
            raise
        found = None
    if found is None:
        raise WrongUse(f"{text!r} is no value of column {column.name}: write {_form(column)}")
    return found


def _parse(column: LeafColumn, text: str) -> pa.Array | None:  # noqa: PLR0911 - one for each kind of type
    kind = column.type
    if kind is None or pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return _of_bytes(column, text)
    if pa.types.is_string(kind):
        return pa.array([text], kind)
    if pa.types.is_integer(kind):
        return pa.array([int(text)], kind) if _INTEGER.fullmatch(text) else None
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(text)], kind) if _DECIMAL.fullmatch(text) else None
    if pa.types.is_floating(kind):
        return _of_float(text, kind)
    if pa.types.is_date(kind):
        return pa.array([dt.date.fromisoformat(text)], kind) if _DATE.fullmatch(text) else None
    if pa.types.is_timestamp(kind):
        zone = "Z" if kind.tz and not _ZONE.search(text) else ""
        return pc.cast(pa.array([text + zone]), kind)
    return _of_time(text, kind) if pa.types.is_time(kind) else None


def _of_time(text: str, kind: pa.DataType) -> pa.Array | None:
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    nanoseconds = int(found[1]) * 3600 * 10**9 + int(found[2]) * 60 * 10**9 + int(found[3]) * 10**9
    nanoseconds += int((found[4] or "").ljust(9, "0"))
    # Cast from the finest unit, which refuses to lose digits.
    return pa.array([nanoseconds], pa.int64()).cast(pa.time64("ns")).cast(kind)


def _of_float(text: str, kind: pa.DataType) -> pa.Array | None:
    with np.errstate(over="ignore"):
        number = np.array([float(text)]).astype(kind.to_pandas_dtype())
    too_large = np.isinf(number[0]) and "inf" not in text.lower()
    return None if too_large else pa.array(number, kind)


def _of_bytes(column: LeafColumn, text: str) -> pa.Array | None:
    if _HEX.fullmatch(text):
        data = bytes.fromhex(text[2:])
    elif column.type_length == _UUID_BYTES and _UUID.fullmatch(text):
        data = bytes.fromhex(text.replace("-", ""))
    else:
        data = text.encode()
    fixed = column.physical is Physical.FIXED_LEN_BYTE_ARRAY and len(data) == column.type_length
    fits = column.physical is Physical.BYTE_ARRAY or fixed
    return pa.array([data], pa.binary()) if fits else None


def _form(column: LeafColumn) -> str:
    """Describe how values of a column are written."""
    kind = column.type
    if column.physical is Physical.FIXED_LEN_BYTE_ARRAY and (kind is None or pa.types.is_fixed_size_binary(kind)):
        return f"{column.type_length} bytes, as 0x and {2 * column.type_length} hex digits"
    if kind is not None and pa.types.is_date(kind):
        return "a date as yyyy-mm-dd"
    if kind is not None and pa.types.is_timestamp(kind):
        zone = "with or without a zone" if kind.tz else "without a zone"
        return f"a time such as 2024-03-01 12:30:00, {zone}, no finer than {kind.unit}"
    return f"one of type {column.physical.name if kind is None else kind}"
