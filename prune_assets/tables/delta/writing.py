"""Write a DataFrame to a Delta table.

Spark writes the files, and a commit to the log publishes them. Each write has its own directory inside the table,
`write-<32 hexadecimal digits>`, which no reader sees before a commit names its files. An interrupted write leaves the
directory; `vacuum` removes it after the retention period, like all files that are in no version.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from deltalog.table.types import DECLARED_LENGTH
from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import (
    MalformedFile,
    PruneError,
    StorageFailure,
    TableNotFound,
    UnsupportedFeature,
    WrongUse,
)
from parquet_core.printable import printable, redacted
from parquet_core.pruning.predicate import Unsupported, columns_of, leaves
from parquet_core.spark_rules.partition_inference import NULL_DIRECTORY
from parquet_core.storage import address, is_remote, list_data_files, local_path
from parquet_core.storage.partition_discovery import unescape
from parquet_core.storage.remote import remote_of
from prune_assets.spark.columns import column_of
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.spark.startup_log import cause
from prune_assets.spark.stores import check_reach
from prune_assets.sql.binding.scope import named_columns
from prune_assets.sql.syntax.parsed import ParsedPredicate
from prune_assets.tables.delta.constraints import constraints_to_check, enforcing_constraints, naming_broken
from prune_assets.tables.delta.opening import has_log, table_of
from prune_assets.tables.delta.reading import logical_schema, spark_schema, stored_field
from prune_assets.tables.delta.rewriting import check_rewrite, rewrite_version
from prune_assets.tables.delta.table import DeltaTable
from prune_assets.tables.same_partitions import check_same_partitions
from prune_assets.tables.writes.arrange import arrange, merged_options, write_parquet
from prune_assets.tables.writes.table_formats import OF_OTHERS, refuse_table_formats
from prune_assets.tables.writes.write_options import bind_layout
from prune_assets.tables.writes.write_result import WriteResult
from prune_assets.tables.writing import WriteRequest, Writing, conformed, refuse_without_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

    from deltalog import Snapshot
    from deltalog.log.actions import FullAdd
    from deltalog.stats.footer_statistics import NewFile
    from deltalog.table.constraints import Constraint
    from deltalog.table.schema import TableSchema
    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.tables.catalogs.entry import CatalogEntry
    from prune_assets.tables.writes.write_result import Mode

# Timestamps in directory names are converted to UTC timestamps in the log, so Spark must write them in UTC.
DELTA_OPTIONS = {"timeZone": "UTC", "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


@dataclass(frozen=True, slots=True)
class _Target:
    """A table to write to.

    `snapshot`: the present version; None for a new table.
    `frame`: the data, with the table's columns in the table's spelling.
    """

    location: str
    snapshot: Snapshot | None
    schema: TableSchema
    fields: tuple[StructField, ...]
    frame: DataFrame
    layout: LayoutSpec
    constraints: Sequence[Constraint] = ()

    def stored_name(self, name: str) -> str:
        """Return the physical name of a column, as used in files and directories."""
        return next(self.stored(field).name for field in self.fields if field.name == name)

    def stored(self, field: StructField) -> StructField:
        """Return a column with its physical name and type in files."""
        return stored_field(field, self.schema.mapping, ids=True)


def write_delta(df: DataFrame, table: str, request: WriteRequest) -> WriteResult:
    """Write and commit, as `write` describes; a refused commit leaves no files."""
    import deltalog
    from deltalog.errors import TableExists

    location, layout, mode, where = address(table), request.layout, request.mode, request.where
    target = _target(df, location, layout, mode)
    check_reach(df.sparkSession, location)
    if where is not None and mode == "overwrite" and target.snapshot is None:
        # Create the table first, so that the rows are checked against the condition as for an existing table.
        with suppress(TableExists):  # another writer created the table meanwhile
            deltalog.create_table(location, target.schema.text, partition_by=target.schema.partition_columns)
        target = _target(df, location, layout, mode)
    replaced = None if where is None else _lower_condition(df, target, where)
    bound = bind_layout(target.frame.schema, target.layout, case_sensitive=True)
    refuse_without_partitions(location, bound.partition_by, request)
    checked = enforcing_constraints(target.frame, target.constraints, bound.partition_by, location)
    partition_by = [target.stored_name(name) for name in bound.partition_by]
    with own_directory(location) as directory, naming_broken(target.constraints, location):
        arranged, of_layout = arrange(checked, target.layout, bound)
        stored, of_layout = as_stored(arranged, of_layout, target.schema)
        rows = write_parquet(
            stored, directory, merged_options(of_layout | DELTA_OPTIONS, request.options), partition_by=partition_by
        )
        files = list_data_files(directory) if rows else []
        index = read_dataset([file.path for file in files]) if files else None
        rows_in_files = 0 if index is None else int(index.groups.row_count.sum())
        if rows_in_files != rows:
            raise MalformedFile(
                f"{directory}: Spark reports {rows} rows written, but the files hold {rows_in_files}; nothing was "
                "committed"
            )
        if not files:
            _remove(directory)
        if files or target.snapshot is None or _removes_files(target.snapshot, request):
            version, removed = _commit(target, [_new_file(target, file.path) for file in files], mode, replaced)
        else:
            version, removed = target.snapshot.version, ()
    return WriteResult(
        table=location,
        files=tuple(file.path for file in files),
        rows=rows,
        bytes=sum(file.size for file in files),
        row_groups=0 if index is None else len(index),
        removed=removed,
        version=version,
    )


def _open_existing(location: str) -> Snapshot | None:
    """Open a table; None if it does not exist.

    Also None if another writer has created its log but not its first commit.
    """
    import deltalog
    from deltalog.errors import NotADeltaTable

    if not has_log(location):
        return None
    try:
        return deltalog.open_snapshot(location)
    except NotADeltaTable:
        return None


def _target(df: DataFrame, location: str, layout: LayoutSpec, mode: Mode) -> _Target:
    """Open the table, or describe a new one. Refuses data that do not fit, before anything is written."""
    import deltalog

    snapshot = _open_existing(location)
    if snapshot is None:
        _check_new(location)
        bound = bind_layout(df.schema, layout, case_sensitive=semantics_of(df.sparkSession).case_sensitive)
        fresh = logical_schema(df.schema)
        schema = deltalog.check_create(location, fresh.json(), partition_by=bound.partition_by)
        spelled = replace(layout, partition_by=bound.partition_by)
        return _Target(location, None, schema, tuple(fresh.fields), df, spelled)
    if mode == "error":
        raise WrongUse(
            f"{location}: this Delta table exists already; pass the mode append, overwrite or replace_partitions"
        )
    constraints = constraints_to_check(snapshot)
    deltalog.check_appendable(snapshot, obeys=constraints)
    fields = spark_schema(snapshot.schema).fields
    check_same_partitions(layout, snapshot.schema.partition_columns, location, by="a write")
    spelled = replace(layout, partition_by=snapshot.schema.partition_columns)
    if (sized := next((field for field in fields if DECLARED_LENGTH in field.metadata), None)) is not None:
        raise UnsupportedFeature(
            f"{location}: column {sized.name} is {sized.metadata[DECLARED_LENGTH]}, and this package does not check "
            "lengths; write with delta-spark"
        )
    frame = conformed(df, location, fields)
    return _Target(location, snapshot, snapshot.schema, tuple(fields), frame, spelled, constraints)


def _check_new(location: str) -> None:
    """Refuse to create a table in a directory with another table or plain files."""
    from deltalog.transaction.check_place import check_place

    if not is_remote(location):
        refuse_table_formats([Path(local_path(location))], OF_OTHERS)
    check_place(location)


def as_stored(frame: DataFrame, options: Mapping[str, str], schema: TableSchema) -> tuple[DataFrame, dict[str, str]]:
    """Return a DataFrame and its options with physical column names; columns that the table lacks keep their names."""
    fields = {field.name: field for field in spark_schema(schema).fields}
    columns = [
        _stored_column(frame, stored_field(fields[name], schema.mapping, ids=True), name)
        if name in fields
        else column_of(name, nested=False)
        for name in frame.columns
    ]
    physical = {".".join(column.leaf.path): ".".join(column.physical) for column in schema.columns}
    parts = {key: key.partition("#") for key in options}
    renamed = {f"{name}{mark}{physical.get(of, of)}": options[key] for key, (name, mark, of) in parts.items()}
    return frame.select(*columns), renamed


def _stored_column(frame: DataFrame, stored: StructField, name: str) -> Column:
    """Return a column under its physical name.

    Only nested types are cast: a cast of a partition column could change its directory names.
    """
    column = column_of(name, nested=False)
    if stored.dataType.typeName() in {"struct", "array", "map"} and frame.schema[name].dataType != stored.dataType:
        column = column.cast(stored.dataType)
    return column.alias(stored.name, metadata=stored.metadata)


def _lower_condition(df: DataFrame, target: _Target, where: str | Column) -> tuple[Predicate, str]:
    """Lower the condition on rows to replace.

    Only partition columns are allowed, because whole files are replaced.
    """
    from prune_assets.spark.lower_predicate import lower_predicate

    assert target.snapshot is not None  # the caller created a missing table
    opened = table_of(target.location, target.snapshot)
    lowered = lower_predicate(where, opened, session=df.sparkSession)
    partitions = target.schema.partition_columns
    named = [*columns_of(lowered.predicate)]
    parts = [leaf.source for leaf in leaves(lowered.predicate) if isinstance(leaf, Unsupported)]
    named += [
        column.path for part in parts if isinstance(part, ParsedPredicate) for column in named_columns(part.tree) or ()
    ]
    if partitions and (others := {path[0]: None for path in named if path[0] not in partitions}):
        raise WrongUse(
            f"where: {lowered.sql} must be a condition on only the partition columns ({', '.join(partitions)}), but "
            f"it uses {', '.join(others)}"
        )
    return lowered.predicate, lowered.sql


@contextmanager
def own_directory(location: str) -> Iterator[str]:
    """Yield the path of a new directory inside a table, which is removed if the block raises."""
    from deltalog.errors import UncertainCommit

    directory = f"{location.rstrip('/')}/write-{uuid4().hex}"
    try:
        yield directory
    except UncertainCommit:
        raise  # a commit may name the files
    except BaseException as error:
        if (left := _remove(directory)) and isinstance(error, Exception):
            raise StorageFailure(
                f"{cause(str(error))}; the written files ({left}) stay in {directory}, and no version references "
                f"them: `prune vacuum {location} --delete` deletes them after the retention period"
            ) from error
        raise


def _remove(directory: str) -> int:
    """Remove a directory. Return how many files of a store were not deleted, 1 if it cannot be listed; else 0."""
    from parquet_core.storage import delete_files

    if not is_remote(directory):
        shutil.rmtree(directory, ignore_errors=True)
        return 0
    try:
        return len(delete_files(remote_of(directory).walk(directory)).failed)
    except PruneError:
        return 1


def _new_file(target: _Target, path: str) -> NewFile:
    """Describe a file, with the partition values from Spark's directory names."""
    import deltalog

    below = path[len(target.location.rstrip("/")) + 1 :]
    named = dict(part.split("=", 1) for part in below.split("/")[1:-1])
    value_strings = {unescape(name): unescape(value) for name, value in named.items()}
    type_names = {field.name: field.dataType.typeName() for field in target.fields}
    values = {
        name: _protocol_value(value_strings[target.stored_name(name)], type_names[name])
        for name in target.schema.partition_columns
    }
    return deltalog.NewFile(below, values)


