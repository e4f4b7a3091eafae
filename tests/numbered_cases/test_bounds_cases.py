"""Causes of wrong bounds: zeros, NaN, missing counts, orders, truncation (cases 1-13, 48)."""

from __future__ import annotations

import math
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_thrift import BINARY, FALSE, I64, LIST

from prune_assets.planner.explain.plan import plan
from tests.numbered_cases import cases
from tests.numbered_cases.cases import check, drop, edit_column_index, edit_footer, edit_statistics, put

pytestmark = [pytest.mark.spark, pytest.mark.deep]

ZERO, MINUS_ZERO = struct.pack("<d", 0.0), struct.pack("<d", -0.0)
NAN = math.nan
PAGED = {"write_page_index": True, "max_rows_per_page": 2, "write_batch_size": 1}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.parquet"


def write(path, values, kind=None, **options):
    pq.write_table(pa.table({"a": pa.array(values, kind)}), path, **options)


def options_of(made):
    return {warning.option.split(".")[2] for warning in made.report.warnings}


@pytest.mark.parametrize("where", ["a = 0.0", "a >= 0.0D", "a IN (0.0D, 7.0D)"])
def test_case_01_both_zeros_are_probed(spark, path, where):
    write(path, [-0.0, -0.0, -0.0])
    assert cases.number_of_alone(spark, path, where) == 0, "Spark looks for other bits in its dictionary"
    assert check(spark, path, where) == (3, 3)
    assert options_of(plan(path, where=where)) == {"dictionary"}
    if ">=" not in where:
        write(path, [-0.0] * 3, use_dictionary=False, bloom_filter_options={"a": {"ndv": 10}})
        assert cases.number_of_alone(spark, path, where) == 0, "and in its bloom filter"
        assert check(spark, path, where) == (3, 3)
        assert options_of(plan(path, where=where)) == {"bloom"}


def test_case_01_nothing_is_switched_off_where_no_zero_can_be(path):
    write(path, [1.0, 2.0])
    assert options_of(plan(path, where="a >= 0.0")) == set()
    assert options_of(plan(path, where="a = 1.5")) == set()


def test_case_02_bounds_of_one_zero_hold_the_other(spark, path):
    write(path, [-0.0, -0.0, 5.0, 5.0], use_dictionary=False, **PAGED)
    edit_statistics(path, cases.set_bounds(ZERO, struct.pack("<d", 5.0)))

    def narrow(index):
        put(index, 2, LIST, (BINARY, [ZERO, struct.pack("<d", 5.0)]))
        put(index, 3, LIST, (BINARY, [ZERO, struct.pack("<d", 5.0)]))

    edit_column_index(path, narrow)
    assert check(spark, path, "a = -0.0D") == (2, 2)
    assert check(spark, path, "a <= -0.0D") == (2, 2)


def test_case_03_ordered_by_ieee_754_zero_is_both_zeros(spark, path):
    write(path, [-0.0, -0.0], use_dictionary=False)
    edit_footer(path, cases.set_orders(2))
    edit_statistics(path, cases.set_bounds(MINUS_ZERO, MINUS_ZERO))
    assert check(spark, path, "a = 0.0D") == (2, 2)
    assert check(spark, path, "a >= 0.0D") == (2, 2)
    assert check(spark, path, "a > 0.0D")[0] == 0


@pytest.mark.parametrize("where", ["a > 5", "a >= 5", "NOT a < 3", "a = double('NaN')", "a <> 1"])
def test_case_04_nan_lies_above_bounds_that_leave_it_out(spark, path, where):
    write(path, [1.0, NAN] if where == "a <> 1" else [1.0, NAN, 2.0], use_dictionary=False)
    assert cases.number_of_alone(spark, path, where) == 0, "parquet-java 1.17 knows nothing of NaN"
    assert check(spark, path, where)[0] == 1
    assert "stats" in options_of(plan(path, where=where))


