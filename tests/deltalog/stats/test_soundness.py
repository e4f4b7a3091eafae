"""Soundness rules for skipping on a Delta log. S numbers refer to the project's list of rules.

In each test, a file has a row that the predicate selects, whatever its statistics seem to prove. The test also shows a
file that the same rule skips.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from log_writer import add, field, remove

from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Compare,
    CompareColumns,
    In,
    Interval,
    IsNaN,
    IsNull,
    Not,
    Op,
    Or,
    Unsupported,
)

UTC = dt.UTC
MICROS, INSTANT = pa.timestamp("us"), pa.timestamp("us", "UTC")


def said(low=None, high=None, *, rows=10, nulls=0, name="x", **more):
    """Statistics of one column."""
    found = {"numRecords": rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for part, value in (("minValues", low), ("maxValues", high), ("nullCount", nulls)):
        if value is not None:
            found[part][name] = value
    return found | more


def kept(log, predicate):
    """The paths that are kept, in order."""
    snapshot = open_snapshot(log.path)
    return sorted(snapshot.paths(skip_files(snapshot, predicate).kept))


def answers(log, predicate):
    snapshot = open_snapshot(log.path)
    return dict(zip(snapshot.paths(), skip_files(snapshot, predicate).outcomes.tolist(), strict=True))


def is_(op, value, kind, *path):
    return Compare(path or ("x",), op, pa.scalar(value, kind))


def one_file(log, kind, statistics, **more):
    log.create([("x", kind)], add("a", stats=statistics, **more))


TRUE = pa.array([True])[0]
LONG, DOUBLE, STRING = pa.int64(), pa.float64(), pa.string()


def test_s1_not_of_unknown_keeps(log):
    log.create([("x", "long")], add("unknown"), add("all5", stats=said(5, 5)))
    five = is_(Op.EQ, 5, LONG)
    assert kept(log, five) == ["all5", "unknown"]
    assert kept(log, Not(five)) == ["unknown"]


def test_s2_an_unsupported_arm_drops_out_of_and_but_not_of_or(log):
    one_file(log, "long", said(1, 9))
    strange, no = Unsupported("f(x)", "no reason"), is_(Op.GT, 10, LONG)
    assert kept(log, And((strange, no))) == []
    assert kept(log, Or((strange, no))) == ["a"]
    assert kept(log, Not(Or((strange, Not(no))))) == []


def test_s3_missing_bounds_say_nothing(log):
    log.create(
        [("x", "string")],
        add("no-max", stats=said("a", None)),
        add("json-null", stats=said("a", rows=2) | {"maxValues": {"x": None}}),
        add("all-null", stats=said(rows=3, nulls=3)),
        add("below", stats=said("a", "b")),
    )
    assert kept(log, is_(Op.GT, "m", STRING)) == ["json-null", "no-max"]


def test_s4_a_finite_maximum_does_not_exclude_nan(log):
    one_file(log, "double", said(1.0, 2.0, rows=3))
    assert kept(log, is_(Op.GT, 100.0, DOUBLE)) == ["a"]
    assert kept(log, is_(Op.NE, 1.5, DOUBLE)) == ["a"]
    assert kept(log, is_(Op.EQ, float("nan"), DOUBLE)) == ["a"]
    assert kept(log, IsNaN(("x",))) == ["a"]
    assert kept(log, Not(In(("x",), pa.array([1.0, 2.0])))) == ["a"]
    # NaN is neither less than a number nor equal to one, nor below the upper end of a range.
    assert kept(log, is_(Op.LT, 1.0, DOUBLE)) == []
    assert kept(log, is_(Op.EQ, 3.0, DOUBLE)) == []
    assert kept(log, Interval(("x",), pa.scalar(5.0), pa.scalar(6.0))) == []


def test_s5_named_numbers_compare_as_numbers(log):
    log.create(
        [("x", "double")],
        add("nan", stats=said(1.0, "NaN")),
        add("infinite", stats=said("-Infinity", 1.0)),
        add("zero", stats=said(0.0, 0.0)),
    )
    assert kept(log, is_(Op.LT, -1e300, DOUBLE)) == ["infinite"]
    assert "zero" in kept(log, is_(Op.EQ, -0.0, DOUBLE))
    assert kept(log, is_(Op.EQ, 7.0, DOUBLE)) == ["nan"]


@pytest.mark.parametrize(("kind", "arrow", "zone"), [("timestamp", INSTANT, "Z"), ("timestamp_ntz", MICROS, "")])
def test_s6_times_have_lost_their_microseconds(log, kind, arrow, zone):
    text = f"2024-01-02T03:04:05.678{zone}"
    one_file(log, kind, said(text, text))
    within = dt.datetime(2024, 1, 2, 3, 4, 5, 678_500, tzinfo=UTC if zone else None)
    after = within.replace(microsecond=679_000)
    assert kept(log, is_(Op.EQ, within, arrow)) == ["a"]
    assert kept(log, is_(Op.GT, within, arrow)) == ["a"]
    assert kept(log, is_(Op.NE, within.replace(microsecond=678_000), arrow)) == ["a"]
    assert kept(log, is_(Op.GE, after, arrow)) == []


def test_s7_offsets_with_seconds_were_cut(log):
    log.create(
        [("x", "timestamp")],
        add("odd", stats=said("2024-01-01T00:00:00.000+00:53", "2024-01-01T00:00:00.000+00:53")),
        add("old", stats=said("1880-01-01T00:00:00.000+00:53", "1880-01-01T00:00:00.000+00:53")),
        add("even", stats=said("2024-01-01T00:00:00.000+05:30", "2024-01-01T00:00:00.000+05:30")),
    )
    late = dt.datetime(2023, 12, 31, 23, 7, 28, tzinfo=UTC)
    assert kept(log, is_(Op.EQ, late, INSTANT)) == ["odd"]
    assert kept(log, is_(Op.EQ, dt.datetime(2023, 12, 31, 18, 30, tzinfo=UTC), INSTANT)) == ["even"]
    assert kept(log, is_(Op.EQ, dt.datetime(1879, 12, 31, 23, 7, 28, tzinfo=UTC), INSTANT)) == ["old"]


def test_s8_a_double_that_was_a_float_has_the_text_of_the_float(log):
    changed = {"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["typeWidening"],
        "writerFeatures": ["typeWidening"],
    }
    log.create(
        [field("x", "double", **changed), ("y", "float")],
        add("a", stats=said(3.4, 3.4)),
        add("b", stats=said(3.4, 3.4, name="y")),
        protocol=protocol,
    )
    assert "a" in kept(log, is_(Op.EQ, 3.4000000953674316, DOUBLE))
    assert "a" in kept(log, is_(Op.EQ, 3.4, DOUBLE))
    assert "a" not in kept(log, is_(Op.EQ, 3.41, DOUBLE))
    assert "b" in kept(log, Compare(("y",), Op.EQ, pa.scalar(3.4, pa.float32())))
    assert "b" not in kept(log, Compare(("y",), Op.EQ, pa.scalar(3.41, pa.float32())))


def test_s9_statistics_of_narrower_types(log):
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["typeWidening", "timestampNtz"],
        "writerFeatures": ["typeWidening", "timestampNtz"],
    }
    log.create(
        [("x", "decimal(20,5)"), ("t", "timestamp_ntz")],
        add("number", stats=said(7, 7)),
        add("day", stats=said("2024-09-09", "2024-09-09", name="t")),
        add("strange", stats=said("seven", "seven") | {"minValues": {"x": [1]}}),
        protocol=protocol,
    )
    wide = pa.decimal128(20, 5)
    assert "number" in kept(log, is_(Op.EQ, Decimal(7), wide))
    assert kept(log, is_(Op.EQ, Decimal(8), wide)) == ["day", "strange"]
    assert "day" in kept(log, Compare(("t",), Op.EQ, pa.scalar("2024-09-09").cast(MICROS)))
    assert "day" not in kept(log, Compare(("t",), Op.EQ, pa.scalar("2024-09-08").cast(MICROS)))


def test_s10_numbers_that_went_through_a_float(log):
    log.create(
        [("x", "decimal(22,2)"), ("y", "long"), ("z", "decimal(18,2)")],
        add(
            "exponent",
            stats='{"numRecords":1,"minValues":{"x":1.2345678901234567e+19},"maxValues":{"x":1.2345678901234567e+19},"nullCount":{"x":0}}',
        ),
        add("long", stats=said(9223372036854775000, 9223372036854775000, name="y")),
        add("near", stats=said(9999999999999998.0, 9999999999999998.0, name="z")),
    )
    assert "exponent" in kept(log, is_(Op.EQ, Decimal("12345678901234567890.12"), pa.decimal128(22, 2)))
    assert "exponent" not in kept(log, is_(Op.EQ, Decimal("12345678901234590000.00"), pa.decimal128(22, 2)))
    assert "long" in kept(log, Compare(("y",), Op.EQ, pa.scalar(9223372036854775300)))
    assert "long" not in kept(log, Compare(("y",), Op.EQ, pa.scalar(9223372036854770000)))
    assert "near" in kept(log, Compare(("z",), Op.EQ, pa.scalar(Decimal("9999999999999998.77"), pa.decimal128(18, 2))))


def test_s10_a_long_with_more_digits_than_a_float_writes_is_exact(log):
    number = 1234567890123456789
    one_file(log, "long", said(number, number))
    assert kept(log, is_(Op.EQ, number, LONG)) == ["a"]
    assert kept(log, is_(Op.NE, number, LONG)) == []


def test_s11_strings_compare_by_their_bytes(log):
    # In UTF-16 the second would be smaller than the first.
    low, high = "\uffee", "\U0001f600"
    one_file(log, "string", said(low, high))
    assert kept(log, is_(Op.EQ, "\U0001f500", STRING)) == ["a"]
    assert kept(log, is_(Op.GT, high, STRING)) == []


def test_s12_the_old_tie_breaker_bounds_nothing(log):
    prefix = "p" * 32
    log.create(
        [("x", "string")],
        add("old", stats=said("a", prefix + "\ufffd")),
        add("new", stats=said("a", prefix + "\U0010ffff")),
        add("short", stats=said("a", "b\ufffd")),
    )
    assert kept(log, is_(Op.GT, prefix + "\U0001f600", STRING)) == ["new", "old"]
    assert kept(log, is_(Op.GT, prefix + "\U0010ffff", STRING)) == ["old"]


def test_s13_a_cut_minimum_is_no_value(log):
    prefix = "p" * 32
    one_file(log, "string", said(prefix, prefix + "\x7f"))
    assert kept(log, is_(Op.GT, prefix, STRING)) == ["a"]
    assert kept(log, is_(Op.NE, prefix, STRING)) == ["a"]
    assert kept(log, is_(Op.LT, prefix, STRING)) == []


@pytest.mark.parametrize(
    "metadata", [{"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}, {"__COLLATIONS": {"x": "spark.UTF8_LCASE"}}]
)
def test_s14_strings_that_do_not_compare_by_their_bytes_are_kept(log, metadata):
    log.create([field("x", "string", **metadata)], add("a", stats=said("a", "b")))
    schema = open_snapshot(log.path).schema
    assert schema.leaves[0].unsupported
    assert kept(log, is_(Op.EQ, "z", STRING)) == ["a"]
    # With padding, or in some collations, both equal one value.
    assert kept(log, And((is_(Op.EQ, "a", STRING), is_(Op.EQ, "a ", STRING)))) == ["a"]
    assert kept(log, And((is_(Op.GT, "z", STRING), Not(IsNull(("x",)))))) == ["a"]
    # Null is null however values compare.
    assert kept(log, IsNull(("x",))) == []


def test_s19_the_zone_of_a_time_without_one_is_not_known(log):
    log.create(
        [("t", "timestamp")],
        add("bare", partition={"t": "2024-01-02 00:00:00"}),
        add("utc", partition={"t": "2024-01-02T00:00:00.000000Z"}),
        partitioned=["t"],
    )
    near = pa.scalar(dt.datetime(2024, 1, 1, 12, tzinfo=UTC), INSTANT)
    assert kept(log, Compare(("t",), Op.EQ, near)) == ["bare"]
    assert kept(log, Compare(("t",), Op.EQ, pa.scalar(dt.datetime(2024, 1, 2, tzinfo=UTC), INSTANT))) == ["bare", "utc"]
    assert kept(log, Compare(("t",), Op.LT, pa.scalar(dt.datetime(2023, 12, 31, tzinfo=UTC), INSTANT))) == []


def test_s20_blank_strings_may_be_null(log):
    hive = "__HIVE_DEFAULT_PARTITION__"
    log.create(
        [("p", "string"), ("n", "integer")],
        add("blank", partition={"p": "", "n": ""}),
        add("hive", partition={"p": hive, "n": hive}),
        add("null", partition={"p": None, "n": None}),
        add("value", partition={"p": "v", "n": "1"}),
        partitioned=["p", "n"],
    )
    assert kept(log, IsNull(("p",))) == ["blank", "hive", "null"]
    assert kept(log, Compare(("p",), Op.EQ, pa.scalar(""))) == ["blank"]
    assert kept(log, Compare(("p",), Op.EQ, pa.scalar(hive))) == ["hive"]
    assert kept(log, IsNull(("n",))) == ["blank", "hive", "null"]
    assert kept(log, Not(IsNull(("n",)))) == ["value"]


def test_s21_partition_values_are_read_leniently_or_kept(log):
    log.create(
        [("d", "decimal(10,2)"), ("b", "boolean"), ("n", "long"), ("day", "date")],
        add("loose", partition={"d": "1.1", "b": "True", "n": "1.0E2", "day": "2024-1-5"}),
        add("strange", partition={"d": "abc", "b": "maybe", "n": "abc", "day": "tomorrow"}),
        add("absent", partition={}),
        partitioned=["d", "b", "n", "day"],
    )
    always = ["absent", "loose", "strange"]
    assert kept(log, Compare(("d",), Op.EQ, pa.scalar(Decimal("1.10"), pa.decimal128(10, 2)))) == always
    assert kept(log, Compare(("b",), Op.EQ, TRUE)) == always
    assert kept(log, Compare(("n",), Op.EQ, pa.scalar(100))) == always
    assert kept(log, Compare(("day",), Op.EQ, pa.scalar(dt.date(2024, 1, 5)))) == always
    assert kept(log, Compare(("n",), Op.EQ, pa.scalar(5))) == ["absent", "strange"]
    # Some sessions read 1.0E2 as an integer, others as null.
    assert kept(log, IsNull(("n",))) == always
    assert kept(log, IsNull(("day",))) == ["absent", "strange"]


def test_s22_partition_values_compare_by_type(log):
    log.create(
        [("n", "integer"), ("f", "double")],
        *(add(text, partition={"n": text, "f": text}) for text in ("9", "10")),
        add("nan", partition={"n": "11", "f": "NaN"}),
        partitioned=["n", "f"],
    )
    assert kept(log, Compare(("n",), Op.GT, pa.scalar(9, pa.int32()))) == ["10", "nan"]
    assert kept(log, Compare(("f",), Op.GT, pa.scalar(9.5))) == ["10", "nan"]
    assert kept(log, Compare(("f",), Op.LT, pa.scalar(9.5))) == ["9"]
    assert kept(log, IsNaN(("f",))) == ["nan"]


VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 40}


def dv_log(log, *adds):
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    log.create([("x", "long")], *adds, protocol={"minReaderVersion": 3, "minWriterVersion": 7} | features)


def test_s23_under_deletion_vectors_null_counts_say_little(log):
    vector = VECTOR | {"cardinality": 4}
    dv_log(
        log,
        add("some", stats=said(1, 9, nulls=4) | {"tightBounds": False}, vector=vector),
        add("none", stats=said(1, 9, nulls=0) | {"tightBounds": False}, vector=vector),
        add("all", stats=said(nulls=10) | {"tightBounds": False}, vector=vector),
        add("six", stats=said(1, 9, nulls=6) | {"tightBounds": False}, vector=vector),
    )
    assert kept(log, IsNull(("x",))) == ["all", "six", "some"]
    assert kept(log, Not(IsNull(("x",)))) == ["none", "six", "some"]


def test_s24_contradictions_are_not_believed(log):
    log.create(
        [("x", "long")],
        add("crossed", stats=said(9, 1)),
        add("no-rows", stats=said(1, 1, rows=0)),
        add("negative", stats=said(1, 1, rows=-5)),
        add("nulls", stats=said(1, 1, rows=5, nulls=6)),
        add("no-records", stats={"minValues": {"x": 1}, "maxValues": {"x": 1}, "nullCount": {"x": 0}}),
        add("sound", stats=said(1, 1)),
    )
    assert kept(log, is_(Op.EQ, 50, LONG)) == ["crossed", "negative", "no-records", "no-rows", "nulls"]
    assert kept(log, IsNull(("x",))) == ["crossed", "negative", "no-records", "no-rows", "nulls"]


def test_s26_statistics_of_rows_that_came_back_are_forgotten(log):
    narrow = said(5, 5, rows=10) | {"tightBounds": True}
    many = VECTOR | {"cardinality": 9}
    dv_log(log, add("a", stats=narrow, vector=many), add("b", stats=narrow, vector=many))
    log.commit(remove("a", vector=many), add("a", stats=narrow))
    assert kept(log, is_(Op.EQ, 1, LONG)) == ["a"]


def test_s27_nested_leaves_are_their_own(log):
    inner = {"type": "struct", "fields": [field("a", "long"), field("b", "string")]}
    nested = {"numRecords": 5, "minValues": {"s": {"a": 1}}, "maxValues": {"s": {"a": 2}}, "nullCount": {"s": {"a": 5}}}
    log.create([("s", inner), ("a", "long")], add("x", stats=nested | {"nullCount": {"s": {"a": 0}}}))
    assert kept(log, Compare(("s", "a"), Op.GT, pa.scalar(2))) == []
    assert kept(log, Compare(("a",), Op.GT, pa.scalar(2))) == ["x"]
    assert kept(log, Compare(("s", "b"), Op.GT, pa.scalar("z"))) == ["x"]
    # A struct has no null count: its leaves count the nulls of their parents.
    assert kept(log, IsNull(("s",))) == ["x"]


def test_s28_names_are_exact_and_dots_are_part_of_them(log):
    log.create(
        [("a.b", "long"), ("X", "long"), ("a", {"type": "struct", "fields": [field("b", "long")]})],
        add("dotted", stats=said(1, 1, name="a.b")),
        add("other-case", stats=said(1, 1)),
    )
    assert kept(log, Compare(("a.b",), Op.EQ, pa.scalar(5))) == ["other-case"]
    assert kept(log, Compare(("a", "b"), Op.EQ, pa.scalar(5))) == ["dotted", "other-case"]
    assert kept(log, Compare(("X",), Op.EQ, pa.scalar(5))) == ["dotted", "other-case"]


def test_s29_a_column_that_came_later_is_not_known_to_be_null(log):
    log.create([("x", "long"), ("later", "long")], add("a", stats=said(1, 1)))
    assert kept(log, Not(IsNull(("later",)))) == ["a"]


def test_s30_the_statistics_are_those_of_the_winning_add(log):
    log.create([("x", "long")], add("a", stats=said(1, 1)))
    log.commit(add("a", stats=said(5, 5)))
    assert kept(log, is_(Op.EQ, 1, LONG)) == []
    assert kept(log, is_(Op.EQ, 5, LONG)) == ["a"]
    log.commit(add("a"))
    assert kept(log, is_(Op.EQ, 1, LONG)) == ["a"]


def test_s31_skipping_comes_after_reconciliation(log):
    log.create([("x", "long")], add("old", stats=said(1, 1)), add("again", stats=said(1, 1)))
    log.commit(remove("old"), add("again", stats=said(9, 9)))
    assert kept(log, is_(Op.EQ, 1, LONG)) == []
    assert open_snapshot(log.path).paths() == ["again"]


@pytest.mark.parametrize(("kind", "low", "high"), [("boolean", False, False), ("binary", "a", "a")])
def test_s34_types_without_an_order_have_null_counts_alone(log, kind, low, high):
    log.create([("x", kind)], add("a", stats=said(low, high)), add("nulls", stats=said(nulls=10)))
    literal = TRUE if kind == "boolean" else pa.scalar(b"z")
    assert kept(log, Compare(("x",), Op.EQ, literal)) == ["a"]
    assert kept(log, IsNull(("x",))) == ["nulls"]


@pytest.mark.parametrize("kind", ["variant", "interval year to month", "void", "geometry(4326)"])
def test_s34_types_that_are_not_understood_are_kept(log, kind):
    log.create([("x", kind), ("y", "long")], add("a", stats=said(1, 1)))
    schema = open_snapshot(log.path).schema
    assert schema.leaves[0].unsupported
    assert kept(log, IsNull(("x",))) == ["a"]


def test_s35_old_days_and_times_are_kept(log):
    log.create(
        [("x", "date"), ("t", "timestamp")],
        add("old-day", stats=said("1500-01-01", "1500-01-01")),
        add("old-time", stats=said("1890-01-01T00:00:00.000Z", "1890-01-01T00:00:00.000Z", name="t")),
    )
    day = is_(Op.EQ, dt.date(1500, 1, 10), pa.date32())
    assert "old-day" in kept(log, day)
    moment = pa.scalar(dt.datetime(1890, 1, 1, 0, 0, 30, tzinfo=UTC), INSTANT)
    assert "old-time" in kept(log, Compare(("t",), Op.EQ, moment))
    # No calendar moves these values across the start of the common one.
    assert "old-day" not in kept(log, is_(Op.GT, dt.date(2001, 1, 1), pa.date32()))
    assert "old-time" not in kept(log, Compare(("t",), Op.GT, pa.scalar(dt.datetime(2001, 1, 1, tzinfo=UTC), INSTANT)))
    log.commit(add("long", stats=said("1500-01-01", "2000-01-01")))
    assert "long" not in kept(log, is_(Op.GT, dt.date(2001, 1, 1), pa.date32()))


def test_s36_lists_are_asked_value_by_value(log):
    one_file(log, "long", said(10, 20))
    assert kept(log, In(("x",), pa.array([1, 30]))) == []
    assert kept(log, In(("x",), pa.array([1, 15]))) == ["a"]
    assert kept(log, Not(In(("x",), pa.array([10])))) == ["a"]


def test_s37_what_is_not_known_yet_keeps(log):
    one_file(log, "long", said(1, 1))
    assert kept(log, Unsupported("x = rand()", "not evaluated while planning")) == ["a"]
    assert kept(log, Compare(("no_such_column",), Op.EQ, pa.scalar(1))) == ["a"]


@pytest.mark.parametrize(
    "text",
    ["", "null", "{", "[]", '"x"', '{"numRecords":"ten"}', '{"numRecords":10,"minValues":5}', "\ud800", "{" * 5000],
)
def test_s40_malformed_statistics_keep_their_file_and_no_other(log, text):
    log.create([("x", "long")], add("bad", stats=text), add("good", stats=said(1, 1)), add("none"))
    if text == "\ud800":
        with pytest.raises(Exception, match="line 3"):
            open_snapshot(log.path)
        return
    assert kept(log, is_(Op.EQ, 5, LONG)) == ["bad", "none"]


@pytest.mark.parametrize("value", [5, {"numRecords": 1}, [1], True, None])
def test_s40_statistics_that_are_no_text_keep_their_file(log, value):
    log.create([("x", "long")], {"add": add("bad")["add"] | {"stats": value}})
    assert kept(log, is_(Op.EQ, 5, LONG)) == ["bad"]


def test_a_range_of_one_value_matches_wholly(log):
    one_file(log, "long", said(5, 5))
    assert answers(log, is_(Op.EQ, 5, LONG)) == {"a": Outcomes.TRUE}


def test_values_beyond_the_type_are_not_believed(log):
    log.create([("x", "integer")], add("a", stats=said(1 << 40, 1 << 40)), add("b", stats=said(1.5, 2.5)))
    assert kept(log, is_(Op.EQ, 7, pa.int32())) == ["a"]
    assert kept(log, is_(Op.EQ, 1, pa.int32())) == ["a", "b"]


def test_a_table_without_files_has_no_answers(log):
    log.create([("x", "long")])
    snapshot = open_snapshot(log.path)
    found = skip_files(snapshot, is_(Op.EQ, 1, LONG))
    assert found.outcomes.shape == (0,)
    assert found.kept.dtype == np.bool_


@pytest.mark.parametrize(("op", "expected"), [(Op.GT, ["unknown", "wide"]), (Op.LT, ["apart", "unknown", "wide"])])
def test_two_columns_are_compared_by_the_statistics_of_a_file(log, op, expected):
    def both(low, high, low_of_y, high_of_y):
        bounds = {"minValues": {"x": low, "y": low_of_y}, "maxValues": {"x": high, "y": high_of_y}}
        return {"numRecords": 10, "nullCount": {"x": 0, "y": 0}, **bounds}

    files = [
        add("apart", stats=both(1, 5, 6, 9)),
        add("wide", stats=both(1, 5, 3, 9)),
        add("unknown", stats=said(1, 5)),
    ]
    log.create([("x", "long"), ("y", "long")], *files)
    assert kept(log, CompareColumns(("x",), op, ("y",))) == expected
