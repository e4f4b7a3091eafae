from __future__ import annotations

import pytest
from pyspark.sql import functions as fn

from parquet_core.layout.spec import LayoutSpec
from prune_assets.spark.writing.data_size import DataSize, distinct_per_row_group, file_count, measure, row_group_rows
from prune_assets.spark.writing.write_options import BoundLayout


@pytest.mark.spark
def test_rows_and_plain_bytes_are_measured(spark):
    df = spark.range(10).select(
        "id",
        fn.lit("héllo").alias("text"),
        fn.lit(None).cast("string").alias("nothing"),
        fn.array(fn.lit(1)).alias("list"),
    )
    assert measure(df) == DataSize(10, 10 * (8 + 6 + 0 + len('{"list":[1]}')))


@pytest.mark.spark
def test_nothing_has_no_size(spark):
    assert measure(spark.range(0)) == DataSize(0, 0)


def test_files_hold_about_128_mebibytes():
    assert file_count(DataSize(0, 0)) == 1
    assert file_count(DataSize(1, (512 << 20) + 1)) == 2


def test_rows_of_a_row_group_follow_from_its_bytes_unless_given():
    size = DataSize(rows=1_000_000, plain_bytes=100_000_000)
    assert row_group_rows(size, LayoutSpec(row_group_rows=77)) == 77
    assert row_group_rows(size, LayoutSpec(row_group_bytes=1_000_000)) == 40_000
    assert row_group_rows(DataSize(0, 0), LayoutSpec(row_group_bytes=1_000)) == 1_000


@pytest.mark.spark
def test_distinct_values_are_those_of_a_row_group_and_not_of_the_table(spark):
    # 100 rows of each `clustered` lie together in the order of the key; `spread` repeats all over it.
    df = spark.range(10_000).select(
        fn.col("id").alias("key"),
        (fn.col("id") / 100).cast("long").alias("clustered"),
        (fn.col("id") % 300).alias("spread"),
    )
    bound = BoundLayout(("key",), {"clustered": 0.01, "spread": 0.01, "key": 0.01})
    found = distinct_per_row_group(df, bound, rows=10_000, group_rows=1_000)
    assert 10 <= found["clustered"] <= 25
    assert 300 <= found["spread"] <= 400
    assert 800 <= found["key"] <= 1_000


@pytest.mark.spark
def test_without_a_sort_key_a_row_group_may_hold_every_value(spark):
    df = spark.range(5_000).select(
        (fn.col("id") % 1_000).alias("n"), fn.struct((fn.col("id") % 3).alias("m")).alias("s")
    )
    found = distinct_per_row_group(df, BoundLayout((), {"n": 0.01, "s.m": 0.1}), rows=5_000, group_rows=500)
    assert found["n"] == 500
    assert 3 <= found["s.m"] <= 5


@pytest.mark.spark
def test_a_column_of_nulls_is_sized_for_one_value(spark):
    df = spark.range(10).select(fn.lit(None).cast("long").alias("n"))
    assert distinct_per_row_group(df, BoundLayout((), {"n": 0.01}), rows=10, group_rows=10) == {"n": 1}


@pytest.mark.spark
def test_distinct_values_are_those_of_a_partition_whose_files_hold_no_other(spark):
    df = spark.range(10_000).select("id", (fn.col("id") % 10).alias("day"))
    bound = BoundLayout(sort_by=(), bloom={"id": 0.01}, partition_by=("day",))
    (count,) = distinct_per_row_group(df, bound, rows=10_000, group_rows=100_000).values()
    assert 1_000 <= count <= 1_400
