"""Bounds of a column as the JSON values that `stats` holds: what a reader takes for the bound, or for a wider one.

What JSON or its readers cannot hold has none: a year beyond 1 to 9999, binary, booleans.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from deltalog.stats.truncated_strings import lower_string, upper_string
from parquet_core.arrow_arrays import flags_from, numbers_from

if TYPE_CHECKING:
    from collections.abc import Callable

    Text = Callable[[Any], str | None]

_EPOCH_DAY = 719_163
_LAST_DAY = dt.date.max.toordinal()
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the zone is put behind the text
_MICROS = 1_000


def bound_texts(kind: str, bounds: pa.Array, *, upper: bool, prefix: int) -> list[bytes | None]:
    """Return one side of bounds as JSON, None where there is none.

    `kind`: Delta's name of the type. `bounds` have its bounds type. A time is cut to milliseconds, downward or upward;
    a string to `prefix` characters.
    """
    write = _writer(kind, bounds.type, upper=upper, prefix=prefix)
    if write is None:
        return [None] * len(bounds)
    found = [None if value is None else write(value) for value in _values(bounds)]
    return [None if text is None else text.encode() for text in found]


def _values(bounds: pa.Array) -> list[Any]:
    if not (pa.types.is_temporal(bounds.type)):
        return list(bounds.to_pylist())
    # As numbers: Python's dates and times end with the year 9999.
    valid = flags_from(bounds.is_valid()).tolist()
    return [number if is_there else None for number, is_there in zip(numbers_from(bounds).tolist(), valid, strict=True)]


def _writer(kind: str, stored: pa.DataType, *, upper: bool, prefix: int) -> Text | None:  # noqa: PLR0911 - one a kind
    if kind == "string" and pa.types.is_binary(stored):
        return (lambda bound: _upper_text(bound, prefix)) if upper else (lambda bound: _lower_text(bound, prefix))
    if pa.types.is_integer(stored):
        return str
    if pa.types.is_floating(stored):
        return _float
    if pa.types.is_decimal(stored):
        return lambda value: format(value, "f")
    if pa.types.is_date(stored):
        return _date
    if pa.types.is_timestamp(stored) and stored.unit == "us":
        zone = "" if stored.tz is None else "Z"
        return lambda micros: _time(-(-micros // _MICROS) if upper else micros // _MICROS, zone)
    return None


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _lower_text(bound: bytes, prefix: int) -> str:
    return _quoted(lower_string(bound, prefix))


def _upper_text(bound: bytes, prefix: int) -> str | None:
    text = upper_string(bound, prefix)
    return None if text is None else _quoted(text)


def _float(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    # A float as the double that it is: read as either it is the same, also after the column became one of doubles.
    return repr(value)


def _date(days: int) -> str | None:
    ordinal = days + _EPOCH_DAY
    return f'"{dt.date.fromordinal(ordinal).isoformat()}"' if 1 <= ordinal <= _LAST_DAY else None


def _time(millis: int, zone: str) -> str | None:
    try:
        moment = _EPOCH + dt.timedelta(milliseconds=millis)
    except OverflowError:
        return None
    return f'"{moment.isoformat(timespec="milliseconds")}{zone}"'
