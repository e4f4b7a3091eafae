"""Write a DataFrame to an Iceberg table.

The layout is stored in the table; Iceberg writes and commits the files. Rows are passed to Iceberg in the order of the
layout, as for other formats, so Iceberg's own distribution is disabled for the write. The table stores the layout as
properties and sort order for later writers.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from parquet_core.errors import CommitConflict, UnsupportedFeature, WrongUse
from parquet_core.fix import Fix, Step
from prune_assets.spark.columns import column_of, quoted
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.spark.spark_session import own_jobs
from prune_assets.spark.spark_versions import java_error, observation
from prune_assets.tables.iceberg.opening import BY_NAME, is_iceberg
from prune_assets.tables.iceberg.session_catalog import exists_in_session, name_in_session, snapshot_in_session
from prune_assets.tables.iceberg.table import IcebergTable
from prune_assets.tables.iceberg.writes.partition_by import transforms_kept, with_partition_values
from prune_assets.tables.iceberg.writes.proof import WRITE_ID, change_of, paths_of, prove
from prune_assets.tables.iceberg.writes.rewriting import (
    calls_of_procedures,
    check_iceberg_rewrite,
    rewrite_iceberg,
)
from prune_assets.tables.iceberg.writes.table_properties import (
    check_layout,
    creation,
    properties_of,
    removed_properties,
    sort_order_of,
    statements,
)
from prune_assets.tables.writes.arrange import arrange, merged_options
from prune_assets.tables.writes.write_options import bind_layout
from prune_assets.tables.writes.write_result import WriteResult
from prune_assets.tables.writing import WriteRequest, Writing, conformed, refuse_without_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    from prune_assets.tables.catalogs.entry import CatalogEntry
    from prune_assets.tables.iceberg.session_catalog import NameInSession
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot
    from prune_assets.tables.iceberg.writes.partition_by import PartitionTransform
    from prune_assets.tables.writes.write_options import WriteLayout

# Rows are arranged and divided into files already; a size limit would split a file that is a little larger.
_OPTIONS = {
    "use-table-distribution-and-ordering": "false",
    "target-file-size-bytes": str(1 << 50),
    "fanout-enabled": "false",
}
_OUTSIDE = "prune-assets: a row outside of where"


@dataclass(frozen=True, slots=True)
class _Arranged:
    """Rows in the order of a layout.

    `bound`: the layout, in the spelling of the frame's columns.
    `properties`, `removed`: table properties to set and to remove.
    """

    frame: DataFrame
    bound: WriteLayout
    properties: dict[str, str]
    removed: list[str]


def write_iceberg(df: DataFrame, table: str, request: WriteRequest) -> WriteResult:
    """Write and commit, as `write` describes, then check the written files."""
    spark, layout = df.sparkSession, request.layout
    name = table if request.entry is None else request.entry.name
    check_layout(layout)
    merged_options(_OPTIONS, request.options)
    named = name_in_session(name, spark)
    before = None if request.entry is None else snapshot_in_session(name, spark)
    if before is not None and request.mode == "error":
        raise WrongUse(
            f"{name}: this table of Iceberg exists already; pass the mode append, overwrite or replace_partitions"
        )
    transforms = transforms_kept(request.layout, before, name, by="a write")
    refuse_without_partitions(name, [each.column for each in transforms], request)
    frame = df if before is None else conformed(df, name, spark.table(name).schema.fields)
    frame = _require_condition(frame, request.where)
    if request.only_by_rows and _is_empty(frame):
        return WriteResult(name, (), 0, 0, 0, (), None if before is None else _version(before))
    with _naming_conflicts(name):
        arranged = _arrange_rows(frame, request, transforms, named, before)
        made = _give_layout(named, frame, transforms, arranged, before)
        try:
            rows, write_id = _commit(arranged.frame, named, request, made)
        except BaseException:
            if before is None:
                _drop_if_empty(name, spark, named)
            raise
    change = change_of(name, spark, write_id)
    index = prove(named, change, layout, rows=rows)
    return WriteResult(
        table=name,
        files=paths_of(change.added),
        rows=rows,
        bytes=0 if index is None else sum(file.size for file in index.groups.files),
        row_groups=0 if index is None else len(index),
        removed=paths_of(change.removed),
        version=change.version,
    )


def _is_empty(frame: DataFrame) -> bool:
    with own_jobs(frame.sparkSession, "look for a row"):
        return frame.isEmpty()


def _version(snapshot: IcebergSnapshot) -> int | None:
    return None if snapshot.snapshot is None else snapshot.snapshot.snapshot_id


def _condition(where: str | Column) -> Column:
    from pyspark.sql import functions as fn

    return fn.expr(where) if isinstance(where, str) else where


def _require_condition(frame: DataFrame, where: str | Column | None) -> DataFrame:
    """Return a frame whose rows raise an error if `where` does not select them."""
    from pyspark.sql import functions as fn

    if where is None:
        return frame
    first = frame.columns[0]
    outside = fn.raise_error(fn.lit(_OUTSIDE)).cast(frame.schema[first].dataType)
    column = column_of(first, nested=False)
    return frame.withColumn(first, fn.when(_condition(where), column).otherwise(outside))


def _arrange_rows(
    frame: DataFrame,
    request: WriteRequest,
    transforms: Sequence[PartitionTransform],
    named: NameInSession,
    before: IcebergSnapshot | None,
) -> _Arranged:
    parted, names = with_partition_values(frame, transforms, named.catalog)
    layout = replace(request.layout, partition_by=names)
    bound = bind_layout(parted.schema, layout, case_sensitive=semantics_of(frame.sparkSession).case_sensitive)
    arranged, options = arrange(parted, layout, bound)
    # If all rows are replaced, the existing bloom filter properties are not kept either.
    stay = before is not None and (request.mode != "overwrite" or request.where is not None)
    present = before.metadata.properties if before is not None and stay else {}
    spelled = replace(request.layout, bloom=bound.bloom)
    return _Arranged(
        arranged.drop(*names),
        bound,
        properties_of(spelled, options, partitioned=bool(transforms), present=present),
        removed_properties(spelled, {} if before is None else before.metadata.properties),
    )


def _give_layout(
    named: NameInSession,
    frame: DataFrame,
    transforms: Sequence[PartitionTransform],
    arranged: _Arranged,
    before: IcebergSnapshot | None,
) -> IcebergSnapshot:
    """Create the table, or update its properties and sort order; return its new state."""
    spark = frame.sparkSession
    if before is None:
        spark.sql(creation(named.table, column_definitions(frame.schema), transforms, arranged.properties))
        before = snapshot_in_session(named.table, spark)
    sql_statements = statements(
        named.table, before, arranged.properties, keys=arranged.bound.sort_by, removed=arranged.removed
    )
    for statement in sql_statements:
        spark.sql(statement)
    return snapshot_in_session(named.table, spark) if sql_statements else before


def _commit(frame: DataFrame, named: NameInSession, request: WriteRequest, table: IcebergSnapshot) -> tuple[int, str]:
    """Write and commit the rows; return their number and the write id of the snapshot."""
    from pyspark.sql import functions as fn

    write_id, version = uuid4().hex, _version(table)
    options = {f"snapshot-property.{WRITE_ID}": write_id, **_OPTIONS}
    if sort_order_of(table):
        options["output-sort-order-id"] = str(table.metadata.default_sort_order_id)
    if request.mode != "append" and version is not None:
        # Iceberg then refuses the write if a concurrent commit conflicts with it.
        options |= {"isolation-level": "serializable", "validate-from-snapshot-id": str(version)}
    passed = observation(frame)
    writer = frame.observe(passed, fn.count(fn.lit(1)).alias("rows")).writeTo(named.table)
    for option, value in merged_options(options, request.options).items():
        writer = writer.option(option, value)
    if request.mode == "overwrite":
        writer.overwrite(fn.lit(True) if request.where is None else _condition(request.where))  # noqa: FBT003 - an SQL literal
    elif request.mode == "replace_partitions":
        writer.overwritePartitions()
    else:
        writer.append()
    return int(passed.get["rows"]), write_id


def _drop_if_empty(name: str, spark: SparkSession, named: NameInSession) -> None:
    """Drop a new table if its first write failed."""
    if exists_in_session(name, spark) and _version(snapshot_in_session(name, spark)) is None:
        spark.sql(f"DROP TABLE {named.table}")


@contextmanager
def _naming_conflicts(name: str) -> Iterator[None]:
    """Convert Iceberg's errors about refused commits to one-line errors; other errors are not changed."""
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, java_error()) as error:
        error_text = str(error)
        if _OUTSIDE in error_text:
            message = f"{name}: where does not select all rows of the data"
            raise WrongUse(message, Fix(step=Step.STAY_IN_PARTITIONS)) from None
        if (
            "some, but not all, rows match filter" in error_text
            or "Cannot convert" in error_text
            or "Cannot translate" in error_text
        ):
            raise WrongUse(
                f"{name}: where selects parts of files, or Iceberg cannot replace rows by this condition; use "
                f"partition columns of the table"
            ) from None
        if (
            "ommitFailedException" in error_text
            or "Found conflicting files" in error_text
            or "Found new conflicting" in error_text
        ):
            raise CommitConflict(
                f"{name}: another commit came first and conflicts with this write; nothing was written; write again"
            ) from error
        if "WRITE" in error_text and "ParseException" in type(error).__name__:
            raise UnsupportedFeature(
                f"{name}: the session lacks Iceberg's extension; set spark.sql.extensions="
                "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
            ) from None
        raise


