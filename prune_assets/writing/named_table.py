"""Tables that a catalog has, written by their name: what the catalog says of them goes before and after the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import LayoutError, TableNotFound, UnsupportedFeature, WrongUse
from parquet_core.storage import files_below, local_path
from prune_assets.session.columns import column_of
from prune_assets.tables.catalogs.resolve import catalog_entry
from prune_assets.tables.catalogs.session_catalog import columns_of
from prune_assets.tables.delta import has_log

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.tables.catalogs.entry import CatalogEntry


def entry_to_write(table: str | os.PathLike[str], session: SparkSession | None) -> CatalogEntry | None:
    """Return the table that a name means, None for a path; refuse what its catalog would not see or read otherwise."""
    entry = catalog_entry(table, session, to_write=True)
    if entry is None:
        return None
    if entry.format == "delta" and not has_log(entry.location):
        raise TableNotFound(
            f"{entry.name}: the catalog has it as Delta, and there is no log at {entry.location}; create it first with "
            "delta-spark, or drop it and write the path"
        )
    if entry.format == "parquet":
        if has_log(entry.location):
            raise UnsupportedFeature(
                f"{entry.name}: the catalog has it as Parquet, and there is a Delta log at {entry.location}; register "
                "it as delta, or write the path"
            )
        if entry.files is not None:
            entry.check_files(files_below(local_path(entry.location)))
    return entry


def as_columns_of(df: DataFrame, entry: CatalogEntry, layout: LayoutSpec) -> DataFrame:
    """Return the columns of a plain table in its catalog's order; refuse others, and another partitioning."""
    session = df.sparkSession
    schema = columns_of(entry, session)
    mine = {field.name.casefold(): field for field in df.schema.fields}
    for field in schema.fields:
        kind = field.dataType.simpleString()
        given = mine.pop(field.name.casefold(), None)
        if given is None or given.dataType.simpleString() != kind:
            found = "the data lack it" if given is None else f"in the data it is {given.dataType.simpleString()}"
            raise WrongUse(f"{entry.name}: the table has column {field.name} {kind}, {found}; write the same columns")
    if mine:
        name = next(iter(mine.values())).name
        raise WrongUse(f"{entry.name}: the table has no column {name}; leave it out, or add it first")
    theirs = [column.name for column in session.catalog.listColumns(entry.name) if column.isPartition]
    if [name.casefold() for name in layout.partition_by] != [name.casefold() for name in theirs]:
        raise LayoutError(
            f"partition_by = {', '.join(layout.partition_by) or 'nothing'}: {entry.name} is partitioned by "
            f"{', '.join(theirs) or 'nothing'}, as its catalog says; give the layout the same columns"
        )
    return df.select(*(column_of(field.name, nested=False).alias(field.name) for field in schema.fields))


def tell_catalog(entry: CatalogEntry, session: SparkSession) -> None:
    """Let a session's catalog know the partitions that files of a plain table came to, and read the files anew."""
    if entry.format != "parquet":
        return
    if entry.registers_partitions:
        session.sql(f"MSCK REPAIR TABLE {entry.name}")
    session.catalog.refreshTable(entry.name)
