"""Inspection and claims of an Iceberg snapshot, from metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.arrow_arrays import flags_from
from parquet_core.quantities import counted
from prune_assets.report.inspection.iceberg import (
    IcebergColumnCoverage,
    IcebergInspection,
    IcebergPartitionField,
    print_iceberg,
)
from prune_assets.report.quantities import utc_text
from prune_assets.tables.column_names import resolve
from prune_assets.tables.examination import Claims, Examination, Inspection
from prune_assets.tables.iceberg.deletes import debt_of
from prune_assets.tables.iceberg.table import IcebergTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import Path
    from parquet_core.trust.bounds import Bounds
    from prune_assets.report.skip_report import TableSnapshot
    from prune_assets.tables.examination import InspectOptions
    from prune_assets.tables.iceberg.columns import IcebergColumn


def inspect_snapshot(table: IcebergTable, options: InspectOptions) -> Inspection:
    """Describe a snapshot from its metadata alone."""
    snapshot, metadata = table.snapshot, table.snapshot.metadata
    files = snapshot.open_all()
    history = [entry.snapshot_id for entry in reversed(metadata.snapshot_log)]
    chosen = {resolve(name, table.columns) for name in options.names}
    of_positions, of_equality = _with_deletes(table)
    inspection = IcebergInspection(
        path=snapshot.io.root,
        metadata=snapshot.metadata_path.rpartition("/")[2],
        format_version=metadata.format_version,
        snapshot_id=table.version_number,
        snapshots=tuple(dict.fromkeys(history)),
        partitions=tuple(_partitions(table)),
        sorted_by=tuple(clustered_by(table)),
        files=len(files),
        bytes=int(files.numbers("sizes", 0).sum()),
        rows=int(files.numbers("records", 0).sum()),
        files_with_position_deletes=of_positions,
        files_with_equality_deletes=of_equality,
        columns=tuple(_coverage(table, it) for it in snapshot.columns if not chosen or it.leaf.path[0] in chosen),
    )
    return Inspection(inspection, lambda console: print_iceberg(inspection, console))


def _with_deletes(table: IcebergTable) -> tuple[int, int]:
    deletes = table.deletes.values()
    return sum(1 for file_deletes in deletes if file_deletes.positions), sum(
        1 for file_deletes in deletes if file_deletes.equality
    )


def _partitions(table: IcebergTable) -> list[IcebergPartitionField]:
    snapshot = table.snapshot
    return [
        IcebergPartitionField(
            field.spec,
            field.name,
            snapshot.schema.find_column_name(field.source) or "a dropped column",
            field.transform,
            int(np.count_nonzero(snapshot.files.spec == field.spec)),
        )
        for field in snapshot.partition_fields
    ]


def _coverage(table: IcebergTable, column: IcebergColumn) -> IcebergColumnCoverage:
    file_bounds = table.file_bounds(column.leaf.path)
    bounds = nulls = 0
    if file_bounds is not None:
        bounds = int(
            np.count_nonzero(flags_from(file_bounds.lower.is_valid()) | flags_from(file_bounds.upper.is_valid()))
        )
        nulls = int(np.count_nonzero(flags_from(file_bounds.null_count.is_valid())))
    return IcebergColumnCoverage(column.leaf.name, column.type_name, bounds, nulls)


def planned_snapshot(
    table: IcebergTable, index: MetadataIndex, read: NDArray[np.bool_], *, pro_rata: bool, log_bytes: int
) -> TableSnapshot | None:
    """Describe the planned snapshot; None for a table without rows. Deletes are counted in files, not rows."""
    from prune_assets.report.skip_report import TableSnapshot

    snapshot = table.snapshot.snapshot
    if snapshot is None:
        return None
    of_positions, of_equality = _with_deletes(table)
    of_vectors = sum(
        1 for file_deletes in table.deletes.values() if any(each.is_vector for each in file_deletes.positions)
    )
    read_with_deletes = sum(1 for file_number in table.deletes if read[file_number])
    notes = [
        f"row counts include rows that {what} deletes of {counted(count, 'file')} may hide"
        for what, count in (("position", of_positions), ("equality", of_equality))
        if count
    ]
    notes += [f"{counted(of_vectors, 'file')} of these have deletion vectors"] if of_vectors else []
    return TableSnapshot(
        format="iceberg",
        version=snapshot.snapshot_id,
        timestamp=utc_text(snapshot.timestamp_ms),
        files=len(index.groups.files),
        opened_files=len(index.groups.files) if index.groups.opened is None else int(index.groups.opened.sum()),
        files_with_deletes=len(table.deletes),
        deleted_rows=None if table.deletes else 0,
        kept_deleted_rows=None if table.deletes else 0,
        unknown_rows=0,
        pro_rata=pro_rata,
        log_bytes=log_bytes,
        notes=(*notes, *([f"{counted(read_with_deletes, 'file')} to read have deletes"] if read_with_deletes else [])),
    )


def clustered_by(table: IcebergTable) -> list[str]:
    """Return the columns of the table's sort order, except transforms."""
    metadata, by_id = table.snapshot.metadata, {column.field_id: column for column in table.by_path.values()}
    order = metadata.sort_order_by_id(metadata.default_sort_order_id)
    fields = [] if order is None else [field for field in order.fields if str(field.transform) == "identity"]
    return [by_id[field.source_id].leaf.name for field in fields if field.source_id in by_id]


@dataclass(slots=True)
class ManifestClaims(Claims):
    """What manifests claim about files: bounds, counts and rows. The claims include deleted rows."""

    table: IcebergTable
    name = "the manifest"
    partition_remedy = "remove the file from the table with Iceberg, and write its rows again"

    def __post_init__(self) -> None:
        """Read all manifests."""
        self.table.snapshot.open_all()

    def bounds(self, path: Path, file: int) -> Bounds | None:
        """Return the bounds of a column in a file; None without bounds."""
        file_bounds = self.table.file_bounds(path)
        return None if file_bounds is None else file_bounds.slice(file, file + 1)

    def rows(self, file: int) -> int | None:
        """Return the row count of a file, deleted rows included."""
        return int(self.table.snapshot.files.numbers("records", 0)[file])


EXAMINATION = Examination(
    inspect=inspect_snapshot,
    claims=ManifestClaims,
    read_partitioned=IcebergTable.read_partitioned,
    deleted_rows=IcebergTable.deleted_rows,
    clustered_by=clustered_by,
    delete_debt=lambda table: debt_of(table.snapshot.open_all(), table.deletes),
)
