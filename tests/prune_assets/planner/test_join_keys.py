"""Keys of joins as conditions on the table: conversions to the column's type, names, reports and errors."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import UnknownColumn, UnsupportedFeature, WrongUse
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Compare, Constant, In, Interval, InTuples, IsNull, Or
from prune_assets.planner.join_keys import Join, JoinedColumn, WhyUnused, joined_columns, key_conditions
from prune_assets.planner.plan_read import plan_read
from prune_assets.spark.collect_keys import KeyRanges, collect_keys
from prune_assets.spark.spark_versions import from_arrow

DAY = dt.date(2024, 2, 29)
ZONED = dt.datetime(2024, 2, 29, 12, 30, 0, 5, dt.UTC)
MOMENT = ZONED.replace(tzinfo=None)
BIG = Decimal(10**38 - 1)


def written(directory, **columns):
    """Write a table of one file; return its address."""
    pq.write_table(pa.table(columns), directory / "0.parquet", store_schema=False)
    return str(directory)


def joined(directory, column, keys, **options):
    """Return the conditions on a column that follow from an Arrow array of keys."""
    table = written(directory, c=column)
    return pr.plan(table, keys=pa.table({"k": keys}), on=[("c", "k")], **options).joins[0]


def listed(join):
    """Return the keys of the only condition, as the column's values."""
    ((_, leaf),) = join.conjuncts
    match leaf:
        case Constant(Outcomes.FALSE):
            return []
        case Compare(value=value):
            return [value.as_py()]
        case In(values=values):
            return values.to_pylist()
    raise AssertionError(leaf)


def decimals(*values, of):
    return pa.array([None if value is None else Decimal(value) for value in values], of)


INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


@pytest.mark.parametrize("keys", INTEGERS, ids=str)
@pytest.mark.parametrize("column", INTEGERS, ids=str)
def test_integers_of_all_widths(tmp_path, column, keys):
    width = keys.bit_width - pa.types.is_signed_integer(keys)
    least, most = (-(2**width) if pa.types.is_signed_integer(keys) else 0), 2**width - 1
    limit = column.bit_width - pa.types.is_signed_integer(column)
    lowest = -(2**limit) if pa.types.is_signed_integer(column) else 0
    values = [3, least, most, None, 3]
    expected = [value for value in dict.fromkeys(values) if value is not None and lowest <= value < 2**limit]
    assert listed(joined(tmp_path, pa.array([1, 2], column), pa.array(values, keys))) == expected


@pytest.mark.parametrize(
    ("column", "keys", "expected"),
    [
        # Spark compares them in a decimal that holds the digits of both.
        (
            pa.decimal128(6, 2),
            decimals("1.5", "1.234", "-9999.99", None, of=pa.decimal128(10, 4)),
            ["1.50", "-9999.99"],
        ),
        (pa.decimal128(6, 2), decimals("1", "10000", of=pa.decimal128(6, 0)), ["1.00"]),
        (pa.decimal128(6, 2), pa.array([7, 10_000, None], pa.int64()), ["7.00"]),
        (pa.decimal128(6, 2), decimals("1.50", of=pa.decimal256(6, 2)), ["1.50"]),
        (pa.decimal128(38, 0), decimals(str(BIG), of=pa.decimal128(38, 0)), [str(BIG)]),
        (pa.int32(), decimals("7.00", "7.50", "3000000000", of=pa.decimal128(12, 2)), [7]),
        (pa.uint64(), decimals("18446744073709551615", "-1", of=pa.decimal128(20, 0)), [2**64 - 1]),
    ],
)
def test_decimals_of_other_scales(tmp_path, column, keys, expected):
    expected = [Decimal(value) if isinstance(value, str) else value for value in expected]
    assert listed(joined(tmp_path, pa.nulls(1, column), keys)) == expected


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        (pa.decimal128(38, 10), pa.decimal128(38, 30)),
        (pa.decimal128(38, 38), pa.int64()),
        (pa.int64(), pa.decimal128(38, 30)),
        (pa.decimal128(38, 0), pa.decimal128(38, 2)),
        (pa.uint64(), pa.decimal128(20, 19)),
    ],
)
def test_decimals_that_spark_rounds_are_not_used(tmp_path, column, keys):
    join = joined(tmp_path, pa.nulls(1, column), pa.nulls(1, keys))
    assert (join.conjuncts, [unused.why for unused in join.unused]) == ((), [WhyUnused.CAST])


