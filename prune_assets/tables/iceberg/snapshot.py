"""A snapshot of an Iceberg table, read from its metadata: columns, files, deletes."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.errors import MalformedFile, UnsupportedFeature, WrongUse
from parquet_core.storage.allowed_locations import ALLOW
from prune_assets.tables.format import moment_of
from prune_assets.tables.iceberg.columns import columns_of, numbered
from prune_assets.tables.iceberg.manifests.delete_files import delete_files
from prune_assets.tables.iceberg.manifests.listed_files import ListedFiles, Miscounted
from prune_assets.tables.iceberg.manifests.manifest_list import (
    listing,
    manifests_without_list,
    read_manifest_list,
    with_plausible_counts,
)
from prune_assets.tables.iceberg.metadata_files import MetadataFiles, wrapping_pyiceberg_errors
from prune_assets.tables.iceberg.metadata_json import parse_metadata

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from parquet_core.dataset.logged import Numbered
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.manifests.delete_files import DeleteFile
    from prune_assets.tables.iceberg.manifests.manifest import Listed
    from prune_assets.tables.iceberg.manifests.manifest_list import FieldSummary, ListedManifest
    from prune_assets.tables.iceberg.metadata_json import ParsedMetadata

MAX_BYTES = 1 << 30
# Maximum number of snapshots cached in memory; the most recently used ones stay.
MAX_KEPT = 4
_KEPT: dict[tuple[Any, ...], IcebergSnapshot] = {}
_FORMATS = (1, 2, 3)


class PartitionField(NamedTuple):
    """A field of a partition spec.

    `source`: field id of the column from which the field's values are derived.
    `position`: index of the field in the partition of a file.
    """

    spec: int
    position: int
    name: str
    source: int
    transform: str


@dataclass
class IcebergSnapshot:
    """A snapshot of a table.

    `snapshot`: the snapshot in the metadata; None for a table without rows.
    `files`: live files, in manifest order.
    `summaries`: for each manifest, the summaries of partition fields in the manifest list.
    `deletes`: delete files.
    """

    metadata_path: str
    metadata: TableMetadata
    snapshot: Snapshot | None
    schema: Schema
    files: ListedFiles
    summaries: list[Sequence[FieldSummary]]
    deletes: list[DeleteFile]
    io: MetadataFiles

    @cached_property
    def columns(self) -> tuple[IcebergColumn, ...]:
        """Leaves of the table's schema."""
        # Files migrated from Hive lack the columns of identity partitions.
        filled = {field.source for field in self.partition_fields if field.transform == "identity"}
        with wrapping_pyiceberg_errors(self.metadata_path):
            return columns_of(self.schema, filled)

    @cached_property
    def numbered(self) -> Numbered:
        """Columns by field id."""
        names = self.metadata.properties.get("schema.name-mapping.default", "")
        with wrapping_pyiceberg_errors(self.metadata_path):
            return numbered(self.schema, self.columns, self.metadata.schemas, names)

    @cached_property
    def partition_fields(self) -> list[PartitionField]:
        """Fields of all partition specs that the table had, including fields of dropped columns."""
        return [
            PartitionField(spec.spec_id, i, field.name, field.source_id, str(field.transform))
            for spec in self.metadata.partition_specs
            for i, field in enumerate(spec.fields)
        ]

    @cached_property
    def partition_ids(self) -> dict[int, tuple[int, ...]]:
        """Field ids of each partition spec."""
        return _partition_ids(self.metadata)

    def open(self, wanted: NDArray[np.bool_], fields: Iterable[int] = ()) -> NDArray[np.bool_]:
        """Read the wanted manifests, or all if the list's file counts are wrong; return flags of the manifests read."""
        try:
            self.files.open(wanted, fields, self.io)
        except Miscounted:
            self.files = ListedFiles(self.files.listed, self.partition_ids, self.io, miscounted=True)
            wanted = np.ones(len(wanted), np.bool_)
        return wanted

    def open_all(self) -> ListedFiles:
        """Read all manifests."""
        self.open(np.ones(len(self.files.listed), np.bool_))
        return self.files

    def partition_keys(self) -> dict[int, str]:
        """Return the partition key of each file whose manifest was read, by file number."""
        return {i: partition_key(spec, partition) for i, spec, partition in self.files.partitions()}


def partition_key(spec: int, partition: Sequence[Any]) -> str:
    """Return a string that identifies a partition by spec and values."""
    return f"{spec}: {list(partition)!r}"


def open_iceberg(
    metadata_path: str, *, version: int | None, timestamp: dt.datetime | int | str | None, allow: Sequence[str]
) -> IcebergSnapshot:
    """Open a snapshot by the address of a metadata file.

    `version`: id of the snapshot; by default the current one.

    Metadata files never change, so the last opened snapshots are cached in memory.
    """
    io = MetadataFiles(metadata_path.rpartition("/")[0].rpartition("/")[0], allow)
    cache_key = io.find(metadata_path), version, timestamp, tuple(allow), os.environ.get(ALLOW)
    snapshot = _KEPT.pop(cache_key, None)
    snapshot = _KEPT[cache_key] = (
        _open_snapshot(metadata_path, io, version, timestamp) if snapshot is None else snapshot
    )
    for oldest in list(_KEPT)[:-MAX_KEPT]:
        _KEPT.pop(oldest, None)
    return replace(snapshot, io=io)


