"""Write the JSON statistics of a file. A bound is exact or wider.

Values that JSON or its readers cannot hold have no bound: years outside 1 to 9999, binary, booleans. A string is
truncated to the number of characters that statistics hold; a prefix is a valid lower bound. An upper bound is a prefix
followed by a character that is larger than the first dropped character. If there is no larger character, the prefix is
extended; if that fails too, there is no bound.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa

from parquet_core.arrow_arrays import flags_from, numbers_from

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parquet_core.format.schema import Path

    Text = Callable[[Any], str | None]

_EPOCH_DAY = 719_163
_LAST_DAY = dt.date.max.toordinal()
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the zone is appended to the text
_MICROS = 1_000
PREFIX_LENGTH = "delta.dataSkippingStringPrefixLength"
_BY_DEFAULT = 32
# The reference implementation appends one of these to a truncated upper bound: ASCII if that suffices.
_LAST_ASCII = "\x7f"
_LAST = "\U0010ffff"


class ColumnTexts(NamedTuple):
    """One column in many files: JSON texts of both bounds, and null counts; None if missing."""

    path: Path
    minimum: Sequence[bytes | None]
    maximum: Sequence[bytes | None]
    nulls: Sequence[int | None]


def statistics_text(records: int, columns: Sequence[ColumnTexts], index: int, *, tight: bool | None) -> str:
    """Return the JSON statistics of the file at `index`.

    >>> statistics_text(3, [ColumnTexts(("s", "a"), [b"1"], [b"2"], [None])], 0, tight=None)
    '{"numRecords":3,"minValues":{"s":{"a":1}},"maxValues":{"s":{"a":2}}}'
    """
    statistics: dict[str, Any] = {"numRecords": records, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for column in columns:
        for part, value in (("minValues", column.minimum[index]), ("maxValues", column.maximum[index])):
            if value is not None:
                _put(statistics[part], column.path, msgspec.Raw(value))
        nulls = column.nulls[index]
        if nulls is not None:
            _put(statistics["nullCount"], column.path, nulls)
    if tight is not None:
        statistics["tightBounds"] = tight
    # Leave out empty parts: some readers treat a column missing from a part as a value.
    return msgspec.json.encode({name: part for name, part in statistics.items() if part != {}}).decode()


def _put(tree: dict[str, Any], path: Path, value: object) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def bound_texts(delta_type: str, bounds: pa.Array, *, upper: bool, prefix: int) -> list[bytes | None]:
    """Return one side of bounds as JSON; None for a value without a bound.

    `delta_type`: Delta's name of the type.
    `bounds`: values of the bounds type.
    `upper`: True for upper bounds.
    `prefix`: number of characters to which strings are truncated.

    Times are rounded to milliseconds, downward or upward.
    """
    write = _writer(delta_type, bounds.type, upper=upper, prefix=prefix)
    if write is None:
        return [None] * len(bounds)
    written = [None if value is None else write(value) for value in _values(bounds)]
    return [None if json_text is None else json_text.encode() for json_text in written]


def _values(bounds: pa.Array) -> list[Any]:
    if not (pa.types.is_temporal(bounds.type)):
        return list(bounds.to_pylist())
    # Values are read as numbers, because Python's dates and times end with the year 9999.
    valid = flags_from(bounds.is_valid()).tolist()
    return [value if is_there else None for value, is_there in zip(numbers_from(bounds).tolist(), valid, strict=True)]


def _writer(delta_type: str, stored: pa.DataType, *, upper: bool, prefix: int) -> Text | None:  # noqa: PLR0911 - one return per type
    if delta_type == "string" and pa.types.is_binary(stored):
        return (
            (lambda bound: _upper_text(bound, prefix))
            if upper
            else (lambda bound: _quoted(lower_string(bound, prefix)))
        )
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


def _quoted(value: str) -> str:
    return msgspec.json.encode(value).decode()


def _upper_text(bound: bytes, prefix: int) -> str | None:
    bound_above = upper_string(bound, prefix)
    return None if bound_above is None else _quoted(bound_above)


def _float(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    # Write a FLOAT as the equal double: the text is exact for both types, also after the column is widened to DOUBLE.
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


def prefix_length(properties: Mapping[str, str]) -> int:
    """Return the number of characters that string bounds may have."""
    try:
        length = int(properties.get(PREFIX_LENGTH, _BY_DEFAULT))
    except ValueError:
        return _BY_DEFAULT
    return length if length > 0 else _BY_DEFAULT


def lower_string(bound: bytes, most: int) -> str:
    """Return a lower bound of at most `most` characters.

    `bound`: may end within a character.

    >>> lower_string(b"abcdef", 3), lower_string("é".encode()[:1], 3)
    ('abc', '')
    """
    return _whole_characters(bound)[:most]


def upper_string(bound: bytes, most: int) -> str | None:
    r"""Truncate an upper bound after `most` to `2 * most` characters; None if impossible.

    >>> upper_string(b"abc", 3), upper_string(b"abcd", 3), upper_string("abcé".encode(), 3)
    ('abc', 'abc\x7f', 'abc\U0010ffff')
    """
    prefix = _whole_characters(bound)
    if len(prefix) <= most:
        rest = bound[len(prefix.encode()) :]
        return prefix if not rest else _closed(prefix, rest)
    for length in range(most, min(2 * most, len(prefix) - 1) + 1):
        if prefix[length] < _LAST:
            return prefix[:length] + (_LAST_ASCII if prefix[length] < _LAST_ASCII else _LAST)
    return None


def _closed(prefix: str, rest: bytes) -> str | None:
    """Replace an incomplete last character, which a writer truncated or incremented; None if impossible."""
    return prefix + _LAST if rest[0] < _LAST.encode()[0] else None


def _whole_characters(bound: bytes) -> str:
    try:
        return bound.decode()
    except UnicodeDecodeError as error:
        return bound[: error.start].decode()
