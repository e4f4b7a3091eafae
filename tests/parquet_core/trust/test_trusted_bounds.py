"""Trust rules for one container each; the numbers are those of the known errors of writers."""

from __future__ import annotations

import struct
import tracemalloc
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written_statistics import written

from parquet_core.format.leaf_type import sort_order
from parquet_core.format.plain import PlainValues
from parquet_core.format.provenance import Provenance
from parquet_core.format.schema import LeafColumn, Physical, SortOrder
from parquet_core.spark_rules.calendars import COMMON_TIME_START, GREGORIAN_START, is_rebased, may_be_rebased
from parquet_core.trust.trust_policy import trust
from parquet_core.trust.trusted_bounds import trusted_bounds

PHYSICAL = {
    "bool": (pa.bool_(), Physical.BOOLEAN, 0),
    "int8": (pa.int8(), Physical.INT32, 0),
    "int32": (pa.int32(), Physical.INT32, 0),
    "int64": (pa.int64(), Physical.INT64, 0),
    "uint32": (pa.uint32(), Physical.INT32, 0),
    "uint64": (pa.uint64(), Physical.INT64, 0),
    "float": (pa.float32(), Physical.FLOAT, 0),
    "double": (pa.float64(), Physical.DOUBLE, 0),
    "float16": (pa.float16(), Physical.FIXED_LEN_BYTE_ARRAY, 2),
    "string": (pa.string(), Physical.BYTE_ARRAY, 0),
    "flba4": (pa.binary(4), Physical.FIXED_LEN_BYTE_ARRAY, 4),
    "date": (pa.date32(), Physical.INT32, 0),
    "time_ms": (pa.time32("ms"), Physical.INT32, 0),
    "ts_us": (pa.timestamp("us", "UTC"), Physical.INT64, 0),
    "ts_ns": (pa.timestamp("ns"), Physical.INT64, 0),
    "int96": (pa.timestamp("ns"), Physical.INT96, 0),
    "dec_int32": (pa.decimal128(5, 2), Physical.INT32, 0),
    "dec_int64": (pa.decimal128(18, 2), Physical.INT64, 0),
    "dec_flba": (pa.decimal128(5, 2), Physical.FIXED_LEN_BYTE_ARRAY, 3),
    "dec_bytes": (pa.decimal128(5, 2), Physical.BYTE_ARRAY, 0),
    "none": (None, Physical.INT64, 0),
}
FORMATS = {Physical.INT32: "<i", Physical.INT64: "<q", Physical.FLOAT: "<f", Physical.DOUBLE: "<d"}
SPARK_4 = {"org.apache.spark.version": "4.0.0"}
PARQUET_MR = "parquet-mr version 1.17.0 (build 1)"
NAN = float("nan")


def leaf(kind, *, definition=1, repetition=0):
    values, physical, length = PHYSICAL[kind]
    return LeafColumn(
        ("x",), 0, physical, values, sort_order(values, physical), length, definition, repetition, unsupported="not yet"
    )


def encode(kind, value):
    if value is None or isinstance(value, bytes):
        return value
    if kind == "float16":
        return struct.pack("<e", value)
    return struct.pack(FORMATS[PHYSICAL[kind][1]], value)


def bounds_of(kind, *entries, orders=(1,), key_values=SPARK_4, created_by=PARQUET_MR, pages=False, **levels):
    column = leaf(kind, **levels)
    sides = ("min", "max", "old_min", "old_max")
    rows = [
        {"rows": 10, **entry} | {side: encode(kind, entry[side]) for side in sides if side in entry}
        for entry in entries
    ]
    judged = trust(column, Provenance((column,), orders, key_values, created_by))
    return trusted_bounds(column, written(rows, pages=pages), [judged], np.zeros(len(rows), np.int64))


def sides(bounds):
    """Return the stored values of both sides, so that a zero shows its sign and a date its day."""

    def plain(array):
        if pa.types.is_temporal(array.type):
            array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
        return [repr(value) if isinstance(value, float) else value for value in array.to_pylist()]

    return list(zip(plain(bounds.lower), plain(bounds.upper), strict=True))


def one(kind, entry, **options):
    return sides(bounds_of(kind, entry, **options))[0]


NOTHING = (None, None)