def test_floats_have_one_zero_and_one_nan(tmp_path):
    keys = pa.array([0.0, -0.0, math.nan, -math.nan, 1.5, None, 1e300])
    doubles = listed(joined(tmp_path, pa.array([1.0]), keys))
    assert [repr(value) for value in doubles] == ["0.0", "nan", "1.5", "1e+300"]
    floats = listed(joined(tmp_path, pa.array([1.0], pa.float32()), keys))
    assert [repr(value) for value in floats] == ["0.0", "nan", "1.5"]
    assert listed(joined(tmp_path, pa.array([1.0]), pa.array([0.1], pa.float32()))) == [0.10000000149011612]
    assert listed(joined(tmp_path, pa.array([1.0], pa.float32()), pa.array([0.1]))) == []


@pytest.mark.parametrize(
    ("column", "keys", "is_used"),
    [
        (pa.float64(), pa.int32(), True),
        (pa.float64(), pa.int64(), False),
        (pa.float32(), pa.int16(), True),
        (pa.float32(), pa.int32(), False),
        (pa.float64(), pa.decimal128(5, 2), False),
        (pa.int32(), pa.float64(), False),
        (pa.int32(), pa.string(), False),
        (pa.string(), pa.int32(), False),
        (pa.date32(), pa.timestamp("us"), False),
        (pa.timestamp("us", "UTC"), pa.timestamp("us"), False),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), False),
        (pa.bool_(), pa.int8(), False),
        (pa.binary(), pa.string(), False),
        (pa.string(), pa.binary(), False),
        (pa.string(), pa.null(), False),
        (pa.int64(), pa.list_(pa.int64()), False),
    ],
    ids=str,
)
def test_a_column_that_spark_casts_is_not_used(tmp_path, column, keys, is_used):
    table = written(tmp_path, c=pa.nulls(1, column))
    planned = pr.plan(table, keys=pa.table({"k": pa.nulls(2, keys)}), on=[("c", "k")])
    assert (len(planned.joins[0].conjuncts) == 1) is is_used
    if not is_used:
        (unused,) = planned.joins[0].unused
        (part,) = planned.report.unsupported
        assert unused.why is WhyUnused.CAST
        assert part.sql == "c = k"
        assert str(keys) in part.reason
        assert part.remedy == "cast k to the type of c"
        assert len(planned.surviving_files) == 1
        with pytest.raises(UnsupportedFeature, match=r"keys: read_arrow does not decide this join: c = k: .*pr\.read"):
            pr.read_arrow(table, keys=pa.table({"k": pa.nulls(2, keys)}), on=[("c", "k")])


