"""Read through Spark what a plan kept: the surviving files, the user's filter, and derived filters beside it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from parquet_core.errors import StaleTable, UnfinishedWrite, WrongUse
from parquet_core.storage import is_remote, list_data_files, local_path
from prune_assets.engines.spark import SPARK, SparkRead
from prune_assets.engines.spark.opening import Opening
from prune_assets.planner.columns import check_names
from prune_assets.planner.plan_read import plan_read
from prune_assets.planner.value_tests import tests_hold
from prune_assets.reading.delta_version import open_version
from prune_assets.reading.file_names import one_of_names
from prune_assets.reading.filter_text import filter_text
from prune_assets.session.columns import column_of
from prune_assets.session.lower_predicate import lower_predicate, means_the_same
from prune_assets.session.queries.table_schema import (
    escaped,
    known_schema,
    open_for_columns,
    open_for_schema,
    patterns_of,
)
from prune_assets.session.semantics_of_session import is_true, semantics_of
from prune_assets.session.stores import absolute, explaining, reader_of
from prune_assets.tables.catalogs.resolve import catalog_entry
from prune_assets.tables.delta import DeltaTable, has_log
from prune_assets.tables.opening import retry_on_stale_listing

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from parquet_core.format.schema import LeafColumn
    from parquet_core.storage import DataFile
    from prune_assets.explain.plan import Plan
    from prune_assets.planner.planned_read import PlannedRead

    Table: TypeAlias = str | os.PathLike[str] | Sequence[str]


def read(
    spark: SparkSession,
    table: Table,
    *,
    where: str | Column,
    columns: Sequence[str] | None = None,
    plan: Plan | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
) -> DataFrame:
    """Return the rows of a table that a predicate selects, read from the files that may hold some.

    Rows and schema are those of `spark.read.parquet(table).where(where)`; of a Delta table those of the version that is
    asked for, which takes no package beside Spark. With `spark` a SparkSession:

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> pr.read(spark, table, where="id < 150").count()
    150

    `table`, `where`, `version`, `timestamp`, `allow`: as `plan` has them; of a table by its name in a catalog the rows
    are those of `spark.table(table).where(where)`.
    `columns`: those to return, by default all.
    `plan`: one made before, with `session=spark`, for the same table and predicate; the files it rests on are compared
    with what is there now.

    Raises what `plan` raises, StaleTable when a file changed, came or went since it was planned, and WrongUse for a
    plan of something else.
    """
    check_names(columns)
    if not hasattr(spark, "read"):
        raise WrongUse(
            f"spark: {type(spark).__name__} is not a SparkSession; it comes first: pr.read(spark, table, ..)"
        )
    if plan is not None and (version is not None or timestamp is not None):
        raise WrongUse(
            "version, timestamp: the given plan has a version already; leave out version and timestamp, or leave "
            "out plan"
        )
    entry = catalog_entry(table, spark)
    named, table = table, table if entry is None else entry.location
    delta = has_log(table) if plan is None else not plan.table.is_plain
    if not delta and is_true(spark, "spark.sql.parquet.mergeSchema"):
        raise WrongUse("spark.sql.parquet.mergeSchema=true: plans do not support merged schemas; set it to false")
    if plan is None:
        spark_read, opened, is_planned = _plan_and_open(
            spark, named, table, where, columns, version=version, timestamp=timestamp, allow=allow
        )
    else:
        _check_plan(spark, plan, table, where)
        spark_read, opened = plan.spark, _open(spark, table, plan.spark)
        is_planned = _lists_as_planned(opened, table, spark_read)
    # What asked the clock was given one answer, for the plan and for Spark.
    frozen = spark_read.plan.lowered.frozen
    kept = opened.where(where if frozen is None else frozen)
    kept = with_derived_filters(kept, spark_read) if is_planned else kept
    return kept if columns is None else kept.select(*(column_of(name, nested=False) for name in columns))


def _plan_and_open(
    spark: SparkSession,
    named: Table,
    table: Table,
    where: str | Column,
    columns: Sequence[str] | None,
    *,
    version: int | None,
    timestamp: dt.datetime | int | str | None,
    allow: Sequence[str],
) -> tuple[SparkRead, DataFrame, bool]:
    """Plan again where files come or go before Spark lists them: of a write it might see a part.

    `named`: what the user called the table that lies at `table`.
    Returns the plan, the DataFrame, and whether Spark reads no file that was not planned.
    """

    def attempt() -> tuple[SparkRead, DataFrame, bool]:
        planned = plan_read(
            named, where=where, columns=columns, session=spark, version=version, timestamp=timestamp, allow=allow
        )
        spark_read = SPARK(planned)
        opened = _open(spark, table, spark_read)
        return spark_read, opened, _lists_as_planned(opened, table, spark_read)

    return retry_on_stale_listing(attempt, is_steady=lambda made: made[2] or not hasattr(made[1], "_jdf"))


def with_derived_filters(frame: DataFrame, spark_read: SparkRead) -> DataFrame:
    """AND the derived filters to a DataFrame, if Spark takes them; they must hold for every file that it may read."""
    from pyspark.errors import AnalysisException

    if not spark_read.derived_filters:
        return frame
    try:
        narrowed = frame.where(" AND ".join(f"({filter_text(part)})" for part in spark_read.derived_filters))
        if not hasattr(narrowed, "_jdf"):
            narrowed.schema  # noqa: B018 - Spark Connect analyses it now or when it is run
    except AnalysisException:
        return frame
    return narrowed


def _lists_as_planned(frame: DataFrame, table: Table, spark_read: SparkRead) -> bool:
    """Tell whether Spark has the files that were planned: a later one may hold rows beyond the bounds.

    A classic DataFrame keeps its list of files; one of Spark Connect is listed whenever it runs.
    """
    plan = spark_read.plan
    if not plan.table.is_plain:
        return True
    opening = spark_read.scan.opening
    if opening in {Opening.NOTHING, Opening.PATHS}:
        return True
    if not hasattr(frame, "_jdf"):
        return opening is Opening.NAMES
    return set(list_data_files(table)) == set(plan.index.files)


def _check_plan(spark: SparkSession, plan: PlannedRead, table: Table, where: str | Column) -> None:
    semantics = semantics_of(spark)
    if isinstance(where, str):
        sql, same = (
            where,
            plan.lowered.sql == where
            and means_the_same(plan.lowered, plan.table.columns, planned=plan.semantics, session=semantics),
        )
    else:
        lowered = lower_predicate(where, plan.table, session=spark, now=plan.lowered.now)
        sql, same = lowered.sql, plan.semantics.reads_alike(semantics) and plan.lowered.predicate == lowered.predicate
    if plan.lowered.sql != sql:
        raise WrongUse(f"the plan is for {plan.lowered.sql!r}, not for {sql!r}; plan again")
    if not same or not tests_hold(plan.tests, spark, plan.table.columns):
        raise WrongUse(
            f"the plan was made for {plan.semantics}, and this session has other settings; pass session= to plan"
        )
    if not plan.table.is_plain:
        return
    now, planned = set(list_data_files(table)), set(plan.index.files)
    if now != planned:
        changed = min(file.path for file in now ^ planned)
        raise StaleTable(f"{changed}: changed since it was planned; plan again")


def _open(spark: SparkSession, table: Table, spark_read: SparkRead) -> DataFrame:
    """Open the surviving files with the schema that the whole table has.

    Paths are made absolute here: Java keeps the directory it was started in, Python may have gone elsewhere.
    """
    planned = spark_read.plan.table
    if isinstance(planned, DeltaTable):
        return open_version(spark, planned, spark_read)
    with explaining(spark, _first(table)):
        return _open_plain(spark, table, spark_read)


def _first(table: Table) -> str:
    return os.fspath(table if isinstance(table, str | os.PathLike) else next(iter(table), ""))


def _open_plain(spark: SparkSession, table: Table, spark_read: SparkRead) -> DataFrame:
    plan, opening = spark_read.plan, spark_read.scan.opening
    if any(map(_is_staged_in_partition, plan.surviving_files)):
        _refuse_unfinished(table, plan)
    base = _base_path(table)
    # Of this read alone: settings of the session would change every other.
    options = {warning.option: "false" for warning in spark_read.warnings}
    schema = None if plan.index.partitions and base is None else known_schema(plan.index)
    if schema is None:
        if opening is Opening.TABLE or (plan.index.partitions and base is None):
            # Of several directories each has partition columns of its own: only Spark sorts them out.
            _refuse_unfinished(table, plan)
            return reader_of(spark, table).options(**options).parquet(*patterns_of(table))
        whole = open_for_schema(spark, table, plan.index, options=options)
        if plan.index.partitions and not _agree(whole, plan.index.partitions):
            _refuse_unfinished(table, plan)
            return whole
        schema = whole.schema
    if opening is Opening.NOTHING:
        # Of the table all the same: the predicate may ask for `_metadata`.
        return open_for_columns(spark, table, plan.index).limit(0)
    reader = reader_of(spark, table).options(**options).schema(schema)
    if opening is Opening.PATHS:
        reader = reader if base is None else reader.option("basePath", base)
        found = reader.parquet(*(escaped(absolute(file.path)) for file in plan.surviving_files))
    else:
        names = [os.path.basename(file.path) for file in plan.surviving_files] if opening is Opening.NAMES else []
        reader = reader.option("pathGlobFilter", one_of_names(names)) if names else reader
        found = reader.parquet(*patterns_of(table))
    # Under a given schema Spark puts a column that stands in files and in directory names behind the others.
    names = schema.names
    return found if found.schema.names == names else found.select(*(column_of(name, nested=False) for name in names))


def _is_staged_in_partition(file: DataFile) -> bool:
    """Tell whether Spark would take a file for one of another table, whose partitions lie in a staging folder."""
    _, staging, below = file.path.rpartition("/_staging-")
    return bool(staging) and below.count("/") > 1


def _refuse_unfinished(table: Table, plan: PlannedRead) -> None:
    """Refuse to have Spark list directories that it would not see as they count."""
    if plan.named == "unfinished":
        raise UnfinishedWrite(
            f"{table}: a write is running or was interrupted, and only Spark knows the partition columns of "
            "this table, but it does not see the write; finish the write with `prune doctor TABLE`, then read again"
        )


def _agree(whole: DataFrame, partitions: Sequence[LeafColumn]) -> bool:
    """Tell whether Spark takes the same types from directory names as the plan."""
    types = {name.casefold(): kind for name, kind in whole.dtypes}
    return all(
        column.unsupported or types.get(column.path[0].casefold()) == spark_type(column.type) for column in partitions
    )


def spark_type(kind: pa.DataType) -> str:
    """Return what Spark calls the type of a partition column."""
    names = {"int32": "int", "int64": "bigint", "date32[day]": "date", "null": "void"}
    names |= {"timestamp[us, tz=UTC]": "timestamp", "timestamp[us]": "timestamp_ntz"}
    return names.get(str(kind), str(kind).replace("decimal128", "decimal").replace(", ", ","))


def _base_path(table: Table) -> str | None:
    """Return the directory whose `column=value` parts make partition columns; None when files were named."""
    if not isinstance(table, str | os.PathLike):
        return None
    name = os.fspath(table)
    if is_remote(name):
        return None
    path = os.path.abspath(local_path(name))
    return path if os.path.isdir(path) else None
