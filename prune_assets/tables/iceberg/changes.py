"""What changes in an Iceberg table when its rows do: its snapshot, and the live files of each partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prune_assets.tables.iceberg.manifests.manifest import ABSENT
from prune_assets.tables.same_partitions import partition_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyiceberg.table.snapshots import Snapshot

    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot

# What a transform counts since 1970.
_UNITS = {"year": "Y", "month": "M", "day": "D", "hour": "h"}
_IDENTITIES = {"date": "D", "timestamp": "us", "timestamptz": "us"}


def _latest(table: str) -> IcebergSnapshot:
    from prune_assets.tables.iceberg.opening import check_installed, metadata_place
    from prune_assets.tables.iceberg.snapshot import open_iceberg

    check_installed(table)
    place = metadata_place(table)
    assert place is not None  # it was recognized
    return open_iceberg(place, version=None, timestamp=None, allow=())


def snapshot_fingerprint(table: str) -> str:
    """Return the id of the current snapshot, in words."""
    snapshot = _latest(table).snapshot
    return f"version {0 if snapshot is None else snapshot.snapshot_id}"


def snapshot_history(table: str, limit: int) -> list[tuple[int, int | None, dict[str, Any]]]:
    """Return the id, the time, and operation and summary of the newest snapshots that the metadata has."""
    snapshots = _latest(table).metadata.snapshots
    newest = sorted(snapshots, key=lambda each: (each.sequence_number or 0, each.timestamp_ms), reverse=True)
    return [(each.snapshot_id, each.timestamp_ms, _described(each)) for each in newest[:limit]]


def _described(snapshot: Snapshot) -> dict[str, Any]:
    if snapshot.summary is None:
        return {}
    return {
        "operation": snapshot.summary.operation.value,
        "operationMetrics": dict(snapshot.summary.additional_properties),
    }


def partition_files(table: str, columns: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], str]]:
    """Yield the values that files of the current partition spec have of columns, and the path and deletes of each.

    Of a column that a year, month, day or hour is of, it is the time when that began.
    """
    from prune_assets.tables.iceberg.deletes import FileDeletes, deletes_by_file

    snapshot = _latest(table)
    files = snapshot.open_all()
    deletes = deletes_by_file(snapshot)
    named = {column.field_id: column for column in snapshot.columns}
    fields = [field for field in snapshot.partition_fields if field.transform in {"identity", *_UNITS}]
    known = {named[field.source].leaf.name: field.source for field in fields if field.source in named}
    sources = [known[partition_named(column, known)] for column in columns]
    for i, file in enumerate(files):
        values = {
            field.source: _as_text(file.partition[field.position], field.transform, named[field.source].kind)
            for field in fields
            if field.spec == file.spec_id and field.source in named
        }
        of_file = deletes.get(i, FileDeletes())
        identity = "\0".join([file.file_path, *(each.file_path for some in of_file for each in some)])
        yield tuple(values.get(source) for source in sources), identity


def _as_text(value: Any, transform: str, kind: str) -> str | None:
    """Return a partition value as the names of directories have it."""
    if value is None or value is ABSENT:
        return None
    unit = _UNITS.get(transform) or _IDENTITIES.get(kind)
    if unit is None:
        return str(value)
    import numpy as np

    from prune_assets.tables.iceberg.single_values import number_of

    began = np.array(number_of(value), np.int64).astype(f"datetime64[{unit}]")
    if kind == "date":
        return str(began.astype("datetime64[D]"))
    return f"{began.astype('datetime64[us]')}{'+00:00' if kind == 'timestamptz' else ''}"