def _open_snapshot(
    metadata_path: str, io: MetadataFiles, version: int | None, timestamp: dt.datetime | int | str | None
) -> IcebergSnapshot:
    metadata, manifests = _metadata(metadata_path, io)
    snapshot = _choose_snapshot(metadata_path, metadata, version, timestamp)
    with wrapping_pyiceberg_errors(metadata_path):
        schema = metadata.schema()
        if snapshot is not None and snapshot.snapshot_id != metadata.current_snapshot_id:
            schema = schema if snapshot.schema_id is None else metadata.schema_by_id(snapshot.schema_id) or schema
        ids = _partition_ids(metadata)
        every = _manifests(snapshot, manifests, io)
        data, deletes = ([manifest for manifest in every if manifest.is_data is is_data] for is_data in (True, False))
        listed = [listing(manifest, ids, metadata_path) for manifest in (*data, *deletes)]
        return IcebergSnapshot(
            metadata_path=metadata_path,
            metadata=metadata,
            snapshot=snapshot,
            schema=schema,
            files=ListedFiles(with_plausible_counts(listed[: len(data)]), ids, io),
            summaries=[manifest.partitions for manifest in data],
            deletes=_deletes(listed[len(data) :], ids, io),
            io=io,
        )


def _partition_ids(metadata: TableMetadata) -> dict[int, tuple[int, ...]]:
    return {spec.spec_id: tuple(field.field_id for field in spec.fields) for spec in metadata.partition_specs}


def _manifests(
    snapshot: Snapshot | None, without_list: Mapping[int, Sequence[str]], io: MetadataFiles
) -> list[ListedManifest]:
    if snapshot is None:
        return []
    if snapshot.snapshot_id in without_list:
        return manifests_without_list(without_list[snapshot.snapshot_id], io)
    return read_manifest_list(snapshot.manifest_list, io)


def _metadata(metadata_path: str, io: MetadataFiles) -> ParsedMetadata:
    with wrapping_pyiceberg_errors(metadata_path):
        data = _decompress(io.new_input(metadata_path).data)
        if len(data) > MAX_BYTES:
            raise MalformedFile(f"{metadata_path}: has more than {MAX_BYTES:,} bytes; the file is damaged")
        metadata = json.loads(data)
        if metadata.get("format-version") not in _FORMATS:
            raise UnsupportedFeature(
                f"{metadata_path}: version {metadata.get('format-version')!r} of Iceberg's format is not read; "
                "read it with Spark"
            )
        return parse_metadata(metadata)


def _decompress(data: bytes) -> bytes:
    """Decompress a metadata file (gzip, zstd or plain), up to one byte more than the limit."""
    if data[:2] == b"\x1f\x8b":
        with gzip.open(BytesIO(data)) as packed:
            return packed.read(MAX_BYTES + 1)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read(MAX_BYTES + 1))
    return data


def _choose_snapshot(
    metadata_path: str, metadata: TableMetadata, version: int | None, timestamp: dt.datetime | int | str | None
) -> Snapshot | None:
    if version is not None and timestamp is not None:
        raise WrongUse("version, timestamp: give one of the two")
    if version is not None:
        snapshot = metadata.snapshot_by_id(version)
        if snapshot is None:
            raise WrongUse(f"{metadata_path}: has no snapshot {version}; prune inspect lists the last ones")
        return snapshot
    if timestamp is None:
        current = metadata.current_snapshot()
        if current is None and metadata.current_snapshot_id is not None:
            raise MalformedFile(
                f"{metadata_path}: lacks its current snapshot {metadata.current_snapshot_id}; the file is damaged"
            )
        return current
    moment = _milliseconds(timestamp)
    before = [entry for entry in metadata.snapshot_log if entry.timestamp_ms <= moment]
    snapshot = metadata.snapshot_by_id(before[-1].snapshot_id) if before else None
    if snapshot is None:
        raise WrongUse(
            f"{metadata_path}: has no snapshot as of {timestamp}; it began later, or the snapshot was expired"
        )
    return snapshot


def _milliseconds(timestamp: dt.datetime | int | str) -> int:
    timestamp = moment_of(timestamp)
    if isinstance(timestamp, int):
        return timestamp
    if timestamp.tzinfo is None:
        raise WrongUse(f"timestamp={timestamp}: has no zone; write it as 2024-01-31T12:00:00+00:00")
    return int(timestamp.timestamp() * 1000)


def _deletes(listed: Sequence[Listed], ids: Mapping[int, Sequence[int]], io: MetadataFiles) -> list[DeleteFile]:
    io.fetch([manifest.location for manifest in listed])
    deletes: list[DeleteFile] = []
    for manifest in listed:
        with wrapping_pyiceberg_errors(manifest.location):
            deletes += delete_files(manifest, io.new_input(manifest.location).data, ids[manifest.spec])
    return deletes
