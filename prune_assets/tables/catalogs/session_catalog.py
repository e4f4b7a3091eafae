"""Tables in the catalogs of a Spark session, such as a Hive metastore.

Names have one to three parts: `table`, `schema.table`, `catalog.schema.table`.
"""

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

# Column types whose values differ from the bytes in files: padded CHAR, and defaults of columns that files lack.
_NOT_IN_FILES = ('"char(', "EXISTS_DEFAULT")
VIEW = "VIEW"
_PARTITIONED = "# Partition Information"
_HARMLESS_OPTIONS = ("serialization.format", "compression", "parquet.", "path")


def described(name: str, spark: SparkSession) -> dict[str, str] | None:
    """Return the DESCRIBE output of a table or view in a session's catalogs; None if they do not have the name."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        with quiet():
            # The name is checked first, because Spark logs a failing query with a hundred lines of Java.
            if not spark.catalog.tableExists(name):
                return None
            rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except (ParseException, AnalysisException):
        return None
    partitioned = any(row.col_name == _PARTITIONED for row in rows)
    details = _details([(row.col_name, row.data_type) for row in rows])
    return {"Type": VIEW} | details | ({_PARTITIONED: "true"} if partitioned else {})


def session_table(name: str, description: Mapping[str, str], spark: SparkSession) -> CatalogEntry:
    """Return the catalog entry of a table from its DESCRIBE output.

    Raises UnsupportedFeature if the table's rows are not simply the rows of its files, for example for a view.
    """
    from prune_assets.tables.opening import FORMATS, format_named

    provider = (
        description.get("Provider", "unknown")
        if description["Type"] in {"MANAGED", "EXTERNAL"}
        else description["Type"]
    )
    own = next((each.entry_in_session for each in FORMATS if each.name == provider.lower()), None)
    if own is not None:
        return own(name, spark)
    entry = entry_of(
        name,
        provider=provider,
        location=description.get("Location"),
        properties=_keys(description.get("Table Properties", "")),
        read_only="its rows are kept in buckets (CLUSTERED BY)" if "Num Buckets" in description else None,
    )
    if not format_named(entry.format).spark_lists_files:
        return entry
    odd = [key for key in _keys(description.get("Storage Properties", "")) if not key.startswith(_HARMLESS_OPTIONS)]
    if odd:
        raise UnsupportedFeature(
            f"{name}: the catalog reads it with the option {odd[0]}, which plans do not support; name the table "
            "by its path"
        )
    if _PARTITIONED not in description:
        return entry
    return replace(
        entry,
        files=frozenset(map(plain, spark.table(name).inputFiles())),
        registers_partitions=description.get("Partition Provider") == "Catalog",
    )


def full_name(description: Mapping[str, str]) -> str:
    """Return the full name of a described table, with the catalog and the database if the catalog reports them."""
    return description.get("Name") or ".".join(
        description[key] for key in ("Catalog", "Database", "Table") if key in description
    )


def has_database(name: str, spark: SparkSession) -> bool:
    """Return True if a session's catalogs have the database of a name; False for a name without a database."""
    from pyspark.errors import AnalysisException, ParseException

    database = name.rpartition(".")[0]
    try:
        with quiet():
            return bool(database) and spark.catalog.databaseExists(database)
    except (ParseException, AnalysisException):
        return False


def databases(spark: SparkSession) -> list[str]:
    """Return the database names in a session's current catalog; empty if the catalog does not list them."""
    from pyspark.errors import PySparkException

    try:
        return [database.name for database in spark.catalog.listDatabases()]
    except PySparkException:
        return []


def check_columns(entry: CatalogEntry, table: Table, spark: SparkSession) -> None:
    """Refuse a table whose columns differ between its files and its catalog."""
    schema = columns_of(entry, spark)
    in_files = [(field.name, field.dataType.simpleString()) for field in table.empty_frame(spark).schema.fields]
    in_catalog = [(field.name, field.dataType.simpleString()) for field in schema.fields]
    if in_files != in_catalog:
        only_in_files, only_in_catalog = (
            "(" + ", ".join(f"{n} {t}" for n, t in sorted({*a} - {*b})) + ")"
            for a, b in ((in_files, in_catalog), (in_catalog, in_files))
        )
        raise UnsupportedFeature(
            f"{entry.name}: the columns of the files {only_in_files} differ from the columns of the catalog "
            f"{only_in_catalog}, or have another order; for partition columns that are all strings set "
            "spark.sql.sources.partitionColumnTypeInference.enabled=false"
        )


def columns_of(entry: CatalogEntry, spark: SparkSession) -> StructType:
    """Return the columns of a table in its catalog.

    Raises UnsupportedFeature for a column whose values are not stored in the files.
    """
    schema = spark.table(entry.name).schema
    odd = next((word for word in _NOT_IN_FILES if word in schema.json()), None)
    if odd is not None:
        what = "a CHAR column" if odd == _NOT_IN_FILES[0] else "a column with a default for old files"
        raise UnsupportedFeature(f"{entry.name}: {what}, which only its catalog can read; use spark.table")
    return schema


def _details(rows: list[tuple[str, str]]) -> dict[str, str]:
    """Return the rows of DESCRIBE that follow the columns: the detailed table information."""
    headings = [i for i, (name, _) in enumerate(rows) if name == "# Detailed Table Information"]
    return dict(rows[headings[-1] + 1 :]) if headings else {}


def _keys(listed: str) -> list[str]:
    """Return the keys in text such as `[a=1, b=2]`.

    >>> _keys("[serialization.format=1, mode=x]")
    ['serialization.format', 'mode']
    """
    return [part.partition("=")[0].strip() for part in listed.strip("[]").split(",") if "=" in part]


def refresh_catalog(entry: CatalogEntry, session: SparkSession) -> None:
    """Register new partitions of a plain table, and refresh the session's file list."""
    if entry.registers_partitions:
        session.sql(f"MSCK REPAIR TABLE {entry.name}")
    session.catalog.refreshTable(entry.name)