@pytest.mark.parametrize(
    ("kind", "low", "high", "expected"),
    [
        ("bool", b"\0", b"\1", (False, True)),
        ("int8", -128, 127, (-128, 127)),
        ("int32", -(2**31), 2**31 - 1, (-(2**31), 2**31 - 1)),
        ("int64", -(2**63), 2**63 - 1, (-(2**63), 2**63 - 1)),
        ("float", -1.5, 2.5, ("-1.5", "2.5")),
        ("double", float("-inf"), float("inf"), ("-inf", "inf")),
        ("float16", -1.5, 2.5, ("-1.5", "2.5")),
        ("string", b"", b"\xf0\x9f", (b"", b"\xf0\x9f")),
        ("flba4", b"\0\0\0\1", b"\xff\0\0\0", (b"\0\0\0\1", b"\xff\0\0\0")),
        ("date", -5, 5, (-5, 5)),
        ("time_ms", 0, 86_399_999, (0, 86_399_999)),
        ("ts_us", -5, 2**62, (-5, 2**62)),
    ],
)
def test_bounds_of_each_type_are_decoded(kind, low, high, expected):
    assert one(kind, {"min": low, "max": high, "nulls": 0}) == expected


@pytest.mark.parametrize(
    ("kind", "low", "high", "why"),
    [
        ("bool", b"\0", b"\2", "2 is no boolean"),
        ("bool", b"\0", b"", "no byte"),
        ("int8", 0, 128, "beyond 8 bits"),
        ("int8", 0, 256 + 5, "beyond 8 bits, and not to be cut to 5"),
        ("int32", b"\0\0\0", b"\1\0\0\0", "3 bytes"),
        ("int64", b"\0" * 8, b"\1" * 9, "9 bytes"),
        ("double", b"\0" * 4, b"\0" * 8, "4 bytes"),
        ("float16", b"\0", b"\0\0", "1 byte"),
        ("flba4", b"\0", b"\1\1\1\1\1", "longer than a value"),
        ("time_ms", 0, 86_400_000, "no time of a day"),
        ("dec_int32", 0, 10**5, "beyond the precision"),
        ("dec_flba", b"\0\0", b"\0\0\1", "2 bytes"),
        ("int64", 5, 4, "the lower above the upper"),
        ("string", b"b", b"a", "the lower above the upper"),
        ("float", 5.0, 4.0, "the lower above the upper"),
    ],
)
def test_what_the_type_cannot_hold_is_unknown_on_both_sides(kind, low, high, why):
    bounds = bounds_of(kind, {"min": low, "max": high, "nulls": 3})
    assert sides(bounds) == [NOTHING], why
    assert bounds.null_count.to_pylist() == [3]


ZEROS = pytest.mark.parametrize("kind", ["float", "double", "float16"])


@ZEROS
@pytest.mark.parametrize("orders", [(1,), (2,)])
@pytest.mark.parametrize("pages", [False, True])
def test_cases_1_to_3_either_zero_stands_for_both(kind, orders, pages):
    entries = [{"min": 0.0, "max": 5.0}, {"min": -5.0, "max": -0.0}, {"min": -0.0, "max": -0.0}, {"min": 0.0, "max": 0}]
    found = sides(bounds_of(kind, *entries, orders=orders, pages=pages))
    assert found == [("-0.0", "5.0"), ("-5.0", "0.0"), ("-0.0", "0.0"), ("-0.0", "0.0")]


def test_a_widened_zero_is_not_said_to_occur():
    bounds = bounds_of("float", {"min": 0.0, "max": 5.0, "min_exact": True, "max_exact": True})
    assert (bounds.min_exact.to_pylist(), bounds.max_exact.to_pylist()) == ([None], [True])


@ZEROS
def test_case_4_a_nan_count_that_is_absent_is_unknown(kind):
    entries = [{"min": 1.0, "max": 2.0, "nulls": 0}, {"min": 1.0, "max": 2.0, "nulls": 0, "nans": 4}]
    assert bounds_of(kind, *entries, orders=(2,)).nan_count.to_pylist() == [None, 4]
    assert bounds_of("int32", {"min": 1, "max": 2}).nan_count.to_pylist() == [0]
    assert bounds_of("none", {"min": b"1", "max": b"2"}).nan_count.to_pylist() == [None]


@ZEROS
@pytest.mark.parametrize(("low", "high"), [(1.0, NAN), (NAN, 1.0), (NAN, NAN), (-NAN, NAN)])
def test_cases_5_and_6_a_nan_as_bound_drops_both_and_keeps_the_null_count(kind, low, high):
    bounds = bounds_of(kind, {"min": low, "max": high, "nulls": 3})
    assert sides(bounds) == [NOTHING]
    assert bounds.null_count.to_pylist() == [3]