def _protocol_value(value: str, type_name: str) -> str | None:
    """Return a partition value in the text form that the Delta protocol requires."""
    if value == NULL_DIRECTORY:
        return None
    return f"{value.replace(' ', 'T')}Z" if type_name == "timestamp" else value


def _removes_files(snapshot: Snapshot, request: WriteRequest) -> bool:
    """Return True if a write without rows may still remove files."""
    return request.mode == "overwrite" and not request.only_by_rows and bool(snapshot.file_count)


def _commit(
    target: _Target, files: Sequence[NewFile], mode: Mode, replaced: tuple[Predicate, str] | None
) -> tuple[int, tuple[str, ...]]:
    """Commit the files; return the version and the removed files."""
    import deltalog
    from deltalog.transaction.create_with_files import create_with_files

    snapshot = target.snapshot
    if snapshot is None:
        return create_with_files(target.location, target.schema, files, mode=mode).version, ()
    adds = _adds(snapshot, files)
    obeys = target.constraints
    if mode == "append":
        return deltalog.append(snapshot, adds, obeys=obeys).version, ()
    if mode == "replace_partitions":
        done = deltalog.replace_partitions(snapshot, adds, obeys=obeys)
    elif replaced is None:
        done = deltalog.overwrite(snapshot, adds, obeys=obeys)
    else:
        done = deltalog.overwrite(snapshot, adds, where=replaced[0], shown=replaced[1], obeys=obeys)
    return done.version, tuple(sorted(done.removed))