@pytest.mark.parametrize(
    ("column", "keys", "expected"),
    [
        (pa.array(["a"]), pa.array(["é", "", None, "é"]), ["é", ""]),
        (pa.array(["a"]), pa.array(["x", None], pa.large_string()), ["x"]),
        (pa.array(["a"]), pa.array(["x", "y"], pa.string_view()), ["x", "y"]),
        (pa.array(["a"]), pa.array(["x", None, "x"]).dictionary_encode(), ["x"]),
        (pa.array(["a"]), pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["x", None])), ["x"]),
        (pa.array([b"a"]), pa.array([b"\xff", None]), [b"\xff"]),
        (pa.array([b"a"]), pa.array([b"\xff", b""], pa.large_binary()), [b"\xff", b""]),
        (pa.array([b"a"]), pa.array([b"ab"], pa.binary(2)), [b"ab"]),
        (pa.array([True]), pa.array([False, None, False]), [False]),
        (pa.array([DAY]), pa.array([DAY, None]), [DAY]),
        (pa.array([DAY]), pa.array([DAY], pa.date64()), [DAY]),
        (pa.array([MOMENT]), pa.array([MOMENT], pa.timestamp("us")), [MOMENT]),
        (pa.array([MOMENT]), pa.array([1_709_209_800_000_005_999], pa.timestamp("ns")), [MOMENT]),
        (pa.array([MOMENT], pa.timestamp("ms")), pa.array([MOMENT], pa.timestamp("us")), [MOMENT]),
        (
            pa.array([MOMENT], pa.timestamp("us")),
            pa.array([MOMENT], pa.timestamp("s")),
            [MOMENT.replace(microsecond=0)],
        ),
        (pa.array([ZONED], pa.timestamp("us", "UTC")), pa.array([ZONED], pa.timestamp("us", "Asia/Kolkata")), [ZONED]),
        (pa.array([1, 2]), pa.array([2, 2, None]).dictionary_encode(), [2]),
    ],
    ids=lambda array: str(array.type) if isinstance(array, pa.Array) else "",
)
def test_keys_become_values_of_the_column(tmp_path, column, keys, expected):
    assert listed(joined(tmp_path, column, keys)) == expected


@pytest.mark.spark
def test_nanoseconds_are_cut_as_spark_cuts_them(spark, tmp_path):
    keys = pa.table({"k": pa.array([-1_500, -2_000, 1_999, 4_000], pa.timestamp("ns", "UTC"))})
    rows = from_arrow(spark, keys).selectExpr("unix_micros(k) AS k").collect()
    moments = pa.array([row.k for row in rows], pa.timestamp("us", "UTC")).to_pylist()
    assert listed(joined(tmp_path, pa.array([ZONED], pa.timestamp("us", "UTC")), keys["k"])) == [
        *dict.fromkeys(moments)
    ]


def test_no_key_selects_no_row(tmp_path):
    table = written(tmp_path, c=[1, 2, None])
    for keys in ([], [None, None]):
        rows = pa.table({"k": pa.array(keys, pa.int64())})
        planned = pr.plan(table, keys=rows, on=[("c", "k")])
        assert planned.surviving_files == ()
        assert planned.report.predicate == "c IN (no key)"
        assert pr.read_arrow(table, keys=rows, on=[("c", "k")]).num_rows == 0


def test_a_null_key_matches_null_only_if_it_is_compared_by_a_null_safe_operator(tmp_path):
    table = written(tmp_path, c=[1, 2, None], d=[1, None, None])
    columns, semantics = plan_read(table, where="true").table.columns, plan_read(table, where="true").semantics
    keys = pa.table({"k": [1, None], "l": [None, 5]})

    def conditions(*on):
        return key_conditions(Join(keys, tuple(JoinedColumn(*each) for each in on)), columns, semantics)

    ((sql, leaf),) = conditions(("c", "k", True)).conjuncts
    assert sql == "(c = 1 OR c IS NULL)"
    assert isinstance(leaf, Or)
    assert leaf.children[1] == IsNull(("c",))
    assert [sql for sql, _ in conditions(("c", "k")).conjuncts] == ["c = 1"]
    both = conditions(("c", "k", True), ("d", "l", True))
    assert [sql for sql, _ in both.conjuncts] == ["(c = 1 OR c IS NULL)", "(d = 5 OR d IS NULL)"]
    assert not both.is_exact, "a row (1, 5) has no partner"
    # A tuple with a null does not match, and its other key selects nothing.
    assert [sql for sql, _ in conditions(("c", "k"), ("d", "l")).conjuncts] == ["c IN (no key)", "d IN (no key)"]
    assert [sql for sql, _ in conditions(("c", "k", True), ("d", "l")).conjuncts] == ["c IS NULL", "d = 5"]