@ZEROS
def test_case_6_a_chunk_of_nan_alone_keeps_its_counts(kind):
    bounds = bounds_of(kind, {"min": -NAN, "max": NAN, "nulls": 3, "nans": 7}, orders=(2,))
    assert (sides(bounds), bounds.null_count.to_pylist(), bounds.nan_count.to_pylist()) == ([NOTHING], [3], [7])


def test_bounds_beside_nan_alone_are_a_contradiction():
    bounds = bounds_of("double", {"min": 1.0, "max": 2.0, "nulls": 3, "nans": 7})
    assert (sides(bounds), bounds.null_count.to_pylist(), bounds.nan_count.to_pylist()) == ([NOTHING], [None], [None])


@pytest.mark.parametrize("nans", [-1, 8, 11])
def test_a_nan_count_beyond_the_values_is_unknown(nans):
    bounds = bounds_of("double", {"min": 1.0, "max": 2.0, "nulls": 3, "nans": nans})
    assert (sides(bounds), bounds.nan_count.to_pylist()) == ([("1.0", "2.0")], [None])


def test_case_7_a_null_count_that_is_absent_is_unknown():
    assert bounds_of("int32", {"min": 1, "max": 2}).null_count.to_pylist() == [None]


def test_case_8_an_empty_struct_says_nothing():
    bounds = bounds_of("string", {})
    assert (sides(bounds), bounds.null_count.to_pylist()) == ([NOTHING], [None])


@pytest.mark.parametrize(
    ("kind", "old", "expected", "why"),
    [
        ("int32", (1, 2), (1, 2), "signed is its order"),
        ("bool", (b"\0", b"\1"), (False, True), "signed is its order"),
        ("date", (1, 2), (1, 2), "signed is its order"),
        ("ts_us", (1, 2), (1, 2), "signed is its order"),
        ("double", (1.0, 2.0), ("1.0", "2.0"), "signed is its order"),
        ("double", (1.0, NAN), NOTHING, "a NaN as bound"),
        ("uint32", (1, 2), NOTHING, "compared as signed numbers"),
        ("uint32", (7, 7), (7, 7), "one value is the same in any order"),
        ("string", (b"a", b"b"), NOTHING, "compared as signed bytes, or not"),
        ("string", (b"a", b"a"), (b"a", b"a"), "one value is the same in any order"),
        ("flba4", (b"aaaa", b"aaab"), NOTHING, "compared as signed bytes, or not"),
        ("float16", (1.0, 2.0), NOTHING, "compared as bytes, or not"),
        ("dec_int32", (7, 7), NOTHING, "no deprecated bounds of decimals"),
        ("dec_int64", (7, 8), NOTHING, "no deprecated bounds of decimals"),
        ("int96", (b"\0" * 12, b"\0" * 12), NOTHING, "no order"),
        ("none", (b"\0" * 8, b"\0" * 8), NOTHING, "no type"),
    ],
)
@pytest.mark.parametrize("orders", [(1,), (), (9,)])
def test_case_9_deprecated_bounds(kind, old, expected, why, orders):
    low, high = old
    assert one(kind, {"old_min": low, "old_max": high}, orders=orders) == expected, why


@pytest.mark.parametrize("new", [{"min": 1}, {"max": 9}, {"min": 9, "max": 1}])
def test_deprecated_bounds_give_way_to_any_of_the_new(new):
    found = one("int32", {"old_min": 4, "old_max": 5, **new})
    assert found == (NOTHING if len(new) == 2 else (new.get("min"), new.get("max")))
    assert one("int32", {"old_min": 4, "old_max": 5, **new}, orders=()) == NOTHING


def test_deprecated_bounds_that_were_cut_to_the_same_beginning_are_not_one_value():
    assert one("string", {"old_min": b"a", "old_max": b"a", "max_exact": False}) == NOTHING


@pytest.mark.parametrize(
    ("created_by", "believed"),
    [
        ("", False),
        ("somebody", False),
        ("parquet-mr", False),
        ("parquet-mr version ", False),
        ("parquet-mr version 1.7.9 (build 1)", False),
        ("parquet-mr version 1.8.0rc1", False),
        ("parquet-mr version 1.5.0-cdh5.4.9 (build 1)", False),
        ("parquet-mr version 1.5.0-cdh5.5.0 (build 1)", True),
        ("parquet-mr version 1.8.0 (build 1)", True),
        ("impala version 2.9.0 (build 1)", True),
        ("DuckDB version v1.4.0 (build 1)", True),
    ],
)
def test_case_10_deprecated_bytes_of_writers_that_mixed_them_up(created_by, believed):
    same = {"old_min": b"aaaa", "old_max": b"aaaa"}
    for kind in ("string", "flba4"):
        assert one(kind, same, created_by=created_by) == ((b"aaaa", b"aaaa") if believed else NOTHING)
    assert one("int32", {"old_min": 1, "old_max": 2}, created_by=created_by) == (1, 2), "numbers were never mixed up"


