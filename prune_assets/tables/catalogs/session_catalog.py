"""The catalogs of a Spark session, a Hive metastore among them: `table`, `schema.table`, `catalog.schema.table`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_core.errors import UnsupportedFeature
from prune_assets.spark.spark_versions import quiet
from prune_assets.tables.catalogs.entry import CatalogEntry, entry_of, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from prune_assets.tables.table import Table

# Rows that Spark makes of other bytes than those in the files: padded, and defaults of columns that files lack.
_NOT_IN_FILES = ('"char(', "EXISTS_DEFAULT")
VIEW = "VIEW"
_PARTITIONED = "# Partition Information"
_HARMLESS_OPTIONS = ("serialization.format", "compression", "parquet.", "path")


def described(name: str, spark: SparkSession) -> dict[str, str] | None:
    """Return what a session's catalogs say of a table or view; None when they have none of the name."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        with quiet():
            # Asked first, since Spark logs a query that fails, with a hundred lines of Java.
            if not spark.catalog.tableExists(name):
                return None
            rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except (ParseException, AnalysisException):
        return None
    partitioned = any(row.col_name == _PARTITIONED for row in rows)
    details = _details([(row.col_name, row.data_type) for row in rows])
    return {"Type": VIEW} | details | ({_PARTITIONED: "true"} if partitioned else {})


def session_table(name: str, said: Mapping[str, str], spark: SparkSession) -> CatalogEntry:
    """Return the table that a session's catalogs describe so; refuse what is not read by its files alone."""
    from prune_assets.tables.opening import FORMATS, format_named

    provider = said.get("Provider", "unknown") if said["Type"] in {"MANAGED", "EXTERNAL"} else said["Type"]
    own = next((each.entry_in_session for each in FORMATS if each.name == provider.lower()), None)
    if own is not None:
        return own(name, spark)
    entry = entry_of(
        name,
        provider=provider,
        location=said.get("Location"),
        properties=_keys(said.get("Table Properties", "")),
        read_only="its rows are kept in buckets (CLUSTERED BY)" if "Num Buckets" in said else None,
    )
    if not format_named(entry.format).spark_lists_files:
        return entry
    odd = [key for key in _keys(said.get("Storage Properties", "")) if not key.startswith(_HARMLESS_OPTIONS)]
    if odd:
        raise UnsupportedFeature(
            f"{name}: the catalog reads it with the option {odd[0]}, which plans do not support; name the table "
            "by its path"
        )
    if _PARTITIONED not in said:
        return entry
    return replace(
        entry,
        files=frozenset(map(plain, spark.table(name).inputFiles())),
        registers_partitions=said.get("Partition Provider") == "Catalog",
    )


def full_name(said: Mapping[str, str]) -> str:
    """Return the name of a described table with its catalog and database, as far as the catalog tells."""
    return said.get("Name") or ".".join(said[key] for key in ("Catalog", "Database", "Table") if key in said)


def has_database(name: str, spark: SparkSession) -> bool:
    """Tell whether a session's catalogs have the database of a name; of a name without one they have not."""
    from pyspark.errors import AnalysisException, ParseException

    database = name.rpartition(".")[0]
    try:
        with quiet():
            return bool(database) and spark.catalog.databaseExists(database)
    except (ParseException, AnalysisException):
        return False


def databases(spark: SparkSession) -> list[str]:
    """Return the names of the databases in a session's current catalog; none where it does not tell them."""
    from pyspark.errors import PySparkException

    try:
        return [database.name for database in spark.catalog.listDatabases()]
    except PySparkException:
        return []


def check_columns(entry: CatalogEntry, table: Table, spark: SparkSession) -> None:
    """Refuse a table whose files have other columns than the catalog says."""
    schema = columns_of(entry, spark)
    here = [(field.name, field.dataType.simpleString()) for field in table.empty_frame(spark).schema.fields]
    there = [(field.name, field.dataType.simpleString()) for field in schema.fields]
    if here != there:
        one, other = (
            "(" + ", ".join(f"{n} {t}" for n, t in sorted({*a} - {*b})) + ")" for a, b in ((here, there), (there, here))
        )
        raise UnsupportedFeature(
            f"{entry.name}: the columns of the files {one} differ from those of the catalog {other}, or have another "
            "order; for partition columns that are all strings set "
            "spark.sql.sources.partitionColumnTypeInference.enabled=false"
        )


def columns_of(entry: CatalogEntry, spark: SparkSession) -> StructType:
    """Return the columns of a table as its catalog has them; refuse those whose values are not in the files."""
    schema = spark.table(entry.name).schema
    odd = next((word for word in _NOT_IN_FILES if word in schema.json()), None)
    if odd is not None:
        what = "a CHAR column" if odd == _NOT_IN_FILES[0] else "a column with a default for old files"
        raise UnsupportedFeature(f"{entry.name}: {what}, which only its catalog can read; use spark.table")
    return schema


def _details(rows: list[tuple[str, str]]) -> dict[str, str]:
    """Return what stands below the columns."""
    headings = [i for i, (name, _) in enumerate(rows) if name == "# Detailed Table Information"]
    return dict(rows[headings[-1] + 1 :]) if headings else {}


def _keys(listed: str) -> list[str]:
    """Return the names in `[a=1, b=2]`.

    >>> _keys("[serialization.format=1, mode=x]")
    ['serialization.format', 'mode']
    """
    return [part.partition("=")[0].strip() for part in listed.strip("[]").split(",") if "=" in part]


def tell_catalog(entry: CatalogEntry, session: SparkSession) -> None:
    """Let a session's catalog know the partitions that files of a plain table came to, and read the files anew."""
    if entry.registers_partitions:
        session.sql(f"MSCK REPAIR TABLE {entry.name}")
    session.catalog.refreshTable(entry.name)
