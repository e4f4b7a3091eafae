"""Tables by their names in an Iceberg catalog of the Spark session: `lake.db.t`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.session.spark_versions import java_error, quiet
from prune_assets.tables.catalogs.entry import CatalogEntry
from prune_assets.tables.iceberg.session_metadata import session_metadata

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot


class NameInSession(NamedTuple):
    """A name in SQL: `catalog`, and `table` with catalog and database, each in backquotes."""

    catalog: str
    table: str

    @property
    def argument(self) -> str:
        """The table as an argument of procedures, without the quotes around it."""
        return self.table.replace("'", "\\'")


def name_in_session(name: str, spark: SparkSession) -> NameInSession:
    """Return a name with its catalog, which the session tells where the name does not.

    A name of two parts is that of a database in the current catalog, unless a catalog has the name of the first.
    """
    parts = name.replace("`", "").split(".")
    has_catalog = spark.conf.get(f"spark.sql.catalog.{parts[0]}", None) is not None
    if not has_catalog and parts[0] != "spark_catalog":
        if len(parts) == 1:
            parts = [spark.catalog.currentDatabase(), *parts]
        parts = [spark.catalog.currentCatalog(), *parts]
    return NameInSession(parts[0], ".".join(f"`{part}`" for part in parts))


def entry_in_session(name: str, spark: SparkSession) -> CatalogEntry:
    """Return a table with its current file of metadata, as the session's catalog has it now."""
    return CatalogEntry(name, current_metadata(name, spark), "iceberg", in_session=True)


def current_metadata(name: str, spark: SparkSession) -> str:
    """Return the address of the current file of metadata, after the changes of other sessions."""
    from pyspark.errors import PySparkException

    with quiet(), suppress(PySparkException, java_error()):
        spark.catalog.refreshTable(name)
    return session_metadata(name, spark)


def snapshot_in_session(name: str, spark: SparkSession, version: int | None = None) -> IcebergSnapshot:
    """Open the current snapshot of a table, or another one of its current metadata."""
    from prune_assets.tables.iceberg.snapshot import open_iceberg

    return open_iceberg(current_metadata(name, spark), version=version, timestamp=None, allow=())