def test_case_04_spark_loses_pages_too(spark, path):
    write(path, [1.0, NAN, 7.0, 8.0], use_dictionary=False, **PAGED)
    assert cases.number_of_alone(spark, path, "a > 5") == 2
    assert check(spark, path, "a > 5") == (3, 4)
    assert options_of(plan(path, where="a > 5")) == {"columnindex"}
    assert options_of(plan(path, where="a < 5")) == set()


def test_case_05_nan_among_the_bounds_spoils_both(spark, tmp_path):
    rows = spark.sql("SELECT * FROM VALUES (1.0D), (double('NaN')), (NULL) AS t(a)").coalesce(1)
    rows.write.parquet(str(tmp_path / "t"))
    for where in ("a > 5", "a < 0", "a = double('NaN')"):
        check(spark, tmp_path / "t", where)
    assert check(spark, tmp_path / "t", "a > 5") == (1, 3)
    assert options_of(plan(tmp_path / "t", where="a > 5")) == set(), "no bounds, nothing to lose"


def test_case_06_a_list_with_nan_has_no_hull(spark, path):
    many = ", ".join(f"{i}D" for i in range(100, 112))
    write(path, [1.0, NAN, 7.0, 8.0], use_dictionary=False, **PAGED)
    assert check(spark, path, f"a IN (double('NaN'), {many})")[0] == 1
    assert check(spark, path, "a IN (double('NaN'), 7.0D)")[0] == 2
    assert check(spark, path, "a NOT IN (1.0D, 7.0D)")[0] == 2
    assert check(spark, path, "a NOT IN (double('NaN'), 7.0D)")[0] == 2


def test_case_07_a_null_count_that_is_absent_is_not_0(spark, path):
    write(path, [5, None, 5])
    edit_statistics(path, lambda statistics: drop(statistics, cases.NULL_COUNT))
    assert check(spark, path, "a IS NULL") == (1, 3)
    assert check(spark, path, "a IS NOT NULL") == (2, 3)
    assert check(spark, path, "a = 5") == (2, 3)
    where = "NOT (a <=> 5)"
    assert cases.number_of_alone(spark, path, where) == 0, "parquet-java takes it that there are no nulls"
    assert check(spark, path, where)[0] == 1
    assert "stats" in options_of(plan(path, where=where))


def test_case_08_the_pages_still_bound_what_the_chunk_no_longer_does(spark, tmp_path):
    rows = spark.range(4).selectExpr("if(id < 2, repeat('a', 3000), repeat('z', 3000)) AS a").coalesce(1)
    rows = rows.union(spark.sql("SELECT CAST(NULL AS STRING)")).coalesce(1)
    options = {
        "parquet.page.row.count.limit": 2,
        "parquet.page.size.row.check.min": 1,
        "parquet.enable.dictionary": False,
    }
    rows.write.options(**options).parquet(str(tmp_path / "t"))
    assert check(spark, tmp_path / "t", "a IS NULL")[0] == 1
    selected, kept = check(spark, tmp_path / "t", "a = 'm'")
    assert (selected, kept) == (0, 0)


def test_case_09_deprecated_bounds_of_bytes_have_no_certain_order(spark, path):
    write(path, ["a", "\u00e9"])

    def old_pair(statistics):
        drop(statistics, cases.MIN, cases.MAX)
        # Compared as signed bytes: \u00e9 is negative.
        put(statistics, cases.OLD_MIN, BINARY, "\u00e9".encode())
        put(statistics, cases.OLD_MAX, BINARY, b"a")

    edit_statistics(path, old_pair)
    assert check(spark, path, "a = 'a'") == (1, 2)
    assert check(spark, path, "a > 'z'") == (1, 2)


