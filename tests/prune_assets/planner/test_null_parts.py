"""Unsupported conditions are NULL where their columns are NULL; nothing is read for such containers."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.pruning.predicate import Unsupported, leaves
from prune_assets.planner.explain.plan import plan
from tests.numbered_cases.cases import check

DAY = dt.date(2024, 5, 1)
# Row groups of 4 rows in 2 pages: of nulls, of a page of nulls and one of values, and of values.
COLUMNS = {
    "d": [None] * 6 + [DAY, None] + [DAY, DAY.replace(month=7)] * 2,
    "x": [None] * 6 + [7, None] + [1, 5] * 2,
    "y": [3] * 12,
    "s": [None] * 6 + ["b", None] + ["ab", "b"] * 2,
}
NULL_FOR_NULL = (
    "month(d) = 5",
    "NOT month(d) = 5",
    "x % 5 = 1",
    "upper(s) = 'B'",
    "x + y > 7",
    "cast(s AS double) > 1 AND y = 4",
    "trim(s) LIKE '%b'",
    "trim(s) RLIKE 'b$'",
    "x BETWEEN y - 3 AND y + 2",
    "x % 5 IN (1, 2)",
    "extract(week FROM d) = 18",
)
OTHERWISE = (
    "coalesce(x % 5, 1) = 1",
    "NOT (x % 5 <=> 1)",
    "(x % 5 = 1) IS NULL",
    "(month(d) = 5) IS NOT TRUE",
    "month(d) = 5 OR y = 3",
    "NOT (3 BETWEEN x % 5 AND 2)",
    "CASE WHEN x % 5 = 1 THEN true ELSE y = 3 END",
    "concat_ws('-', upper(s), 'a') = 'a'",
    # Spark returns TRUE for null, too.
    "x < 9223372036854775808",
    "x % 5 < 9223372036854775808",
    "x % 5 > -9223372036854775809.5",
    "NOT (x % 5 > 9223372036854775808)",
    "x % 5 IN (SELECT 1)",
)

# Known of parts whose other values are not.
KNOWN_OF_NULL = ("x % 5 <=> NULL", "isnull(x % 5)", "month(d) IS NULL")

# Comparisons that Spark's analyzer decides without the column, if the other side is a literal, and others.
BEYOND_BIGINT = (
    *("x > 9223372036854775807.5", "x >= -9223372036854775808.5", "x > 9223372036854775807.0", "x < 1e20BD"),
    *("x BETWEEN 3 AND 99999999999999999999", "x NOT BETWEEN -99999999999999999999 AND 4", "x = 99999999999999999999"),
    *("x < 99999999999999999998 + 1", "x > cast(99999999999999999999 AS decimal(20,0))", "x + 5 < 9223372036854775808"),
    *("x % 5 + 0.5 < 9223372036854775808", "cast(x % 5 AS decimal(38,6)) < 9223372036854775808", "x <> 1e20BD"),
    *("-x < 9223372036854775808", "(x < 9223372036854775808) = (y < 5)", "(x > 9223372036854775808) IS NOT TRUE"),
    *("cast(x AS decimal(38,6)) * 2 < -9223372036854775808", "x % 5 BETWEEN y AND 9223372036854775808"),
)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("nulls") / "t.parquet"
    types = {"d": pa.date32(), "x": pa.int32(), "y": pa.int32(), "s": pa.string()}
    columns = {name: pa.array(values, types[name]) for name, values in COLUMNS.items()}
    options = {"row_group_size": 4, "max_rows_per_page": 2, "write_batch_size": 1, "write_page_index": True}
    pq.write_table(pa.table(columns), path, use_dictionary=False, **options)
    return path


@pytest.mark.parametrize("where", NULL_FOR_NULL)
def test_rows_of_nulls_are_not_read(table, where):
    made = plan(table, where=where)
    assert any(isinstance(leaf, Unsupported) for leaf in leaves(made.lowered.predicate))
    assert made.report.kept.rows <= 6


@pytest.mark.parametrize("where", OTHERWISE)
def test_what_is_true_of_nulls_is_read(table, where):
    assert plan(table, where=where).report.kept.rows == 12


@pytest.mark.parametrize("where", KNOWN_OF_NULL)
def test_pages_without_null_are_not_read(table, where):
    assert plan(table, where=where).report.kept.rows == 8


@pytest.mark.sampled(24)
@pytest.mark.spark
@pytest.mark.parametrize("where", [*NULL_FOR_NULL[:5], *NULL_FOR_NULL[6:], *OTHERWISE[:-1], *KNOWN_OF_NULL])
def test_no_row_is_lost(spark, table, where):
    for asked in (f"NOT ({where})", f"({where}) IS NULL", f"({where}) OR x = 5"):
        check(spark, table, asked)


@pytest.mark.sampled(12)
@pytest.mark.spark
@pytest.mark.parametrize("where", BEYOND_BIGINT)
def test_no_row_is_lost_beyond_bigint(spark, table, where):
    for asked in (where, f"NOT ({where})"):
        check(spark, table, asked)


@pytest.mark.parametrize("where", ["x > 9223372036854775807.5", "x <= -99999999999999999999", "x >= 1e20BD AND y = 3"])
def test_what_is_never_true_is_not_read(table, where):
    assert plan(table, where=where).report.kept.rows == 0


@pytest.mark.sampled(3)
@pytest.mark.spark
@pytest.mark.parametrize("where", ["isnan(f)", "NOT isnan(f)", "(f = double('NaN')) IS TRUE"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_null_is_no_nan(spark, tmp_path, where, dictionary):
    nan = float("nan")
    floats = pa.table({"f": pa.array([None, nan, nan, nan, 1.0, None], pa.float64())})
    pq.write_table(floats, tmp_path / "t.parquet", row_group_size=2, use_dictionary=dictionary)
    check(spark, tmp_path / "t.parquet", where)