@pytest.mark.parametrize(
    ("kind", "orders", "believed"),
    [
        ("int32", (1,), True),
        ("int32", (), False),
        ("int32", (0,), False),
        ("int32", (2,), False),
        ("int32", (3,), False),
        ("int32", (99,), False),
        ("double", (2,), True),
        ("double", (3,), False),
        ("string", (2,), False),
    ],
)
def test_case_11_an_order_that_is_not_known_is_none(kind, orders, believed):
    value = {"int32": 1, "double": 1.0, "string": b"a"}[kind]
    bounds = bounds_of(kind, {"min": value, "max": value, "nulls": 2}, orders=orders)
    assert (bounds.lower.null_count == 0) == believed
    assert bounds.null_count.to_pylist() == [2]


def test_case_12_only_a_writer_that_says_so_has_exact_bounds():
    entry = {"min": b"a", "max": b"b"}
    flags = [{}, {"min_exact": True, "max_exact": False}, {"min_exact": True, "max": b"A"}]
    bounds = bounds_of("string", *({**entry, **flag} for flag in flags))
    assert bounds.min_exact.to_pylist() == [None, True, None], "the last contradicts itself"
    assert bounds.max_exact.to_pylist() == [None, False, None]
    old = bounds_of("int32", {"old_min": 1, "old_max": 2, "min_exact": True})
    assert old.min_exact.to_pylist() == [None], "the flag is about the other pair"


def test_cases_13_and_14_cut_strings_stay_bytes_and_compare_unsigned():
    assert one("string", {"min": b"\x7f", "max": b"\xf4\x8f\xbf"}) == (b"\x7f", b"\xf4\x8f\xbf")
    assert one("string", {"min": "\uff5a".encode(), "max": "\U0001f680".encode()})[1] == "\U0001f680".encode()


def test_a_cut_bound_of_fixed_length_stands():
    assert one("flba4", {"min": b"a", "max": b"b"}) == (b"a", b"b")


def test_case_16_unsigned_numbers():
    assert one("uint32", {"min": 1, "max": -1}) == (1, 2**32 - 1)
    assert one("uint64", {"min": -2, "max": -1}) == (2**64 - 2, 2**64 - 1)
    assert one("uint32", {"min": -1, "max": 1}) == NOTHING


def test_case_17_decimals_compare_as_signed_numbers():
    low, high = one("dec_flba", {"min": b"\xff\xff\xff", "max": b"\0\0\1"})
    assert (str(low), str(high)) == ("-0.01", "0.01")
    assert one("dec_flba", {"min": b"\0\0\1", "max": b"\xff\xff\xff"}) == NOTHING
    assert one("dec_bytes", {"min": b"\0", "max": b"\1"}) == NOTHING, "other writers cut them like strings"


@pytest.mark.parametrize("orders", [(1,), (2,), (3,)])
def test_case_18_int96_is_unknown_in_every_order(orders):
    bounds = bounds_of("int96", {"min": b"\0" * 12, "max": b"\1" * 12, "nulls": 1}, orders=orders)
    assert (sides(bounds), bounds.null_count.to_pylist()) == ([NOTHING], [1])


DAY, MICROS = GREGORIAN_START, COMMON_TIME_START * 10**6


@pytest.mark.parametrize(
    ("kind", "key_values", "low", "high", "expected"),
    [
        ("date", SPARK_4, DAY - 9, DAY - 1, (DAY - 9, DAY - 1)),
        ("date", {}, DAY - 9, DAY - 1, (None, DAY)),
        ("date", {}, DAY - 1, DAY, (None, DAY)),
        ("date", {"org.apache.spark.version": "2.4.5"}, 1, 2, NOTHING),
        ("date", {"org.apache.spark.version": ""}, 1, 2, NOTHING),
        ("date", {**SPARK_4, "org.apache.spark.legacyDateTime": ""}, 1, 2, NOTHING),
        ("ts_us", SPARK_4, MICROS - 9, MICROS - 1, (MICROS - 9, MICROS - 1)),
        ("ts_us", {}, MICROS - 9, MICROS - 1, (None, MICROS)),
        ("ts_us", {}, MICROS - 1, MICROS, (None, MICROS)),
        ("ts_ns", {}, MICROS * 1000 - 1, MICROS * 1000, (None, MICROS * 1000)),
        ("ts_us", {**SPARK_4, "org.apache.spark.legacyDateTime": ""}, 1, 2, NOTHING),
        ("time_ms", {}, 1, 2, (1, 2)),
    ],
)
def test_case_20_days_that_may_be_read_in_another_calendar(kind, key_values, low, high, expected):
    for pages in (False, True):
        assert one(kind, {"min": low, "max": high}, key_values=key_values, pages=pages) == expected


