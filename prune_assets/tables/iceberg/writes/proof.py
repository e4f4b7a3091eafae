"""Check the files that a commit to an Iceberg table added."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.errors import StorageFailure
from parquet_core.layout.spec import Severity
from prune_assets.errors import UnprovenWrite
from prune_assets.tables.iceberg.metadata_files import place_of, wrapping_pyiceberg_errors
from prune_assets.tables.iceberg.session_catalog import snapshot_in_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.tables.iceberg.session_catalog import NameInSession
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot

# Snapshot property by which a write finds its own snapshot among concurrent commits.
WRITE_ID = "prune-assets.write"


class SnapshotChange(NamedTuple):
    """A snapshot, and the files that its commit added and removed, by their locations in the metadata."""

    snapshot: IcebergSnapshot
    added: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def version(self) -> int:
        """Id of the snapshot."""
        assert self.snapshot.snapshot is not None
        return int(self.snapshot.snapshot.snapshot_id)

    @property
    def parent(self) -> int | None:
        """Id of the parent snapshot; None for the first snapshot."""
        assert self.snapshot.snapshot is not None
        parent: int | None = self.snapshot.snapshot.parent_snapshot_id
        return parent


def change_of(name: str, spark: SparkSession, write_id: str) -> SnapshotChange:
    """Return the changes of the latest snapshot with a write id. Raises StorageFailure if it is missing."""
    snapshot = snapshot_in_session(name, spark)
    ours = [
        each.snapshot_id
        for each in snapshot.metadata.snapshots
        if each.summary is not None and each.summary.additional_properties.get(WRITE_ID) == write_id
    ]
    if not ours:
        raise StorageFailure(
            f"{name}: Spark wrote to the table, but no snapshot records the write; check {name}.snapshots"
        )
    return change_at(snapshot_in_session(name, spark, ours[-1]))


def change_at(snapshot: IcebergSnapshot) -> SnapshotChange:
    """Return the files that a snapshot added and removed, from its manifests."""
    from pyiceberg.manifest import ManifestContent, ManifestEntryStatus, read_manifest_list

    assert snapshot.snapshot is not None
    version, io = snapshot.snapshot.snapshot_id, snapshot.io
    files: dict[ManifestEntryStatus, list[str]] = {status: [] for status in ManifestEntryStatus}
    with wrapping_pyiceberg_errors(snapshot.metadata_path):
        for manifest in read_manifest_list(io.new_input(snapshot.snapshot.manifest_list)):
            if manifest.content != ManifestContent.DATA or manifest.added_snapshot_id != version:
                continue
            for entry in manifest.fetch_manifest_entry(io, discard_deleted=False):
                if entry.snapshot_id == version:
                    files[entry.status].append(entry.data_file.file_path)
    return SnapshotChange(snapshot, tuple(files[ManifestEntryStatus.ADDED]), tuple(files[ManifestEntryStatus.DELETED]))


def prove(
    name: NameInSession, change: SnapshotChange, layout: LayoutSpec, *, rows: int | None = None
) -> MetadataIndex | None:
    """Check the files that a commit added; return their metadata, None if it added no files.

    Raises UnprovenWrite, with the rollback statement, if they do not match the layout or `rows`.
    """
    from parquet_core.layout import check_index
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.iceberg.table import IcebergTable

    added = set(change.added)
    file_numbers = np.array([i for i, file in enumerate(change.snapshot.files) if file.file_path in added], np.int64)
    index = None
    if len(file_numbers):
        table = IcebergTable(
            change.snapshot.metadata_path, name.table, change.snapshot, SparkSemantics(case_sensitive=True)
        )
        index, partition = table.read_partitioned(file_numbers)
        findings = check_index(index, layout=layout, rows=True, partition=partition)
        if broken := [each for each in findings if each.severity is Severity.ERROR]:
            more = f" and {len(broken) - 1} more" if broken[1:] else ""
            raise _unproven_write(name, change, f"{broken[0].location}: {broken[0].message}{more}")
    in_files = 0 if index is None else int(index.groups.row_count.sum())
    if rows is not None and in_files != rows:
        raise _unproven_write(name, change, f"Spark reports {rows} rows written, and the files hold {in_files}")
    return index


def _unproven_write(name: NameInSession, change: SnapshotChange, why: str) -> UnprovenWrite:
    back = (
        f"DROP TABLE {name.table}"
        if change.parent is None
        else f"CALL `{name.catalog}`.system.rollback_to_snapshot('{name.argument}', {change.parent})"
    )
    return UnprovenWrite(
        f"{name.table.replace('`', '')}: snapshot {change.version} does not have the layout ({why}); roll back to "
        f"the previous snapshot with {back}"
    )


def paths_of(files: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths or addresses of files."""
    return tuple(map(place_of, files))