def test_keys_of_several_columns_are_tuples(tmp_path):
    table = written(tmp_path, a=[1, 1, 2, 2], b=["x", "y", "x", "y"])
    keys = pa.table({"a": [1, 2, 2, None, 1], "b": ["x", "y", "y", "y", None]})
    planned = pr.plan(table, keys=keys)
    _, _, (sql, tuples) = planned.joins[0].conjuncts
    assert sql == "(a, b) IN (2 keys)"
    assert isinstance(tuples, InTuples)
    assert list(zip(*(values.to_pylist() for values in tuples.values), strict=True)) == [(1, "x"), (2, "y")]
    assert planned.joins[0].count == 2
    assert pr.read_arrow(table, keys=keys).to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_a_column_that_is_joined_twice(tmp_path):
    table = written(tmp_path, a=[1, 2, 3], b=[7, 7, 8])
    keys = pa.table({"x": [1, 2], "y": [1, 3], "z": [7, 7]})
    on = [("a", "x"), ("a", "y"), ("b", "z")]
    assert {leaf.column for _, leaf in pr.plan(table, keys=keys, on=on[:2]).joins[0].conjuncts} == {("a",)}
    assert pr.plan(table, keys=keys, on=on).joins[0].count == 2
    with pytest.raises(UnsupportedFeature, match="several conditions on one column"):
        pr.read_arrow(table, keys=keys, on=on)


def test_several_joins_and_a_condition(tmp_path):
    for i in range(4):
        pq.write_table(pa.table({"day": [i] * 3, "store": [0, 1, 2], "n": [i] * 3}), tmp_path / f"{i}.parquet")
    days, stores = pa.table({"d": [1, 2, 9]}), pa.table({"store": [2, 5]})
    options = {"keys": [days, stores], "on": [[("day", "d")], ["store"]]}
    rows = pr.read_arrow(str(tmp_path), where="n > 1", **options)
    assert rows.to_pylist() == [{"day": 2, "store": 2, "n": 2}]
    planned = pr.plan(str(tmp_path), where="n > 1", **options)
    assert planned.report.predicate == "n > 1 AND day IN (3 keys) AND store IN (2 keys)"
    assert [Path(file.path).stem for file in planned.surviving_files] == ["2"]
    assert pr.plan(str(tmp_path), keys=[days, stores], on=[[("day", "d")], None]).report.kept.rows == 6


def test_names_ignore_case_unless_several_columns_differ_in_case_only(tmp_path):
    table = written(tmp_path, Store=[1], s=[{"Day": 1}])
    keys = pa.table({"STORE": [1], "k": [1], "K": [9]})
    assert pr.read_arrow(table, keys=keys, on=["store"]).num_rows == 1
    assert pr.plan(table, keys=keys, on=[("store", "k")]).report.predicate == "Store = 1"
    assert pr.plan(table, keys=keys, on=[("store", "K")]).report.predicate == "Store = 9"
    assert pr.plan(table, keys=keys, on=[("s.day", "K")]).report.predicate == "s.Day = 9"
    with pytest.raises(WrongUse, match=r"on: the keys have 2 columns named kE; they have kee, Ke, ke, x"):
        joined_columns(["kE"], ["kee", "Ke", "ke", "x"])


def test_a_column_in_a_list_is_not_used(tmp_path):
    table = written(tmp_path, c=[[1, 2], [3]])
    (unused,) = pr.plan(table, keys=pa.table({"k": [1]}), on=[("c.list.element", "k")]).joins[0].unused
    assert unused.why is WhyUnused.NESTED
    assert unused.remedy == ""


