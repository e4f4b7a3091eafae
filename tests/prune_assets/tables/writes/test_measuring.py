from __future__ import annotations

import pytest
from pyspark.sql import functions as fn

from parquet_core.layout.sort_key import SortKey
from prune_assets.tables.writes.data_size import DataSize
from prune_assets.tables.writes.measuring import SAMPLE, measure
from prune_assets.tables.writes.ranges import distinct_per_row_group, ranks_of
from prune_assets.tables.writes.sort_order import order_codes
from prune_assets.tables.writes.write_options import WriteLayout


def distinct(df, bound, *, group_rows):
    measured = measure(df, bound, bound.keys, files=1)
    codes = [order_codes(measured.keys.column(i), key) for i, key in enumerate(bound.keys)]
    rows = len(measured.random)
    partitions = ranks_of(codes[: len(bound.partition_by)], rows)
    counts = distinct_per_row_group(measured, ranks_of(codes, rows), partitions, group_rows=group_rows)
    return dict(zip(bound.bloom, counts, strict=True))


@pytest.mark.spark
def test_rows_and_plain_bytes_are_measured(spark):
    df = spark.range(10).select(
        "id",
        fn.lit("h\u00e9llo").alias("text"),
        fn.lit(None).cast("string").alias("nothing"),
        fn.array(fn.lit(1)).alias("list"),
    )
    measured = measure(df, WriteLayout((), {}), (), files=None)
    assert measured.size == DataSize(10, 10 * (8 + 6 + 0 + len('{"list":[1]}')))
    assert (measured.rate, len(measured.random)) == (1.0, 10)
    assert measure(df.where("id < 0"), WriteLayout((), {}), (), files=None).size == DataSize(0, 0)


@pytest.mark.spark
def test_distinct_values_are_those_of_a_row_group_and_not_of_the_table(spark):
    # The 100 rows of each `clustered` value are adjacent in key order; `spread` values repeat over the whole table.
    df = spark.range(10_000).select(
        fn.col("id").alias("key"),
        (fn.col("id") / 100).cast("long").alias("clustered"),
        (fn.col("id") % 300).alias("spread"),
    )
    bound = WriteLayout((SortKey("key"),), {"clustered": 0.01, "spread": 0.01, "key": 0.01})
    counts = distinct(df, bound, group_rows=1_000)
    assert 10 <= counts["clustered"] <= 25
    assert 300 <= counts["spread"] <= 400
    assert 800 <= counts["key"] <= 1_000


@pytest.mark.spark
def test_a_sample_tells_no_fewer_values_than_there_are(spark):
    rows, group_rows = 40 * SAMPLE, 20_000
    df = spark.range(rows).select(
        fn.col("id").alias("key"),
        (fn.col("id") / 4).cast("long").alias("together"),
        (fn.col("id") % (rows // 4)).alias("apart"),
        (fn.col("id") % 7).alias("few"),
        fn.when(fn.col("id") < rows / 2, 0).otherwise(fn.col("id")).alias("in_one_half"),
    )
    bound = WriteLayout((SortKey("key"),), dict.fromkeys(("together", "apart", "few", "in_one_half"), 0.01))
    counts = distinct(df, bound, group_rows=group_rows)
    assert group_rows // 4 <= counts["together"] < group_rows // 2
    assert counts["apart"] == group_rows
    assert 7 <= counts["few"] <= 9
    assert 0.9 * group_rows <= counts["in_one_half"] <= group_rows


@pytest.mark.spark
def test_without_a_sort_key_a_row_group_may_hold_every_value(spark):
    df = spark.range(5_000).select(
        (fn.col("id") % 1_000).alias("n"),
        fn.struct((fn.col("id") % 3).alias("m")).alias("s"),
        fn.lit(None).cast("long").alias("nothing"),
    )
    counts = distinct(df, WriteLayout((), {"n": 0.01, "s.m": 0.1, "nothing": 0.1}), group_rows=500)
    assert counts["n"] == 500
    assert 3 <= counts["s.m"] <= 5
    assert counts["nothing"] == 1


@pytest.mark.spark
def test_distinct_values_are_those_of_a_partition_whose_files_hold_no_other(spark):
    df = spark.range(10_000).select("id", (fn.col("id") % 10).alias("day"))
    (count,) = distinct(
        df, WriteLayout(sort_by=(), bloom={"id": 0.01}, partition_by=("day",)), group_rows=100_000
    ).values()
    assert 1_000 <= count <= 1_400
