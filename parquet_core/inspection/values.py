"""Bounds as values of JSON, not shortened."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.inspection.facts import Hex

if TYPE_CHECKING:
    from decimal import Decimal

    from parquet_core.format.schema import LeafColumn
    from parquet_core.inspection.facts import Value


def plain_values(column: LeafColumn, bounds: pa.Array) -> list[Value]:
    """Turn bounds of a column into values of JSON; None where none is known.

    >>> from parquet_core.format.schema import LeafColumn, Physical, SortOrder
    >>> day = LeafColumn(("d",), 0, Physical.INT32, pa.date32(), SortOrder.SIGNED)
    >>> plain_values(day, pa.array([0, None], pa.int32()).view(pa.date32()))
    ['1970-01-01', None]
    """
    kind = bounds.type
    if pa.types.is_binary(kind):
        is_text = column.type is not None and pa.types.is_string(column.type)
        return [None if value is None else _of_bytes(value, is_text=is_text) for value in bounds.to_pylist()]
    if pa.types.is_decimal(kind):
        return [None if value is None else _of_decimal(value) for value in bounds.to_pylist()]
    if pa.types.is_floating(kind):
        return [_of_float(value) for value in bounds.to_pylist()]
    if pa.types.is_timestamp(kind):
        return _of_timestamps(bounds)
    if pa.types.is_temporal(kind):
        # Arrow names days that Python's calendar lacks.
        return _texts(bounds)
    return bounds.to_pylist()  # type: ignore[no-any-return]  # integers and booleans


def _texts(values: pa.Array) -> list[Any]:
    return pc.cast(values, pa.string()).to_pylist()  # type: ignore[no-any-return]  # strings


def _of_timestamps(values: pa.Array) -> list[Value]:
    # Cast as it stands a zone would be looked up in the machine's database.
    zone = "Z" if values.type.tz else ""
    naive = values.view(pa.int64()).view(pa.timestamp(values.type.unit))
    return [None if text is None else f"{text}{zone}" for text in _texts(naive)]


def _of_bytes(value: bytes, *, is_text: bool) -> Value:
    try:
        return value.decode("utf-8") if is_text else Hex(value.hex())
    except UnicodeDecodeError:  # a bound may be cut inside of a character
        return Hex(value.hex())


def _of_decimal(value: Decimal) -> str:
    return format(value, "f")


def _of_float(value: float | None) -> Value:
    return value if value is None or math.isfinite(value) else str(value)
