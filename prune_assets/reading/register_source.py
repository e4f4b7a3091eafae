"""Make the Python data source known to a session; where its Spark has none, its module cannot be imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.session.spark_versions import check_python_data_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register_source(spark: SparkSession) -> None:
    """Make `spark.read.format("prune")` and `CREATE TEMPORARY VIEW .. USING prune` known to a session.

    With `spark` a SparkSession:

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> pr.register_source(spark)
    >>> spark.read.format("prune").option("where", "id < 150").load(table).count()
    150

    Options: `path`, a table as `plan` takes it. `where`: the rows to return, all by default; parts that only Spark can
    evaluate are refused. `columns`: their names with commas between them. `timeZone`, `ansi`, `caseSensitive`: what
    `where` means, by default as in Spark 4 without a time zone; settings of the session do not count. `pushFilters`:
    "true" skips by the filters of the query too, which takes `spark.sql.python.filterPushdown.enabled`.
    """
    check_python_data_source()
    from prune_assets.reading.source import PruneDataSource

    spark.dataSource.register(PruneDataSource)