def test_case_10_of_bytes_by_an_old_writer_not_even_equal_bounds_are_believed(spark, path):
    write(path, ["a", "b"], use_dictionary=False)

    def stuck(statistics):
        drop(statistics, cases.MIN, cases.MAX)
        put(statistics, cases.OLD_MIN, BINARY, b"b")
        put(statistics, cases.OLD_MAX, BINARY, b"b")

    edit_statistics(path, stuck)
    for created_by in (b"parquet-mr version 1.7.0 (build abc)", b""):
        edit_footer(path, lambda footer, by=created_by: put(footer, cases.CREATED_BY, BINARY, by))
        assert check(spark, path, "a = 'a'") == (1, 2)


@pytest.mark.parametrize("member", [None, 3, 9])
def test_case_11_bounds_in_no_known_order_are_not_believed(path, member):
    write(path, [1, 2], use_dictionary=False)
    edit_footer(path, cases.set_orders(member))
    edit_statistics(path, cases.set_bounds(struct.pack("<q", 8), struct.pack("<q", 9)))
    assert plan(path, where="a = 1").report.kept.rows == 2


def test_case_12_cut_bounds_are_no_values(spark, path):
    long = ["p" * 100 + letter for letter in "abcd"]
    write(path, long, use_dictionary=False, **PAGED)
    edit_statistics(path, cases.set_bounds(b"p" * 64, b"p" * 63 + b"q"))
    edit_statistics(path, lambda statistics: [put(statistics, exact, FALSE, value=False) for exact in (7, 8)])
    assert check(spark, path, f"a = '{'p' * 64}'")[0] == 0
    assert check(spark, path, f"a <> '{'p' * 63}q'") == (4, 4)
    assert check(spark, path, f"a >= '{long[2]}'")[0] == 2


def test_case_13_bounds_that_are_no_utf8_compare_by_their_bytes(spark, path):
    values = ["\U0010ffff" * 40, "\U0010ffff" * 41 + "x"]
    write(path, values, use_dictionary=False, **PAGED)
    edit_statistics(path, cases.set_bounds(b"\xf4\x8f", b"\xf5"))
    edit_statistics(path, lambda statistics: [put(statistics, exact, FALSE, value=False) for exact in (7, 8)])
    assert check(spark, path, f"a = '{values[1]}'")[0] == 1
    assert check(spark, path, "a >= '\U0010ffff'") == (2, 2)
    assert check(spark, path, "a < '\U0010fffe'") == (0, 0)


def test_case_46_counts_that_cannot_be_count_as_unknown(spark, path):
    for wrong in (-5, 99):
        write(path, [5, None])
        edit_statistics(path, lambda statistics, n=wrong: put(statistics, cases.NULL_COUNT, I64, n))
        made = plan(path, where="a IS NULL")
        assert made.report.kept.rows == 2
        assert plan(path, where="a IS NOT NULL").files[0].row_groups[0].matches == ()
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    assert check(spark, path, "a IS NULL") == (0, 0)


def test_case_48_one_side_alone_says_nothing_of_the_other(spark, path):
    write(path, ["a", "z" * 5000], use_dictionary=False)
    assert check(spark, path, "a = 'a'") == (1, 2)
    assert check(spark, path, "a > 'b'") == (1, 2)
    assert check(spark, path, "a < 'A'")[0] == 0
    edit_statistics(path, lambda statistics: drop(statistics, cases.MIN))
    assert check(spark, path, "a = 'a'") == (1, 2)


def test_case_42_rows_are_proven_to_match_only_where_no_null_or_nan_can_be(spark, path):
    write(path, [5, 6])
    assert plan(path, where="a > 0").files[0].row_groups[0].matches == ((0, 2),)
    edit_statistics(path, lambda statistics: drop(statistics, cases.NULL_COUNT))
    assert plan(path, where="a > 0").files[0].row_groups[0].matches == ()
    write(path, [5.0, NAN])
    assert plan(path, where="a < 9").files[0].row_groups[0].matches == ()
    assert check(spark, path, "a < 9") == (1, 2)
