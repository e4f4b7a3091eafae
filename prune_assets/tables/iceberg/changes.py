"""What changes in an Iceberg table when its rows do: its snapshot, and the live files of each partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.tables.same_partitions import partition_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot


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


def partition_files(table: str, columns: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], str]]:
    """Yield the values that files of the current partition spec have of columns, and the path and deletes of each."""
    from prune_assets.tables.iceberg.deletes import FileDeletes, deletes_by_file

    snapshot = _latest(table)
    files = snapshot.open_all()
    deletes = deletes_by_file(snapshot)
    named = {column.field_id: column.leaf.name for column in snapshot.columns}
    fields = [field for field in snapshot.partition_fields if field.transform == "identity"]
    known = {named[field.source]: field.source for field in fields if field.source in named}
    sources = [known[partition_named(column, known)] for column in columns]
    for i, file in enumerate(files):
        values = {field.source: file.partition[field.position] for field in fields if field.spec == file.spec_id}
        texts = [None if (value := values.get(source)) is None else str(value) for source in sources]
        of_file = deletes.get(i, FileDeletes())
        yield tuple(texts), "\0".join([file.file_path, *(each.file_path for some in of_file for each in some)])