@pytest.mark.parametrize(
    ("key_values", "int96", "date"),
    [
        ({}, False, False),
        (SPARK_4, False, False),
        ({**SPARK_4, "org.apache.spark.legacyINT96": ""}, True, False),
        ({**SPARK_4, "org.apache.spark.legacyDateTime": ""}, False, True),
        ({"org.apache.spark.version": "3.0.9"}, True, False),
        ({"org.apache.spark.version": "3.1.0"}, False, False),
        ({"org.apache.spark.version": "2.4.8"}, True, True),
        ({"org.apache.spark.version": "10.0"}, False, False),
        ({"org.apache.spark.version": "4"}, False, False),
        ({"org.apache.spark.version": "x.9"}, True, True),
        ({"org.apache.spark.version": "9" * 5000}, True, True),
    ],
)
def test_int96_has_a_calendar_marker_and_version_of_its_own(key_values, int96, date):
    for kind, expected in (("int96", int96), ("date", date), ("ts_us", date), ("time_ms", False), ("none", False)):
        column = leaf(kind)
        footer = Provenance((column,), (1,), key_values, PARQUET_MR)
        assert is_rebased(column, footer) == expected
        assert may_be_rebased(column, footer) == (not key_values and kind in {"int96", "date", "ts_us"})


@pytest.mark.parametrize("pages", [False, True])
def test_cases_32_and_33_null_counts_of_repeated_columns_count_levels(pages):
    levels = {"definition": 2, "repetition": 1}
    entry = {"min": 1, "max": 9, "nulls": 0, "values": 10 if pages else 14}
    bounds = bounds_of("int32", entry, {**entry, "nulls": 3}, pages=pages, **levels)
    assert sides(bounds) == [(1, 9), (1, 9)]
    assert bounds.null_count.to_pylist() == [None, None]
    null_page = bounds_of("int32", {"nulls": 3, "all_null": pages}, pages=pages, **levels)
    assert (sides(null_page), null_page.null_count.to_pylist()) == ([NOTHING], [None])


def test_case_33_a_null_count_is_held_against_the_level_entries():
    fewer = bounds_of("int32", {"min": 1, "max": 2, "nulls": 0, "values": 9})
    assert (sides(fewer), fewer.null_count.to_pylist()) == ([NOTHING], [None]), "a flat column has one a row"
    short = bounds_of("int32", {"min": 1, "max": 2, "values": 9}, definition=1, repetition=1)
    assert sides(short) == [NOTHING], "a repeated column has at least one a row"
    nested = bounds_of("int32", {"min": 1, "max": 2, "nulls": 4}, definition=2)
    assert nested.null_count.to_pylist() == [4], "a null parent makes a null field"


@pytest.mark.parametrize(
    ("entry", "null_count", "bounds", "why"),
    [
        ({"all_null": True, "min": b"", "max": b"", "nulls": 10}, 10, NOTHING, "case 36: placeholders are no values"),
        ({"all_null": True, "min": b"", "max": b""}, 10, NOTHING, "a null page has as many nulls as rows"),
        ({"all_null": True, "min": b"", "max": b"", "nulls": 0}, None, NOTHING, "case 34"),
        ({"all_null": True, "min": b"", "max": b"", "nulls": 9}, None, NOTHING, "case 34"),
        ({"all_null": True, "min": b"\1\0\0\0", "max": b"", "nulls": 10}, None, NOTHING, "case 34: it has bounds"),
        ({"min": 1, "max": 2, "nulls": 10}, None, NOTHING, "case 34: bounds of no value"),
        ({"min": 1, "max": 2, "nulls": 11}, None, (1, 2), "case 46: more nulls than rows"),
        ({"min": 1, "max": 2, "nulls": 9}, 9, (1, 2), "one value is left"),
    ],
)
def test_cases_34_and_36_null_pages(entry, null_count, bounds, why):
    found = bounds_of("int32", entry, pages=True)
    assert (found.null_count.to_pylist(), sides(found)) == ([null_count], [bounds]), why


