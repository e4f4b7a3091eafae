"""Types, units, casts and nulls in Spark (cases 14-24, 45)."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_thrift import STRUCT

import prune_assets as pr
from prune_assets.planner.explain.plan import plan
from tests.numbered_cases import cases
from tests.numbered_cases.cases import check, drop, edit_footer, put, value_of

pytestmark = [pytest.mark.spark, pytest.mark.deep]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.parquet"


def write(path, values, kind=None, **options):
    options = {"row_group_size": 2, "write_page_index": True} | options
    pq.write_table(pa.table({"a": pa.array(values, kind)}), path, **options)


def test_case_14_strings_compare_by_unsigned_bytes(spark, path):
    # Java's own order puts the surrogates of U+10000 below U+FFFF.
    write(path, ["a", "z", "\u00e9", "\u00ff", "\uffff", "\uffff", "\U00010000", "\U0010ffff"])
    assert check(spark, path, "a > 'z'") == (6, 6)
    assert check(spark, path, "a >= '\U00010000'") == (2, 2)
    assert check(spark, path, "a BETWEEN '\u00e9' AND '\uffff'") == (4, 4)


def test_case_14_a_collation_has_another_order(spark, tmp_path):
    values = "SELECT a COLLATE utf8_lcase AS a FROM VALUES ('ABC'), ('abd') AS t(a)"
    spark.sql(values).coalesce(1).write.parquet(str(tmp_path / "t"))
    assert check(spark, tmp_path / "t", "a = 'abc'") == (1, 2)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "pattern", [r"50\\%%", r"5\\_%", "_0%", "%", "", "\U0010ffff%", "p" * 70 + "%", "%1", "%0%", "50%"]
)
@pytest.mark.parametrize("negation", ["", "NOT "])
def test_case_15_patterns_lose_no_row(spark, path, pattern, negation):
    write(path, ["50%", "5_1", "500", "x01", "\U0010ffff!", "\U0010ffff", "p" * 70 + "a", "p" * 70 + "b", "", None])
    check(spark, path, f"a {negation}LIKE '{pattern}'")


def test_case_16_unsigned_numbers_compare_unsigned(spark, path):
    write(path, [1, 2, 2**31, 2**32 - 1], pa.uint32())
    assert check(spark, path, "a > 2147483647") == (2, 2)
    assert check(spark, path, "a = 4294967295") == (1, 2)
    assert check(spark, path, "a < 3") == (2, 2)
    assert check(spark, path, "a > 4294967296")[0] == 0
    write(path, [1, 2, 2**63, 2**64 - 1], pa.uint64())
    assert check(spark, path, "a >= 9223372036854775808") == (2, 2)


@pytest.mark.parametrize("as_integer", [True, False])
def test_case_17_decimals_are_signed_and_rescaled_exactly(spark, path, as_integer):
    values = [Decimal("-1.00"), Decimal("-0.01"), Decimal("0.00"), Decimal("2.55")]
    write(path, values, pa.decimal128(9, 2), store_decimal_as_integer=as_integer, use_dictionary=False)
    assert check(spark, path, "a < 0") == (2, 2)
    assert check(spark, path, "a >= 2.555")[0] == 0
    assert check(spark, path, "a > 2.545") == (1, 2)
    assert check(spark, path, "a = 2.555")[0] == 0
    assert check(spark, path, "a <> 2.555")[0] == 4


def test_case_17_decimals_as_byte_arrays_have_no_bounds(parquet_testing):
    made = plan(parquet_testing / "data/byte_array_decimal.parquet", where="value = 1")
    assert made.report.kept.rows == made.report.total.rows


def test_case_18_int96_has_no_order(spark, path):
    instants = [dt.datetime(2020, 1, day, tzinfo=dt.UTC) for day in (1, 2, 3, 4)]
    write(path, instants, pa.timestamp("ns", "UTC"), use_deprecated_int96_timestamps=True)
    assert check(spark, path, "a > TIMESTAMP '2020-01-02 12:00:00'") == (2, 4)
    assert check(spark, path, "a IS NULL")[0] == 0


def test_case_19_a_literal_finer_than_the_column(spark, path):
    write(path, [0, 1, 1, 1, 1, 1], pa.timestamp("ms", "UTC"), row_group_size=6)
    fine = "TIMESTAMP '1970-01-01 00:00:00.0015'"
    expected = {"<": 6, "<=": 6, ">": 0, ">=": 0, "=": 0, "<>": 6}
    for op, count in expected.items():
        assert check(spark, path, f"a {op} {fine}")[0] == count, op
        assert check(spark, path, f"NOT (a {op} {fine})")[0] == 6 - count, op
    write(path, [1, 1, 1], pa.timestamp("ms", "UTC"), row_group_size=6)
    for where in (f"a < {fine}", f"a <> {fine}", f"NOT (a >= {fine})", f"{fine} > a"):
        assert cases.number_of_alone(spark, path, where) == 0, "Spark floors the literal"
        assert check(spark, path, where) == (3, 3), where
        assert {warning.option.split(".")[2] for warning in plan(path, where=where).report.warnings} == {
            "stats",
            "dictionary",
            "columnindex",
        }
    for where in (f"a = {fine}", "a < TIMESTAMP '1970-01-01 00:00:00.002'", "a <> TIMESTAMP '1970-01-01 00:00:01'"):
        assert plan(path, where=where).report.warnings == (), where


def test_case_20_zones_and_calendars_decide_which_number_a_literal_is(spark, tmp_path):
    instants = [dt.datetime(2024, 11, 3, hour, tzinfo=dt.UTC) for hour in (4, 5, 6, 7)]
    table = pa.table(
        {
            "utc": pa.array(instants, pa.timestamp("us", "UTC")),
            "ntz": pa.array([it.replace(tzinfo=None) for it in instants], pa.timestamp("us")),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=1)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        # 01:30 comes twice that night.
        assert check(spark, tmp_path / "t.parquet", "utc >= TIMESTAMP '2024-11-03 01:30:00'")[0] == 2
        assert check(spark, tmp_path / "t.parquet", "ntz >= TIMESTAMP_NTZ '2024-11-03 06:00:00'")[0] == 2
        assert check(spark, tmp_path / "t.parquet", "ntz >= TIMESTAMP '2024-11-03 06:00:00'")[0] == 2
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
def test_case_20_old_days_are_read_in_the_calendar_of_the_writer(spark, tmp_path, mode):
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", mode)
    try:
        rows = spark.range(20).selectExpr("date_add(DATE '1582-10-01', cast(id AS int)) AS a")
        rows.coalesce(1).write.parquet(str(tmp_path / "t"))
        assert check(spark, tmp_path / "t", "a = DATE '1582-10-01'")[0] == 1
        assert check(spark, tmp_path / "t", "a < DATE '1582-10-15'")[0] > 0
    finally:
        spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInWrite")


@pytest.mark.parametrize(
    ("values", "where", "selected"),
    [
        (["07", "1", "7", "9"], "cast(a AS int) = 7", 2),
        (["10", "9"], "a > 9", 1),
        ([-2, 0, 1, 5], "cast(a AS boolean)", 3),
        ([-1.5, -0.5, 0.5, 2.5], "cast(a AS int) = 0", 2),
        ([2**60, 2**60 + 1, 5, 6], "cast(a AS float) = cast(1152921504606846976L AS float)", 2),
        (
            [dt.datetime(2020, 1, 1, 5, tzinfo=dt.UTC), dt.datetime(2020, 1, 2, 1, tzinfo=dt.UTC)],
            "cast(a AS string) LIKE '% 01%'",
            1,
        ),
    ],
)
def test_case_21_casts_that_lose_order_move_through_no_bounds(spark, path, values, where, selected):
    write(path, values, row_group_size=1)
    assert check(spark, path, where)[0] == selected


@pytest.mark.parametrize(
    ("where", "selected"),
    [
        ("NOT (a = 1 AND upper(cast(a AS string)) = 'X')", 3),
        ("a NOT IN (1, NULL)", 0),
        ("a IN (1, NULL)", 1),
        ("NOT (a IN (1, NULL))", 0),
        ("a <> 1", 2),
        ("NOT (a <=> 1)", 3),
        ("NOT (a <> 1)", 1),
        ("(a > 1) IS NULL", 1),
        ("NOT (a > 1 OR NULL)", 0),
        ("(a = 1) IS NOT TRUE", 3),
    ],
)
def test_case_22_three_values_of_truth(spark, path, where, selected):
    write(path, [1, 2, None, 3], row_group_size=1)
    assert check(spark, path, where)[0] == selected


def test_case_23_a_column_that_a_file_lacks_or_stores_otherwise(spark, tmp_path):
    directory = tmp_path / "t"
    directory.mkdir()
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int64()), "b": [1, 2]}), directory / "0.parquet")
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32())}), directory / "1.parquet")
    pq.write_table(pa.table({"A": pa.array([1, 9], pa.int64()), "b": [7, 8]}), directory / "2.parquet")
    for where in ("b IS NULL", "b IS NOT NULL", "b = 2", "b <> 2", "a = 2", "a = 9", "a IS NULL", "a > 1 OR b = 7"):
        check(spark, directory, where)
    assert check(spark, directory, "a = 3") == (0, 0), "a narrower type is as good, and so is another case"
    assert check(spark, directory, "b = 9") == (0, 0)


def test_case_24_a_column_that_is_only_asked_about_is_read_all_the_same(spark, path):
    pq.write_table(pa.table({"a": [1, 2, 3, 4], "b": [10, 20, 30, 40]}), path, row_group_size=2, write_page_index=True)
    found = pr.read(path, where="b > 25", session=spark, columns=["a"])
    assert found.columns == ["a"]
    assert sorted(row.a for row in found.collect()) == [3, 4]
    made = plan(path, where="b > 25", columns=["a"])
    assert {column.name for column in made.columns} == {"a", "b"}


def test_case_45_an_unknown_logical_type_has_no_order(path):
    write(path, ["a", "b"])

    def unknown(footer):
        leaf = value_of(footer, cases.SCHEMA)[1][1]
        drop(leaf, 6)
        put(leaf, 10, STRUCT, [[99, STRUCT, []]])

    edit_footer(path, unknown)
    assert plan(path, where="a IS NOT NULL").report.kept.rows == 2
    made = plan(path, where="a = X'7a'")
    assert made.report.kept.rows == 2
    assert "logical type 99 is not supported" in made.report.unsupported[0].reason


def test_case_45_the_converted_type_alone_selects_the_order(spark, path):
    write(path, ["z", "z", "\u00e9", "\u00e9"])
    edit_footer(path, lambda footer: drop(value_of(footer, cases.SCHEMA)[1][1], 10))
    edit_footer(path, lambda footer: [drop(field, 10) for field in value_of(footer, cases.SCHEMA)[1]])
    assert check(spark, path, "a > 'z'") == (2, 2)