def test_ranges_in_place_of_too_many_keys(tmp_path):
    for i in range(4):
        pq.write_table(pa.table({"c": pa.array([i * 10, None], pa.int32())}), tmp_path / f"{i}.parquet")
    ranges = KeyRanges(pa.array([8, 25, 2**40]), pa.array([12, 29, 2**41]))
    planned = plan_read(str(tmp_path), where="true")
    columns, semantics = planned.table.columns, planned.semantics

    def conditions(low, high, *, null_safe=False):
        join = Join({"k": KeyRanges(low, high)}, (JoinedColumn("c", "k", null_safe),))
        return key_conditions(join, columns, semantics)

    inside = conditions(ranges.low[:2], ranges.high[:2])
    assert inside.conjuncts[0][0] == "c in 2 ranges of keys"
    assert not inside.is_exact
    join = Join({"k": KeyRanges(ranges.low[:2], ranges.high[:2])}, (JoinedColumn("c", "k"),))
    kept = plan_read(str(tmp_path), where="true", joins=[join]).surviving_files
    assert [Path(file.path).stem for file in kept] == ["1"]
    # An end that the column's type does not have cannot be compared with its bounds.
    assert [unused.why for unused in conditions(*ranges).unused] == [WhyUnused.CAST]
    assert conditions(*ranges).conjuncts == ()
    safe = conditions(ranges.low[:1], ranges.high[:1], null_safe=True).conjuncts[0][1]
    assert safe == Or((Interval(("c",), *(pa.scalar(end, pa.int32()) for end in (8, 12))), IsNull(("c",))))
    empty = ranges.low[:0]
    assert conditions(empty, empty).conjuncts[0][1] == Constant(Outcomes.FALSE)


@pytest.mark.spark
def test_too_many_keys_of_a_dataframe_become_ranges(spark, monkeypatch):
    monkeypatch.setattr("prune_assets.spark.collect_keys._RANGES", 20)
    keys = spark.range(0, 5_000).selectExpr("id * 2 AS k", "IF(id % 2 = 0, NULL, id) AS l")
    assert collect_keys(keys, ["k"], most=5_000).num_rows == 5_000
    few = collect_keys(keys.selectExpr("k DIV 5000 AS few"), ["few"], most=2)
    assert sorted(few["few"].to_pylist()) == [0, 1]
    ranges = collect_keys(keys, ["k", "l"], most=4_999)
    for name, held in (("k", range(0, 10_000, 2)), ("l", range(1, 5_000, 2))):
        ends = sorted(zip(ranges[name].low.to_pylist(), ranges[name].high.to_pylist(), strict=True))
        assert len(ends) > 10
        assert (ends[0][0], ends[-1][1]) == (held[0], held[-1])
        assert all(any(low <= value <= high for low, high in ends) for value in held)
        assert all(before[1] < after[0] for before, after in pairwise(ends))


@pytest.mark.spark
def test_a_read_opens_only_files_that_hold_a_tuple(spark, tmp_path):
    import deltalake

    rows = pa.table({"day": [d for d in range(4) for _ in range(20)], "store": list(range(20)) * 4})
    for half in (
        rows.filter(pa.array([row % 20 < 10 for row in range(80)])),
        rows.filter([row % 20 >= 10 for row in range(80)]),
    ):
        deltalake.write_deltalake(str(tmp_path), half, mode="append", partition_by=["day"])
    # Days 1 and 3 and stores 5 and 15 each occur in two files more.
    keys = spark.createDataFrame([(1, 5), (3, 15), (1, 5), (None, 2), (7, 2)], "d long, store int")
    read = pr.read(str(tmp_path), keys=keys, on=[("day", "d"), "store"], session=spark)
    opened = {(row.day, row.store) for row in read.select("day", "store").distinct().collect()}
    assert len(read.inputFiles()) == 2
    assert {(1, 5), (3, 15)} <= opened
    condition = (read.day == keys.d) & (read.store == keys.store)
    assert sorted(map(tuple, read.join(keys, condition).collect())) == [(1, 5, 1, 5), (1, 5, 1, 5), (3, 15, 3, 15)]
    assert read.join(keys, condition, "left_semi").count() == 2
    with pytest.raises(WrongUse, match="how='left'"):
        pr.read(str(tmp_path), keys=keys, on=[("day", "d"), "store"], how="left", session=spark)


