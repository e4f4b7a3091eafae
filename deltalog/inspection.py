"""Inspect a Delta table from its log: version, features, files, statistics coverage, log health."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from deltalog.log.deletion_vectors import deleted_rows
from deltalog.maintenance.vacuum import orphans
from deltalog.snapshot.history import snapshot_time
from deltalog.stats.coverage import Coverage, Gap, coverage_of
from deltalog.stats.file_bounds import ABSENT, record_counts
from deltalog.table.constraints import Constraint, constraints_of
from deltalog.table.features import reader_features, writer_features
from deltalog.table.properties import (
    COUNTED,
    NAMED,
    clustering_columns,
    indexed_count,
    is_named,
    named_columns,
)
from parquet_core.inspection.facts import SCHEMA
from parquet_core.inspection.sizes import SizeClass, size_classes
from parquet_core.printable import redacted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.schema import TableColumn

_SHOWN_ORPHANS = 100


@dataclass(frozen=True, slots=True)
class ColumnCoverage:
    """Numbers of files with usable bounds and null counts of a column; `why`: reasons for gaps."""

    name: str
    type: str
    bounds: int
    null_counts: int
    why: str


@dataclass(frozen=True, slots=True)
class Orphans:
    """Files below the table that are neither live nor in a tombstone; `first`: some of their paths."""

    files: int
    bytes: int
    first: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogHealth:
    """Cost of reading this version, and log defects found (`notes`).

    `checkpoint`: the version of the checkpoint that was read; None if there was no checkpoint.
    """

    checkpoint: int | None
    commits_since_checkpoint: int
    opened_files: int
    opened_bytes: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaInspection:
    """Facts about a version of a Delta table, from its log.

    `time`: commit time in milliseconds UTC; None if the commit was removed.
    `rows`: rows that are not deleted; None if the count of some files (`files_without_rows`) is unknown.
    `clustered_by`: clustering columns; `not_null`: NOT NULL columns.
    `orphans`: None if not searched.
    """

    schema: str = SCHEMA
    kind: Literal["delta"] = "delta"
    path: str
    version: int
    time: int | None
    reader_version: int
    writer_version: int
    reader_features: tuple[str, ...]
    writer_features: tuple[str, ...]
    column_mapping: str
    partitions: tuple[str, ...]
    clustered_by: tuple[str, ...]
    not_null: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    properties: dict[str, str]
    files: int
    bytes: int
    rows: int | None
    files_without_rows: int
    deletion_vectors: int
    deleted_rows: int
    sizes: tuple[SizeClass, ...]
    all_columns: int
    columns: tuple[ColumnCoverage, ...]
    log: LogHealth
    orphans: Orphans | None = None


def inspect_snapshot(snapshot: Snapshot, columns: Sequence[TableColumn] | None = None) -> DeltaInspection:
    """Describe a version of a table, with statistics coverage per column.

    >>> import deltalog
    >>> inspected = deltalog.inspect_snapshot(snapshot)
    >>> inspected.rows, [(column.name, column.bounds) for column in inspected.columns]
    (3, [('id', 1)])

    `columns`: the columns to report; by default all.
    """
    counts, deleted = record_counts(snapshot), deleted_rows(snapshot.blocks)
    silent = int(np.count_nonzero(counts == ABSENT))
    protocol, schema = snapshot.protocol, snapshot.schema
    names = {field.physical: field.name for field in schema.fields}
    clustered = clustering_columns(snapshot.domains, location=snapshot.table)
    return DeltaInspection(
        path=redacted(snapshot.table),
        version=snapshot.version,
        time=snapshot_time(snapshot),
        reader_version=protocol.min_reader_version,
        writer_version=protocol.min_writer_version,
        reader_features=reader_features(protocol),
        writer_features=writer_features(protocol),
        column_mapping=schema.mapping,
        partitions=schema.partition_columns,
        clustered_by=tuple(names.get(path, ".".join(path)) for path in clustered),
        not_null=tuple(field.name for field in schema.fields if not field.nullable and not field.repeated),
        constraints=tuple(constraints_of(snapshot.properties, schema.fields)),
        properties=snapshot.properties,
        files=snapshot.file_count,
        bytes=snapshot.total_bytes,
        rows=None if silent else int(counts.sum() - deleted.sum()),
        files_without_rows=silent,
        deletion_vectors=int(np.count_nonzero(deleted)),
        deleted_rows=int(deleted.sum()),
        sizes=size_classes(np.concatenate([np.zeros(0, np.int64), *(block.size for block in snapshot.blocks)])),
        all_columns=len(schema.columns),
        columns=tuple(_coverage(snapshot, schema.columns if columns is None else columns)),
        log=_health(snapshot),
    )


def with_orphans(inspection: DeltaInspection) -> DeltaInspection:
    """Add the orphans; lists all directories of the table to find them."""
    files = orphans(inspection.path)
    size = sum(file.size for file in files)
    return replace(inspection, orphans=Orphans(len(files), size, tuple(file.path for file in files[:_SHOWN_ORPHANS])))


def _health(snapshot: Snapshot) -> LogHealth:
    checkpoint = snapshot.segment.checkpoint
    checkpoint_version = None if checkpoint is None else checkpoint.version
    return LogHealth(
        checkpoint=checkpoint_version,
        commits_since_checkpoint=snapshot.version - (-1 if checkpoint_version is None else checkpoint_version),
        opened_files=len(snapshot.opened),
        opened_bytes=sum(file.size for file in snapshot.opened),
        notes=snapshot.notes,
    )


def _coverage(snapshot: Snapshot, columns: Sequence[TableColumn]) -> Iterator[ColumnCoverage]:
    with_statistics = [column for column in columns if not column.refused and column.partition is None]
    by_path = dict(
        zip((column.leaf.path for column in with_statistics), coverage_of(snapshot, with_statistics), strict=True)
    )
    why = _Why(snapshot)
    for column in columns:
        covered = by_path.get(column.leaf.path, Coverage(0, 0, Counter()))
        reason = why.of(column, covered.missing)
        yield ColumnCoverage(column.leaf.name, column.delta_type, covered.bounds, covered.null_counts, reason)


class _Why:
    """Reasons why statistics of a column are not used."""

    def __init__(self, snapshot: Snapshot) -> None:
        properties = snapshot.properties
        self._files = snapshot.file_count
        self._named = named_columns(properties[NAMED]) if NAMED in properties else None
        self._most = indexed_count(properties)
        # Spark counts columns in the order of the schema, without partition columns.
        data = [column for column in snapshot.schema.columns if column.partition is None]
        self._ordinal = {column.leaf.path: i for i, column in enumerate(data)}

    def of(self, column: TableColumn, missing: Counter[str]) -> str:
        """Return the reasons why statistics of a column are missing, the most frequent first; else ""."""
        if column.partition is not None or column.refused:
            return column.refused or "partition column: the log has its values"
        reasons = [self._counted(self._with_property(column, reason), files) for reason, files in missing.most_common()]
        if not column.bounded:
            reasons.insert(0, column.leaf.unsupported or f"type {column.delta_type} has only null counts")
        return "; ".join(reasons) or ("" if self._files else "the table has no files")

    def _counted(self, reason: str, files: int) -> str:
        return reason if files == self._files else f"{reason} in {files:,} of {self._files:,} files"

    def _with_property(self, column: TableColumn, reason: str) -> str:
        """Return the reason, followed by the table property that made writers leave out the bounds, if known."""
        if reason is not Gap.BOUNDS:
            return reason
        if self._named is not None:
            return reason if is_named(column, self._named) else f"{reason}: {NAMED} does not name the column"
        ordinal = self._ordinal[column.leaf.path] + 1
        return (
            f"{reason}: it is column {ordinal:,}, and {COUNTED} is {self._most:,}"
            if 0 <= self._most < ordinal
            else reason
        )
