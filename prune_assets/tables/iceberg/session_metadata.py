"""Where a table of a session's catalog has its current metadata, as the session knows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parquet_core.errors import UnsupportedFeature
from prune_assets.tables.iceberg.metadata_files import place_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Iceberg's catalogs take them for a table at another snapshot.
_SELECTOR = re.compile(r"branch_.+|tag_.+|snapshot_id_\d+|at_timestamp_\d+|changes")


def session_metadata(name: str, spark: SparkSession) -> str:
    """Return the address of the file of metadata; UnsupportedFeature for what is no table of its own."""
    if _SELECTOR.fullmatch(name.rpartition(".")[2].strip("`")):
        raise UnsupportedFeature(
            f"{name}: names a snapshot of a table; name the table, and give version= or timestamp="
        )
    location = _of_java(name, spark) if hasattr(spark, "_jvm") else _of_metadata_log(name, spark)
    if location is None:
        raise UnsupportedFeature(
            f"{name}: the catalog lists it as iceberg, and shows no metadata of it; if it is a metadata table, or of a "
            "catalog without files of metadata, use Spark's own reader"
        )
    return place_of(location)


def _of_java(name: str, spark: SparkSession) -> str | None:
    from py4j.java_gateway import is_instance_of
    from py4j.protocol import Py4JError

    from prune_assets.tables.iceberg.reading_with_iceberg import loaded

    try:
        table = loaded(spark, name)
        if is_instance_of(spark.sparkContext._gateway, table, "org.apache.iceberg.BaseMetadataTable"):
            return None
        found = table.operations().current().metadataFileLocation()
    except Py4JError:
        return None
    return None if found is None else str(found)


def _of_metadata_log(name: str, spark: SparkSession) -> str | None:
    from pyspark.errors import PySparkException

    try:
        rows = spark.sql(f"SELECT file FROM {name}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1").collect()
    except PySparkException:
        return None
    return str(rows[0][0]) if rows else None
