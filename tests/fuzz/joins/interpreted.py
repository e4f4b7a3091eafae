"""Joins evaluated in Python, for keys that Spark compares in the type of the table's column."""

from __future__ import annotations

import math
from collections import Counter

import pyarrow as pa
from planner.tables import ROW

from .cases import family_of

_EXACT = {"integer", "decimal"}


def rows_with_partner(whole, columns, case):
    """Return how often each row of a table is in a semi join, None if Spark casts a column."""
    if not all(_is_compared(columns[pair.path].type, case.plain[pair.key].type) for pair in case.pairs):
        return None
    safe = [pair.null_safe for pair in case.pairs]
    own = [_values(columns[pair.path]) for pair in case.pairs]
    keys = zip(*(_values(case.plain[pair.key]) for pair in case.pairs), strict=True)
    partners = {key for key in keys if _may_match(key, safe)}
    rows = zip(*own, strict=True)
    return Counter(
        number
        for number, row in zip(whole[ROW].to_pylist(), rows, strict=True)
        if _may_match(row, safe) and row in partners
    )


def _is_compared(column, key):
    one, other = family_of(column), family_of(key)
    if one == "timestamp" == other:
        return (column.tz is None) == (key.tz is None)
    return one == other or {one, other} <= _EXACT


def _may_match(values, safe):
    return all(value is not None or is_safe for value, is_safe in zip(values, safe, strict=True))


def _values(column):
    """Return values that are equal in Python if they are equal in Spark."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    values = column.to_pylist()
    return ["NaN" if isinstance(value, float) and math.isnan(value) else value for value in values]