def test_case_36_an_empty_string_in_a_null_page_is_no_value_and_elsewhere_it_is():
    entries = [{"all_null": True, "min": b"", "max": b"", "nulls": 10}, {"min": b"", "max": b"", "nulls": 0}]
    assert sides(bounds_of("string", *entries, pages=True)) == [NOTHING, (b"", b"")]


def test_case_44_an_encrypted_chunk_is_unknown_not_null():
    bounds = bounds_of("int32", {"values": 0})
    assert (sides(bounds), bounds.null_count.to_pylist()) == ([NOTHING], [None])


def test_case_45_a_type_that_is_not_understood_has_no_bounds():
    bounds = bounds_of("none", {"min": b"1" * 8, "max": b"2" * 8, "nulls": 1})
    assert (sides(bounds), bounds.null_count.to_pylist()) == ([NOTHING], [1])


@pytest.mark.parametrize("nulls", [-1, -(2**63) + 1, 11, 2**63 - 1])
def test_case_46_garbage_null_counts_are_unknown(nulls):
    bounds = bounds_of("int32", {"min": 1, "max": 2, "nulls": nulls})
    assert (sides(bounds), bounds.null_count.to_pylist()) == ([(1, 2)], [None])


@pytest.mark.parametrize("nulls", [None, 0, 10, 99])
def test_case_46_a_required_column_has_no_nulls_whatever_it_claims(nulls):
    assert bounds_of("int32", {"nulls": nulls}, definition=0).null_count.to_pylist() == [0]


def test_case_46_a_container_without_rows_is_no_contradiction():
    bounds = bounds_of("int32", {"rows": 0, "nulls": 0})
    assert (sides(bounds), bounds.null_count.to_pylist()) == ([NOTHING], [0])


def test_case_46_bounds_of_nulls_alone_are_a_contradiction():
    for entry in ({"min": 1, "max": 2}, {"max": 2}, {"old_min": 1, "old_max": 2}):
        bounds = bounds_of("int32", {**entry, "nulls": 10})
        assert (sides(bounds), bounds.null_count.to_pylist()) == ([NOTHING], [None])
    empty = bounds_of("string", {"min": b"", "max": b"", "nulls": 10})
    assert (sides(empty), empty.null_count.to_pylist()) == ([NOTHING], [None]), "an empty string is a bound"


def test_case_48_each_side_stands_for_itself():
    found = sides(bounds_of("string", {"max": b"b", "nulls": 0}, {"min": b"", "nulls": 0}))
    assert found == [(None, b"b"), (b"", None)]


@ZEROS
def test_one_side_of_floating_point_is_none(kind):
    assert one(kind, {"max": 5.0}) == one(kind, {"min": 5.0}) == NOTHING


@pytest.mark.parametrize("created_by", ["parquet-cpp version 1.3.2-SNAPSHOT", "parquet-cpp version 1.0.0"])
def test_a_writer_that_lost_values_beside_nan_is_not_believed(created_by):
    entry = {"min": 1.0, "max": 2.0, "nulls": 0}
    assert one("double", entry, created_by=created_by) == NOTHING
    assert one("double", {"old_min": 1.0, "old_max": 2.0}, created_by=created_by) == NOTHING
    assert one("double", entry, created_by="parquet-cpp version 1.4.0") == ("1.0", "2.0")
    assert one("int32", {"min": 1, "max": 2}, created_by=created_by) == (1, 2)


def test_another_type_in_the_file_or_no_such_column_is_unknown():
    column, other = leaf("int32"), leaf("int64")
    for columns in ((other,), (), (replace(column, path=("y",)),)):
        judged = trust(column, Provenance(columns, (1,), {}, PARQUET_MR))
        entries = written([{"rows": 10, "min": b"\1\0\0\0", "max": b"\2\0\0\0", "nulls": 0}])
        bounds = trusted_bounds(column, entries, [judged], np.zeros(1, np.int64))
        assert (sides(bounds), bounds.null_count.to_pylist()) == ([NOTHING], [None])
        assert bounds.nan_count.to_pylist() == [None]
        assert judged.reason


def test_a_leaf_is_found_at_another_place_with_the_order_of_that_place():
    column = leaf("int32")
    moved = (replace(column, path=("y",)), replace(column, index=1))
    assert trust(column, Provenance(moved, (9, 1), {}, PARQUET_MR)).bounds
    assert not trust(column, Provenance(moved, (1, 9), {}, PARQUET_MR)).bounds
    assert not trust(column, Provenance(moved, (1,), {}, PARQUET_MR)).bounds