def _adds(snapshot: Snapshot, files: Sequence[NewFile]) -> list[FullAdd]:
    import deltalog

    return deltalog.adds_of(
        snapshot.table, snapshot.schema, files, properties=snapshot.properties, domains=snapshot.domains
    )


def _refuse_existing(table: str) -> None:
    if _open_existing(table) is not None:
        raise WrongUse(
            f"{printable(redacted(table))}: this Delta table exists already; pass --mode append, --mode overwrite or "
            "--mode replace_partitions"
        )


def _check_entry(entry: CatalogEntry) -> None:
    """Refuse a table if its catalog lists a format that differs from the format at its location."""
    if entry.format == "delta" and not has_log(entry.location):
        raise TableNotFound(
            f"{entry.name}: the catalog lists it as Delta, but {entry.location} has no Delta log; create it first with "
            "delta-spark, or drop it and write the path"
        )
    if entry.format != "delta" and has_log(entry.location):
        raise UnsupportedFeature(
            f"{entry.name}: the catalog lists it as Parquet, but {entry.location} has a Delta log; register "
            "it as delta, or write the path"
        )


def _target_location(table: str) -> str:
    # The credentials of a store may be available only in the Spark session.
    if not is_remote(table) and not has_log(table):
        _check_new(address(table))
    return table


WRITING = Writing(
    location=_target_location,
    write=write_delta,
    refuse_existing=_refuse_existing,
    check_entry=_check_entry,
    check_rewrite=check_rewrite,
    rewrite_scope=DeltaTable.rewrite_scope,
    rewrite=rewrite_version,
)
