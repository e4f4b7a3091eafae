"""Rows as text that is equal for every reader; requires only Python."""

from __future__ import annotations

import datetime as dt
import decimal
import json


def plain_rows(rows):
    """Return dictionaries of Python values as sorted strings."""
    return sorted(json.dumps([[name, plain(row[name])] for name in sorted(row)]) for row in rows)


def plain(value):
    """A value in a form of its own: maps and structs as sorted pairs, times in UTC."""
    match value:
        case bool() | None | int():
            return value
        case float():
            return "NaN" if value != value else value + 0.0  # noqa: PLR0124 - NaN alone differs from itself
        case str():
            return value
        case bytes() | bytearray():
            return value.hex()
        case decimal.Decimal():
            return f"{value:f}"
        case dt.datetime():
            moment = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
            return moment.isoformat(timespec="microseconds")
        case dt.date():
            return value.isoformat()
        case dict():
            return sorted([str(plain(key)), plain(inner)] for key, inner in value.items())
        case list() | tuple():
            if value and all(isinstance(inner, tuple) and len(inner) == 2 for inner in value):
                return sorted([str(plain(key)), plain(inner)] for key, inner in value)
            return [plain(inner) for inner in value]
    raise TypeError(type(value))