def test_each_entry_is_judged_by_its_own_kind():
    column = leaf("date")
    kinds = [
        trust(column, Provenance((column,), orders, key_values, PARQUET_MR))
        for orders, key_values in [
            ((1,), SPARK_4),
            ((), SPARK_4),
            ((1,), {}),
            ((1,), {"org.apache.spark.version": "2"}),
        ]
    ]
    early = {"rows": 10, "nulls": 1} | {side: encode("date", DAY - 1) for side in ("min", "max")}
    kind = np.array([3, 0, 1, 2, 0])
    bounds = trusted_bounds(column, written([early] * 5), kinds, kind)
    known = (DAY - 1, DAY - 1)
    assert sides(bounds) == [NOTHING, known, NOTHING, (None, DAY), known]
    assert bounds.max_exact.to_pylist()[3] is not True
    assert bounds.null_count.to_pylist() == [1] * 5


def test_the_order_of_entries_does_not_matter():
    rng = np.random.default_rng(5)
    entries = [
        {"rows": 10, "nulls": int(rng.integers(-1, 12))}
        | ({"min": encode("int64", int(rng.integers(-5, 5)))} if rng.random() < 0.8 else {})
        | ({"max": encode("int64", int(rng.integers(-5, 5)))} if rng.random() < 0.8 else {})
        | ({"old_min": encode("int64", -7)} if rng.random() < 0.5 else {})
        for _ in range(200)
    ]
    column = leaf("int64")
    kinds = [trust(column, Provenance((column,), orders, {}, PARQUET_MR)) for orders in ((1,), ())]
    kind = rng.integers(0, 2, 200)
    together = trusted_bounds(column, written(entries), kinds, kind)
    for i, entry in enumerate(entries):
        alone = trusted_bounds(column, written([entry]), kinds, kind[i : i + 1])
        for name in ("lower", "upper", "null_count", "min_exact"):
            assert getattr(together, name)[i].equals(getattr(alone, name)[0])
    assert 0 < together.lower.null_count < 200


def test_no_entries_give_no_bounds():
    for kind in PHYSICAL:
        bounds = bounds_of(kind)
        assert len(bounds) == len(bounds.lower) == len(bounds.max_exact) == 0


def test_values_are_read_where_they_lie():
    buffer = np.frombuffer(b"..\x05\0\0\0\x01\0\0\0", np.uint8)
    column = leaf("int32")
    judged = trust(column, Provenance((column,), (1,), {}, PARQUET_MR))
    entries = replace(
        written([{"rows": 10}] * 2),
        min_value=PlainValues(buffer, np.array([6, 999]), np.array([4, -1])),
        max_value=PlainValues(buffer, np.array([2, 6]), np.array([4, 4])),
    )
    assert sides(trusted_bounds(column, entries, [judged], np.zeros(2, np.int64))) == [(1, 5), (None, 1)]


COUNTS = st.one_of(st.none(), st.integers(-(2**63) + 1, 2**63 - 1), st.integers(0, 3))
SIDES = st.one_of(st.none(), st.binary(max_size=17), st.sampled_from([bytes(n) for n in (1, 2, 3, 4, 8, 12)]))
ENTRIES = st.fixed_dictionaries(
    {"rows": st.integers(0, 3), "min": SIDES, "max": SIDES, "old_min": SIDES, "old_max": SIDES}
    | {
        name: st.one_of(st.none(), st.integers(-(2**63) + 1, 2**63 - 1), st.integers(0, 3))
        for name in ("nulls", "nans")
    }
    | {name: st.sampled_from([None, False, True]) for name in ("min_exact", "max_exact")}
    | {"all_null": st.booleans(), "values": st.integers(0, 4)}
)


@pytest.mark.deep
@settings(max_examples=10 * settings().max_examples)
@given(
    st.sampled_from(sorted(PHYSICAL)),
    st.lists(ENTRIES, max_size=4),
    st.sampled_from([(1,), (2,), ()]),
    st.booleans(),
    st.sampled_from([{"definition": 1}, {"definition": 0}, {"definition": 2, "repetition": 1}]),
)
def test_whatever_is_written_what_is_known_makes_sense(kind, entries, orders, pages, levels):
    bounds = bounds_of(kind, *entries, orders=orders, key_values={}, pages=pages, **levels)
    both = pc.less_equal(bounds.lower, bounds.upper).drop_null()
    assert pc.all(both).as_py() is not False
    for i, entry in enumerate(entries):
        low, high, nulls, nans = (side[i] for side in (bounds.lower, bounds.upper, bounds.null_count, bounds.nan_count))
        assert not nulls.is_valid or nulls.as_py() in range(entry["rows"] + 1) or levels["definition"] == 0
        assert not nans.is_valid or nans.as_py() in range(entry["values"] + 1)
        if entry["rows"] and nulls.as_py() == entry["rows"]:
            assert not low.is_valid
            assert not high.is_valid
        assert low.is_valid or not bounds.min_exact[i].is_valid
        assert high.is_valid or not bounds.max_exact[i].is_valid


