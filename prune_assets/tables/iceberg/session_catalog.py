"""Tables in an Iceberg catalog of the Spark session: `lake.db.t`."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import UnsupportedFeature
from prune_assets.spark.spark_versions import java_error, quiet
from prune_assets.tables.catalogs.entry import CatalogEntry
from prune_assets.tables.iceberg.metadata_files import place_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot


# Suffixes by which Iceberg's catalogs select another snapshot, and the equivalent option of this package.
_SELECTORS = (
    (re.compile(r"snapshot_id_(\d+)"), "give version={0}"),
    (re.compile(r"at_timestamp_(\d+)"), "give timestamp= with the time that {0} ms are"),
    (re.compile(r"(?:branch|tag)_(.+)"), "give version= with the snapshot that {table}.refs has for {0}"),
    (re.compile(r"(changes)"), "read its changes with Spark's own reader"),
)


class NameInSession(NamedTuple):
    """A name in SQL, each part in backquotes.

    `table`: the name with the catalog and the database.
    """

    catalog: str
    table: str

    @property
    def argument(self) -> str:
        """The table as a procedure argument, without the enclosing quotes."""
        return self.table.replace("'", "\\'")


def name_in_session(name: str, spark: SparkSession) -> NameInSession:
    """Complete a name with its catalog, by default the session's current catalog.

    The first part of a two-part name is a database of the current catalog, unless a catalog has this name.
    """
    parts = name.replace("`", "").split(".")
    has_catalog = spark.conf.get(f"spark.sql.catalog.{parts[0]}", None) is not None
    if not has_catalog and parts[0] != "spark_catalog":
        if len(parts) == 1:
            parts = [spark.catalog.currentDatabase(), *parts]
        parts = [spark.catalog.currentCatalog(), *parts]
    return NameInSession(parts[0], ".".join(f"`{part}`" for part in parts))


def entry_in_session(name: str, spark: SparkSession) -> CatalogEntry:
    """Return the entry of a table with its current metadata file in the session's catalog."""
    return CatalogEntry(name, current_metadata(name, spark), "iceberg", in_session=True)


def current_metadata(name: str, spark: SparkSession) -> str:
    """Return the address of the current metadata file, which includes commits of other sessions."""
    from pyspark.errors import PySparkException

    with quiet(), suppress(PySparkException, java_error()):
        spark.catalog.refreshTable(name)
    return session_metadata(name, spark)


def snapshot_in_session(name: str, spark: SparkSession, version: int | None = None) -> IcebergSnapshot:
    """Open the current snapshot of a table, or another snapshot in its current metadata."""
    from prune_assets.tables.iceberg.snapshot import open_iceberg

    return open_iceberg(current_metadata(name, spark), version=version, timestamp=None, allow=())


def refuse_selector(name: str, spark: SparkSession, *, to_write: bool) -> None:
    """Raise UnsupportedFeature for a table name with a snapshot selector. Called before Spark resolves the name."""
    table, _, last = name.rpartition(".")
    for pattern, instead in _SELECTORS:
        selector = pattern.fullmatch(last.strip("`"))
        if selector is not None and table and exists_in_session(table, spark):
            what = f"name {table}, whose main branch is written" if to_write else f"name {table} and {instead}"
            raise UnsupportedFeature(f"{name}: names a snapshot of a table; {what.format(selector[1], table=table)}")


def exists_in_session(name: str, spark: SparkSession) -> bool:
    """Return True if a session's catalogs have a table or view with a name."""
    from pyspark.errors import PySparkException

    with quiet(), suppress(PySparkException):
        return bool(spark.catalog.tableExists(name))
    return False


def session_metadata(name: str, spark: SparkSession) -> str:
    """Return the address of the metadata file. Raises UnsupportedFeature for a metadata table."""
    location = _find_by_java(name, spark) if hasattr(spark, "_jvm") else _find_by_log(name, spark)
    if location is None:
        raise UnsupportedFeature(
            f"{name}: the catalog lists it as iceberg, but shows no metadata of it; if it is a metadata table, or "
            f"its catalog has no metadata files, use Spark's own reader"
        )
    return place_of(location)


def _find_by_java(name: str, spark: SparkSession) -> str | None:
    from py4j.java_gateway import is_instance_of
    from py4j.protocol import Py4JError

    from prune_assets.tables.iceberg.reading_with_iceberg import loaded

    try:
        table = loaded(spark, name)
        if is_instance_of(spark.sparkContext._gateway, table, "org.apache.iceberg.BaseMetadataTable"):
            return None
        metadata_path = table.operations().current().metadataFileLocation()
    except Py4JError:
        return None
    return None if metadata_path is None else str(metadata_path)


def _find_by_log(name: str, spark: SparkSession) -> str | None:
    from pyspark.errors import PySparkException

    try:
        rows = spark.sql(f"SELECT file FROM {name}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1").collect()
    except PySparkException:
        return None
    return str(rows[0][0]) if rows else None