def _refuse_existing(table: str) -> None:
    if is_iceberg(table):
        raise UnsupportedFeature(f"{table}: {BY_NAME}")


def _check_entry(entry: CatalogEntry) -> None:
    """Refuse an Iceberg table that its catalog lists in another format."""
    if entry.format != "iceberg" and is_iceberg(entry.location):
        raise UnsupportedFeature(
            f"{entry.name}: the catalog lists it as {entry.format}, but {entry.location} has an Iceberg table; "
            "drop one of the two"
        )


def _target_name(table: str) -> str:
    if "/" in table:
        raise UnsupportedFeature(f"{table}: {BY_NAME}")
    return table


WRITING = Writing(
    location=_target_name,
    write=write_iceberg,
    refuse_existing=_refuse_existing,
    check_entry=_check_entry,
    check_rewrite=check_iceberg_rewrite,
    rewrite_scope=IcebergTable.rewrite_scope,
    rewrite=rewrite_iceberg,
    statements=calls_of_procedures,
)


def column_definitions(schema: StructType) -> str:
    """Return the column definitions of a schema, all nullable.

    >>> from pyspark.sql.types import LongType, StructType
    >>> column_definitions(StructType().add("id", LongType()).add("a b", StructType().add("c", LongType())))
    '`id` bigint, `a b` struct<`c`: bigint>'
    """
    return ", ".join(f"{quoted(field.name)} {_sql_type(field.dataType)}" for field in schema.fields)


def _sql_type(spark_type: DataType) -> str:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(spark_type, StructType):
        return (
            f"struct<{', '.join(f'{quoted(field.name)}: {_sql_type(field.dataType)}' for field in spark_type.fields)}>"
        )
    if isinstance(spark_type, ArrayType):
        return f"array<{_sql_type(spark_type.elementType)}>"
    if isinstance(spark_type, MapType):
        return f"map<{_sql_type(spark_type.keyType)}, {_sql_type(spark_type.valueType)}>"
    return spark_type.simpleString()
