"""`merge` runs the MERGE of Delta or Iceberg, and returns the files that it opened and the rows that it changed."""

from __future__ import annotations

import pyarrow as pa
import pytest
import spark_packages

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from prune_assets.merging.run_merge import merge
from prune_assets.spark.spark_versions import from_arrow

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
UPSERT = {"on": "t.k = s.k", "when": ["MATCHED UPDATE", "NOT MATCHED INSERT"]}
CHANGES = pa.table({"k": pa.array([7, 305, 5000], pa.int64()), "v": ["new"] * 3})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("warehouse")
    with spark_packages.process_with(spark_packages.DELTA, DELTA, place) as run:
        yield run


def ten_files(spark, table):
    """Write the keys 0 to 999 in files of 100 keys."""
    rows = spark.sql("SELECT id AS k, 'old' AS v FROM range(1000)")
    pr.write(rows, table, layout=pr.LayoutSpec(sort_by=["k"], files=10), format="delta")


def merged(spark, table, kind):
    """Merge CHANGES, given as each kind of source; return the text of the result and the rows that changed."""
    ten_files(spark, table)
    source = from_arrow(spark, CHANGES) if kind != "arrow" else CHANGES
    if kind == "name":
        source.createOrReplaceTempView("changes")
        source = "changes"
    views = [view.name for view in spark.catalog.listTables() if view.isTemporary]
    result = merge(table, source, session=spark, **UPSERT)
    assert [view.name for view in spark.catalog.listTables() if view.isTemporary] == views
    rows = spark.read.format("delta").load(table).where("v <> 'old'").orderBy("k").collect()
    return result, str(result), [tuple(row) for row in rows]


@pytest.mark.parametrize("kind", ["arrow", "frame", "name"])
def test_only_the_files_with_keys_are_opened(run, tmp_path, kind):
    result, text, rows = run(merged, str(tmp_path / "t"), kind)
    assert rows == [(7, "new"), (305, "new"), (5000, "new")]
    assert (result.rows_inserted, result.rows_updated, result.rows_deleted) == (1, 2, 0)
    assert result.opened == result.report.with_condition
    assert (result.opened.files, result.report.as_written.files) == (2, 10)
    assert result.version == result.report.version + 1
    assert result.metrics["numTargetRowsInserted"] == "1"
    assert f"USING {'changes' if kind == 'name' else 'source'} AS s" in result.statement
    assert "1 inserted, 2 updated, 0 deleted" in text


def changing_source(spark, table):
    """Merge rows that are others each time that they are computed."""
    ten_files(spark, table)
    keys = spark.sql("SELECT CAST(rand() * 100000 AS BIGINT) % 1000 AS k FROM range(3)").distinct()
    result = merge(table, keys.selectExpr("k", "'new' AS v"), session=spark, **UPSERT)
    return result, spark.read.format("delta").load(table).where("v = 'new'").count()


def test_the_keys_are_those_of_the_rows_that_are_merged(run, tmp_path):
    result, changed = run(changing_source, str(tmp_path / "t"))
    assert changed == result.report.keys == result.rows_updated


def duplicates(spark, table):
    ten_files(spark, table)
    with pytest.raises(Exception, match="MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW") as raised:
        merge(table, pa.concat_tables([CHANGES, CHANGES]), session=spark, **UPSERT)
    return type(raised.value).__module__


def test_an_error_of_the_merge_is_that_of_spark(run, tmp_path):
    assert run(duplicates, str(tmp_path / "t")).startswith("pyspark.")


def test_a_session_without_the_engine_is_told_the_statement(spark, tmp_path):
    table = str(tmp_path / "t")
    ten_files(spark, table)
    with pytest.raises(UnsupportedFeature, match=r"delta-spark") as raised:
        merge(table, CHANGES, session=spark, **UPSERT)
    statement = str(raised.value).partition("its extension: ")[2]
    assert statement.startswith(f"MERGE INTO delta.`{table}` AS t USING source AS s ON (t.k = s.k) AND (")


def merged_in_iceberg(spark):
    rows = spark.sql("SELECT id AS k, 'old' AS v FROM range(1000)")
    spark.sql("CREATE TABLE lake.db.t (k BIGINT, v STRING) USING iceberg")
    pr.write(rows, "lake.db.t", layout=pr.LayoutSpec(sort_by=["k"], files=10))
    result = merge("lake.db.t", CHANGES, session=spark, **UPSERT)
    return result, spark.table("lake.db.t").where("v = 'new'").count()


def test_a_table_of_iceberg(tmp_path):
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")
    with spark_packages.iceberg_lake(tmp_path) as run:
        result, changed = run(merged_in_iceberg)
    assert changed == 3
    assert result.version is not None
    assert result.metrics["added-records"]
    assert (result.opened.files, result.report.with_condition.files, result.report.as_written.files) == (2, 2, 10)