def test_a_million_entries_need_little_beside_their_result():
    count = 1_000_000
    plain = PlainValues(np.arange(count).view(np.uint8), np.arange(count) * 8, np.full(count, 8))
    column = leaf("int64")
    entries = replace(
        written([{"rows": 10, "nulls": 0}]),
        min_value=plain,
        max_value=plain,
        deprecated_min=plain,
        deprecated_max=plain,
        **{name: np.zeros(count, np.int64) for name in ("null_count", "nan_count")},
        **{name: np.full(count, -1, np.int8) for name in ("min_exact", "max_exact")},
        **{name: np.full(count, 10) for name in ("num_values", "row_count")},
    )
    kinds = [trust(column, Provenance((column,), (1,), {"file": file}, PARQUET_MR)) for file in "ab"]
    tracemalloc.start()
    try:
        bounds = trusted_bounds(column, entries, kinds, np.arange(count) % 2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    sides_and_counts = (bounds.lower, bounds.upper, bounds.null_count, bounds.nan_count)
    assert sum(array.null_count for array in sides_and_counts) == 0
    assert peak < 4 * sum(array.nbytes for array in sides_and_counts)


def trusted_of(column, entries):
    trusts = [trust(column, Provenance((column,), (1,), {}, ""))]
    return trusted_bounds(column, written(entries), trusts, np.zeros(len(entries), np.int64))


@pytest.mark.parametrize(
    ("low", "high", "nulls", "expected", "why"),
    [
        (1, 5, 0, (1, 5, 0), "honest"),
        (5, 1, 0, (None, None, 0), "reversed"),
        (1, 5, 10, (None, None, None), "bounds where every value is null"),
        (1, None, 10, (None, None, None), "one bound where every value is null"),
        (None, None, 10, (None, None, 10), "all null"),
        (None, 5, 3, (None, 5, 3), "one-sided"),
        (1, 5, 11, (1, 5, None), "more nulls than rows"),
        (1, 5, -1, (1, 5, None), "fewer than none"),
        (1, 5, None, (1, 5, None), "not counted"),
        (-3, 200, 0, (None, None, 0), "200 is no int8"),
    ],
)
def test_bounds_that_contradict_themselves_are_unknown(low, high, nulls, expected, why):
    column = LeafColumn(("a",), 0, Physical.INT32, pa.int8(), SortOrder.SIGNED, max_definition_level=1)
    encoded = [None if value is None else value.to_bytes(4, "little", signed=True) for value in (low, high)]
    bounds = trusted_of(column, [{"min": encoded[0], "max": encoded[1], "nulls": nulls, "rows": 10}])
    found = tuple(array[0].as_py() for array in (bounds.lower, bounds.upper, bounds.null_count))
    assert found == expected, why


@pytest.mark.parametrize("physical", [Physical.INT32, Physical.INT64, Physical.FIXED_LEN_BYTE_ARRAY])
def test_decimals_beyond_their_precision_are_unknown(physical):
    """`x > 1000` on decimal(5,2) is taken to hold for no value, so a larger one must not be bounded away."""
    width, order = {Physical.INT32: (4, "little"), Physical.INT64: (8, "little")}.get(physical, (9, "big"))
    column = LeafColumn(("a",), 0, physical, pa.decimal128(5, 2), SortOrder.SIGNED, type_length=width)
    for unscaled, known in ((99_999, True), (-99_999, True), (100_000, False), (-100_000, False)):
        encoded = unscaled.to_bytes(width, order, signed=True)
        bounds = trusted_of(column, [{"min": encoded, "max": encoded, "nulls": 0, "rows": 10}])
        assert bounds.lower.is_valid().to_pylist() == bounds.upper.is_valid().to_pylist() == [known]
    widest = LeafColumn(
        ("a",), 0, Physical.FIXED_LEN_BYTE_ARRAY, pa.decimal128(38, 37), SortOrder.SIGNED, type_length=16
    )
    for unscaled, known in ((10**38 - 1, True), (-(10**38) + 1, True), (10**38, False)):
        encoded = unscaled.to_bytes(16, "big", signed=True)
        bounds = trusted_of(widest, [{"min": encoded, "max": encoded, "nulls": 0, "rows": 10}])
        assert bounds.lower.is_valid().to_pylist() == [known]