@pytest.mark.spark
@pytest.mark.parametrize("how", ["left", "full", "outer", "left_outer", "anti", "left_anti", "fullouter", "cross"])
def test_a_join_that_keeps_rows_without_a_partner_is_refused(spark, tmp_path, how):
    table = written(tmp_path, c=[1])
    with pytest.raises(WrongUse, match=rf"how='{how}': rows of the table without a partner are read too"):
        pr.read(table, keys=pa.table({"c": [1]}), how=how, session=spark)


@pytest.mark.spark
def test_a_plan_has_its_keys_already(spark, tmp_path):
    table, keys = written(tmp_path, c=[1, 2]), pa.table({"c": [1]})
    planned = pr.plan(table, keys=keys, session=spark)
    with pytest.raises(WrongUse, match="the given plan has its keys already"):
        pr.read(table, keys=keys, plan=planned, session=spark)
    assert [row.c for row in pr.read(table, plan=planned, session=spark).where("c = 1").collect()] == [1]


@pytest.mark.spark
def test_keys_of_a_dataframe_whose_type_is_not_compared(spark, tmp_path):
    table = written(tmp_path, c=["a"])
    keys = spark.sql("SELECT array(1) AS list, named_struct('a', 1) AS part, 'A' COLLATE UTF8_LCASE AS text")
    for name, message in (("list", "list is a column of type array"), ("part", "part is a column of type struct")):
        with pytest.raises(WrongUse, match=rf"keys: {message}; join by its parts"):
            pr.read(table, keys=keys, on=[("c", name)], session=spark)
    with pytest.raises(WrongUse, match=r"keys: text is compared by the collation UTF8_LCASE, bounds are not; join by"):
        pr.read(table, keys=keys, on=[("c", "text")], session=spark)


ERRORS = [
    ({"keys": pa.table({"k": [1]}), "on": ["c"]}, "on: the keys have no column c; they have k"),
    ({"keys": pa.table({"c": [1]}), "on": "c"}, r"on='c' is a str; give a list of .*: on=\['c'\]"),
    ({"keys": [pa.table({"c": [1]})], "on": ["c"]}, "on: give one list of names for each of the 1 join"),
    ({"keys": [pa.table({"c": [1]})] * 2, "on": [["c"]]}, "on: give one list of names for each of the 2 joins"),
    ({"on": ["c"]}, "on: pass the keys too, keys=.."),
    ({"keys": {"c": [1]}}, "keys is a dict; give a Table, a DataFrame"),
    ({"keys": pa.array([1])}, "keys is an Int64Array; give a Table, a DataFrame"),
    ({"keys": pa.table({})}, "keys: the keys have no column"),
    (
        {"keys": pa.table({"k": [1]}), "on": [("s", "k")]},
        "on: s is a column of type struct, list or map; give a field, .* s.field",
    ),
    ({"keys": pa.table({"k": [1]}), "on": [("c", "k", True, 1)]}, "on.* give a (name, or a pair|list of str)"),
    ({"keys": pa.table({"k": [1]}), "on": [1]}, "on.* give a (name, or a pair|list of str)"),
    ({"keys": pa.table({"k": [1]}), "on": [("c", 1)]}, "on.* give a (name, or a pair|list of str)"),
]


@pytest.mark.parametrize(("options", "message"), ERRORS)
@pytest.mark.parametrize("function", [pr.plan, pr.read_arrow])
def test_errors_are_one_clear_line(tmp_path, function, options, message):
    table = written(tmp_path, c=[1], s=[{"field": 1}])
    with pytest.raises(WrongUse, match=message) as raised:
        function(table, **options)
    assert "\n" not in str(raised.value)


def test_an_unknown_column_of_the_table_is_named(tmp_path):
    table = written(tmp_path, customer=[1])
    with pytest.raises(UnknownColumn, match=r"unknown column custome: did you mean customer\?"):
        pr.plan(table, keys=pa.table({"k": [1]}), on=[("custome", "k")])
