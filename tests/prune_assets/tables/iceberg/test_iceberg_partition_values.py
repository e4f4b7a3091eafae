"""Bounds of source columns from transformed values, at the ends of types and where writers disagree."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from prune_assets.tables.iceberg.columns import columns_of
from prune_assets.tables.iceberg.partition_values import bounds_of_transformed
from prune_assets.tables.iceberg.single_values import decoded
from tests.prune_assets.tables.iceberg.iceberg_tables import SCHEMA

COLUMNS = {column.leaf.name: column for column in columns_of(SCHEMA, ())}


def ends(name, transform, value):
    bounds = bounds_of_transformed(COLUMNS[name], transform, [value])
    low, high = bounds.lower[0].as_py(), bounds.upper[0].as_py()
    return low, high, bounds.null_count[0].as_py()


def at(*moment):
    return dt.datetime(*moment)  # noqa: DTZ001 - of a column without a zone


LAST = dt.timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("name", "transform", "value", "low", "high"),
    [
        ("ts", "year", 54, at(2024, 1, 1), at(2025, 1, 1) - LAST),
        ("ts", "month", 54 * 12 + 1, at(2024, 2, 1), at(2024, 3, 1) - LAST),
        ("ts", "day", 19_782, at(2024, 2, 29), at(2024, 3, 1) - LAST),
        ("ts", "hour", 19_782 * 24 + 23, at(2024, 2, 29, 23), at(2024, 3, 1) - LAST),
        ("day", "year", 54, dt.date(2024, 1, 1), dt.date(2024, 12, 31)),
        ("day", "month", 13, dt.date(1971, 2, 1), dt.date(1971, 2, 28)),
        ("day", "day", 19_782, dt.date(2024, 2, 29), dt.date(2024, 2, 29)),
        ("day", "day", -1, dt.date(1969, 12, 31), dt.date(1969, 12, 31)),
        ("n", "truncate[10]", -20, -20, -11),
        ("n", "truncate[10]", 2_147_483_640, 2_147_483_640, 2_147_483_647),
        ("k", "truncate[10]", (1 << 63) - 8, (1 << 63) - 8, (1 << 63) - 1),
        ("d", "truncate[50]", Decimal("-1.00"), Decimal("-1.00"), Decimal("-0.51")),
        ("d", "truncate[50]", Decimal("99999999.50"), Decimal("99999999.50"), Decimal("99999999.99")),
        ("s", "truncate[3]", "ab", b"ab", b"ab"),
        ("s", "truncate[2]", "ab", b"ab", b"ac"),
        ("s", "truncate[1]", "日", "日".encode(), "日".encode()[:-1] + b"\xa6"),
        ("b", "truncate[2]", b"a\xff", b"a\xff", b"b"),
        ("b", "truncate[2]", b"\xff\xff", b"\xff\xff", None),
        ("x", "identity", 0.0, -0.0, 0.0),
        ("d", "identity", Decimal("-1.25"), Decimal("-1.25"), Decimal("-1.25")),
        ("k", "bucket[4]", 3, None, None),
    ],
)
def test_a_value_is_turned_into_bounds(name, transform, value, low, high):
    assert ends(name, transform, value) == (low, high, 0)
    assert ends(name, transform, None) == (None, None, 1)


@pytest.mark.parametrize(
    ("name", "transform", "value", "low"),
    [
        ("ts", "year", 0, at(1969, 1, 1)),
        ("ts", "month", -1, at(1969, 11, 1)),
        ("ts", "day", 0, at(1969, 12, 31)),
        ("ts", "hour", -5, at(1969, 12, 31, 18)),
        ("day", "year", -1, dt.date(1968, 1, 1)),
    ],
)
def test_what_was_counted_towards_1970(name, transform, value, low):
    """Writers before Iceberg 0.11 rounded towards 1970, so values before 1970 may belong to the previous unit."""
    assert ends(name, transform, value)[0] == low


@pytest.mark.parametrize(
    ("name", "transform", "value"),
    [
        ("ts", "year", 1 << 31),
        ("ts", "day", -(1 << 40)),
        ("ts", "hour", 1 << 62),
        ("n", "identity", 1 << 40),
        ("d", "identity", Decimal("12345678901.00")),
        ("s", "a_new_one", 5),
        ("s", "truncate[x]", "a"),
    ],
)
def test_what_fits_no_value_or_is_not_known_tells_nothing(name, transform, value):
    low, high, nulls = ends(name, transform, value)
    assert (low, high) == (None, None)
    assert nulls in {None, 0}
    if transform not in {"year", "day", "hour"} and not transform.startswith("truncate["):
        assert nulls is None
    assert transform != "a_new_one" or ends(name, transform, None)[2] is None


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("n", b"\xff\xff\xff\xff", -1),
        ("k", b"\xff\xff\xff\xff", -1),  # of a file that is older than the wider type
        ("k", b"\x01" + bytes(7), 1),
        ("n", bytes(8), None),
        ("ts", bytes(4), None),
        ("day", b"\x01\0\0\0", dt.date(1970, 1, 2)),
        ("x", b"\0\0\x80\x3f", 1.0),
        ("f", bytes(8), None),
        ("d", b"\x83", Decimal("-1.25")),
        ("d", bytes(17), None),
        ("d", b"\x7f" * 9, None),
        ("flag", b"\x01", True),
        ("flag", b"", None),
        ("s", "é".encode(), "é".encode()),
    ],
)
def test_bounds_are_decoded_by_their_length(name, written, value):
    array = decoded(COLUMNS[name], [None, written])
    assert array.to_pylist() == [None, value]
    assert isinstance(array, pa.Array)
