"""Inspection, claims and health of a version of a Delta table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from deltalog.inspection import inspect_snapshot, with_orphans
from deltalog.stats.file_bounds import ABSENT, record_counts
from deltalog.table.properties import clustering_columns
from prune_assets.tables.column_names import resolve
from prune_assets.tables.delete_debt import DeleteDebt
from prune_assets.tables.delta.health import log_findings
from prune_assets.tables.delta.table import DeltaTable, block_of
from prune_assets.tables.examination import Claims, Examination, Inspection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deltalog.snapshot.row_changes import RowChange
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.schema import TableColumn
    from parquet_core.format.schema import Path
    from parquet_core.trust.bounds import Bounds
    from prune_assets.tables.examination import InspectOptions


def inspect_version(table: DeltaTable, options: InspectOptions) -> Inspection:
    """Describe a version from its log alone.

    `options`: names the columns and structs to show; all columns by default.
    """
    from prune_assets.report.inspection.delta import print_delta

    inspection = inspect_snapshot(table.snapshot, _choose_columns(table.snapshot, options.names))
    if options.orphans:
        inspection = with_orphans(inspection)
    return Inspection(inspection, lambda console: print_delta(inspection, console))


def _choose_columns(snapshot: Snapshot, names: Sequence[str]) -> list[TableColumn]:
    columns = snapshot.schema.columns
    chosen: dict[TableColumn, None] = {}
    for name in names:
        low = name.casefold()
        matching = [column for column in columns if f"{column.leaf.name.casefold()}.".startswith(f"{low}.")]
        if not matching:
            top = resolve(name, snapshot.schema.leaves)
            matching = [column for column in columns if column.leaf.path[0] == top]
        chosen |= dict.fromkeys(matching)
    return list(chosen) if names else list(columns)


@dataclass(slots=True)
class LogClaims(Claims):
    """What a Delta log claims about files: statistics, deletion vectors and partition values."""

    table: DeltaTable
    name = "the log"
    partition_remedy = "remove the file from the table, and write its rows again"
    _records: NDArray[np.int64] | None = None

    def bounds(self, path: Path, file: int) -> Bounds | None:
        """Return the bounds of a column in a file from its statistics; None if they lack the column."""
        file_bounds = self.table.file_bounds(path)
        return None if file_bounds is None else file_bounds.slice(file, file + 1)

    def rows(self, file: int) -> int | None:
        """Return the row count in a file's statistics, which includes deleted rows; None if missing."""
        if self._records is None:
            self._records = record_counts(self.table.snapshot)
        count = int(self._records[file])
        return None if count == ABSENT else count

    def live(self, file: int, rows: int) -> NDArray[np.bool_] | None:
        """Return flags of the rows that a file's deletion vector keeps; None without a deletion vector."""
        from deltalog.log.deletion_vectors import read_vector, vector_of

        snapshot = self.table.snapshot
        vector = vector_of(*block_of(snapshot, file))
        if vector is None:
            return None
        deleted = read_vector(vector, snapshot.table, traffic=snapshot.traffic, allow=snapshot.allow)
        live = np.ones(rows, np.bool_)
        positions = np.fromiter(deleted, np.int64, len(deleted))
        live[positions[positions < rows]] = False
        return live

    def partition(self, path: Path, file: int) -> Bounds | None:
        """Return a partition value as bounds, because its meaning may depend on the session."""
        from deltalog.log.file_block import empty_codes
        from deltalog.stats.partition_values import partition_bounds

        column = self.table.snapshot.schema.by_path().get(path)
        if column is None or column.partition is None:
            return None
        block, position = block_of(self.table.snapshot, file)
        coded = block.partition.get(column.partition, empty_codes(len(block)))
        bounds = partition_bounds(column, coded.values)
        return bounds.take(np.arange(len(bounds))[coded.codes[position : position + 1]])


def clustering_paths(snapshot: Snapshot) -> list[Path]:
    """Return the clustering columns of a Delta table, by their logical names."""
    logical = {column.physical: column.leaf.path for column in snapshot.schema.columns}
    return [logical.get(path, path) for path in clustering_columns(snapshot.domains, location=snapshot.table)]


def delete_debt(table: DeltaTable) -> DeleteDebt:
    """Return the deleted rows and the deletion vectors per file, from the log."""
    return DeleteDebt(
        rows=record_counts(table.snapshot),
        deleted=table.deleted,
        delete_files=(table.deleted > 0).astype(np.int64),
        equality_files=np.zeros(len(table.deleted), np.int64),
        path=partial(_path_of, table.snapshot),
    )


def last_row_changes(table: DeltaTable, limit: int, operations: Sequence[str]) -> list[RowChange]:
    """Return the last statements that changed rows, newest first."""
    from deltalog.snapshot.row_changes import row_changes

    return row_changes(table.snapshot, limit=limit, operations=operations)


def _path_of(snapshot: Snapshot, file: int) -> str:
    block, position = block_of(snapshot, file)
    return str(block.path[position].as_py())


EXAMINATION = Examination(
    inspect=inspect_version,
    claims=LogClaims,
    read_partitioned=DeltaTable.read_partitioned,
    deleted_rows=lambda table: table.deleted,
    log_findings=log_findings,
    delete_debt=delete_debt,
    row_changes=last_row_changes,
    clustered_by=lambda table: [".".join(path) for path in clustering_paths(table.snapshot)],
)
