from __future__ import annotations

import pytest
from pyspark.sql import functions as fn

from parquet_core.errors import WrongUse
from parquet_core.layout.spec import LayoutSpec
from prune_assets.spark.scan_metrics import bytes_read, counting_bytes, scan_metrics
from prune_assets.writing.write import write

pytestmark = pytest.mark.spark


@pytest.fixture
def table(spark, tmp_path):
    write(spark.range(10_000), tmp_path / "t", layout=LayoutSpec(sort_by=("id",), page_rows=500, files=2))
    return spark.read.parquet(str(tmp_path / "t"))


def test_rows_are_those_of_the_pages_that_were_read(table, tmp_path):
    df = table.where("id = 4")
    assert [row.id for row in df.collect()] == [4]
    (scan,) = scan_metrics(df)
    assert scan.rows == 500
    assert scan.files == 2
    assert scan.bytes == sum(file.stat().st_size for file in (tmp_path / "t").glob("*.parquet"))
    assert "EqualTo(id,4)" in scan.pushed_filters


def test_scans_are_found_behind_shuffles_and_joins(spark, table):
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        joined = table.join(table.select(fn.col("id").alias("other")), fn.col("id") == fn.col("other") + 1)
        grouped = joined.groupBy((fn.col("id") % 3).alias("rest")).count()
        assert sum(row["count"] for row in grouped.collect()) == 9_999
        assert [scan.rows for scan in scan_metrics(grouped)] == [10_000, 10_000]
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def test_a_scan_of_no_files_is_a_scan(spark, table, tmp_path):
    table.withColumn("part", fn.col("id") % 2).write.partitionBy("part").parquet(str(tmp_path / "parted"))
    nothing = spark.read.parquet(str(tmp_path / "parted")).where("part = 7").groupBy().agg(fn.sum("id"))
    nothing.collect()
    assert [(scan.files, scan.rows) for scan in scan_metrics(nothing)] == [(0, 0)]


def test_rows_that_are_given_make_a_scan_without_filters(spark):
    given = spark.createDataFrame([], "id bigint")
    assert given.collect() == []
    (scan,) = scan_metrics(given)
    assert (scan.rows, scan.files, scan.pushed_filters) == (0, None, "")


def test_a_dataframe_that_was_not_collected_is_refused(table):
    table.count()  # another plan than the one of `table`
    with pytest.raises(WrongUse, match="nothing was executed on this DataFrame"):
        scan_metrics(table)


def test_what_spark_connect_has_not_run_is_refused():
    class OfConnect:
        executionInfo = None

    with pytest.raises(WrongUse, match="nothing was executed on this DataFrame"):
        scan_metrics(OfConnect())


def test_bytes_are_those_that_tasks_read(spark, table):
    few, all_ = table.where("id = 4"), table.where("id >= 0")
    with counting_bytes(spark):
        few.collect()
        all_.collect()
        assert 0 < bytes_read(few) < bytes_read(all_)
