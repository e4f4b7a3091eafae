"""The catalogs of a Spark session, a Hive metastore among them: `table`, `schema.table`, `catalog.schema.table`."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_core.errors import UnsupportedFeature
from prune_assets.tables.catalogs.entry import CatalogEntry, entry_of, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from prune_assets.tables.table import Table

# Rows that Spark makes of other bytes than those in the files: padded, and defaults of columns that files lack.
_NOT_IN_FILES = ('"char(', "EXISTS_DEFAULT")
_HARMLESS_OPTIONS = ("serialization.format", "compression", "parquet.", "path")


def session_table(name: str, spark: SparkSession) -> CatalogEntry | None:
    """Ask a session's catalogs for a table; None when they have none of the name."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        with _unlogged():
            rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except (ParseException, AnalysisException):
        return None
    said = _details([(row.col_name, row.data_type) for row in rows])
    kind = said.get("Type", "VIEW")
    entry = entry_of(
        name,
        provider=said.get("Provider", "unknown") if kind in {"MANAGED", "EXTERNAL"} else kind,
        location=said.get("Location"),
        properties=_keys(said.get("Table Properties", "")),
    )
    if said["Provider"].lower() == "delta":
        return entry
    odd = [key for key in _keys(said.get("Storage Properties", "")) if not key.startswith(_HARMLESS_OPTIONS)]
    if odd:
        raise UnsupportedFeature(
            f"{name}: the catalog reads it with the option {odd[0]}, which plans do not support; name the table "
            "by its path"
        )
    partitioned = any(row.col_name == "# Partition Information" for row in rows)
    return replace(entry, files=frozenset(map(plain, spark.table(name).inputFiles()))) if partitioned else entry


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep Spark from logging Java's whole stack for a name that is in no catalog: it may be a path."""
    from pyspark.logger import PySparkLogger

    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def check_columns(entry: CatalogEntry, table: Table, spark: SparkSession) -> None:
    """Refuse a table whose files have other columns than the catalog says."""
    if not table.is_plain:
        return
    schema = spark.table(entry.name).schema
    odd = next((word for word in _NOT_IN_FILES if word in schema.json()), None)
    if odd is not None:
        what = "a CHAR column" if odd == _NOT_IN_FILES[0] else "a column with a default for old files"
        raise UnsupportedFeature(f"{entry.name}: {what}, which only its catalog can read; use spark.table")
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
