"""A snapshot of an Iceberg table, as pyiceberg reads it from its metadata: columns, files, deletes."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deltalog.log.allowed_locations import ALLOW
from parquet_core.errors import MalformedFile, UnsupportedFeature, WrongUse
from prune_assets.tables.iceberg.columns import columns_of, numbered
from prune_assets.tables.iceberg.metadata_files import MetadataFiles, understood

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from pyiceberg.manifest import DataFile, ManifestEntry
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from parquet_core.dataset.logged import Numbered
    from prune_assets.tables.iceberg.columns import IcebergColumn

MAX_BYTES = 1 << 30
# Snapshots that are kept in memory, the last ones that were asked for.
MAX_KEPT = 4
_KEPT: dict[tuple[Any, ...], IcebergSnapshot] = {}
_FORMATS = (1, 2, 3)


class PartitionField(NamedTuple):
    """A field of a partition spec: of files of the spec `spec` the value at `position` is of the column `source`."""

    spec: int
    position: int
    name: str
    source: int
    transform: str


@dataclass
class IcebergSnapshot:
    """A snapshot; None is that of a table without rows. `files`: live ones, in the order of the manifests.

    By file: `spec` is the number of its partition spec, `sequence` that of its commit. `deletes`: files of deletes.
    """

    place: str
    metadata: TableMetadata
    snapshot: Snapshot | None
    schema: Schema
    files: list[DataFile]
    spec: NDArray[np.int64]
    sequence: NDArray[np.int64]
    deletes: list[ManifestEntry]
    io: MetadataFiles

    @cached_property
    def columns(self) -> tuple[IcebergColumn, ...]:
        """The leaves of the table."""
        # Files that were taken over from Hive lack them.
        filled = {field.source for field in self.partition_fields if field.transform == "identity"}
        return columns_of(self.schema, filled)

    @cached_property
    def numbered(self) -> Numbered:
        """The columns by field id."""
        names = self.metadata.properties.get("schema.name-mapping.default", "")
        with understood(self.place):
            return numbered(self.schema, self.columns, self.metadata.schemas, names)

    @cached_property
    def partition_fields(self) -> list[PartitionField]:
        """The fields of all partition specs that the table had; those of dropped columns too."""
        return [
            PartitionField(spec.spec_id, i, field.name, field.source_id, str(field.transform))
            for spec in self.metadata.partition_specs
            for i, field in enumerate(spec.fields)
        ]

    @cached_property
    def partition_keys(self) -> list[str]:
        """Spec and values of each file's partition, as a text."""
        return [partition_key(file, spec) for file, spec in zip(self.files, self.spec.tolist(), strict=True)]

    def values_of(self, field: PartitionField) -> list[Any]:
        """Return the value of a partition field in each file of its spec."""
        return [self.files[i].partition[field.position] for i in np.flatnonzero(self.spec == field.spec).tolist()]


def partition_key(file: DataFile, spec: int) -> str:
    """Return spec and values of a file's partition, as a text."""
    return f"{spec}: {list(file.partition)!r}"


def open_iceberg(
    place: str, *, version: int | None, timestamp: dt.datetime | int | str | None, allow: Sequence[str]
) -> IcebergSnapshot:
    """Open a snapshot by the address of a file of metadata; `version`: its id, by default the current one.

    No file of metadata changes, so the last ones that were opened are kept in memory.
    """
    io = MetadataFiles(place.rpartition("/")[0].rpartition("/")[0], allow)
    asked = io.found(place), version, timestamp, tuple(allow), os.environ.get(ALLOW)
    snapshot = _KEPT.pop(asked, None)
    snapshot = _KEPT[asked] = _opened(place, io, version, timestamp) if snapshot is None else snapshot
    for oldest in list(_KEPT)[:-MAX_KEPT]:
        _KEPT.pop(oldest, None)
    return replace(snapshot, io=io)


def _opened(
    place: str, io: MetadataFiles, version: int | None, timestamp: dt.datetime | int | str | None
) -> IcebergSnapshot:
    metadata = _metadata(place, io)
    snapshot = _chosen(place, metadata, version, timestamp)
    with understood(place):
        schema = metadata.schema()
        if snapshot is not None and snapshot.snapshot_id != metadata.current_snapshot_id:
            schema = schema if snapshot.schema_id is None else metadata.schema_by_id(snapshot.schema_id) or schema
        data, deletes = _entries(snapshot, io)
        files = [entry.data_file for entry in data]
        specs = {spec.spec_id: len(spec.fields) for spec in metadata.partition_specs}
        for file in files:
            _check(file, specs, place)
    return IcebergSnapshot(
        place=place,
        metadata=metadata,
        snapshot=snapshot,
        schema=schema,
        files=files,
        spec=np.array([file.spec_id for file in files], np.int64),
        sequence=np.array([entry.sequence_number or 0 for entry in data], np.int64),
        deletes=deletes,
        io=io,
    )


def _metadata(place: str, io: MetadataFiles) -> TableMetadata:
    from pyiceberg.table.metadata import TableMetadataUtil

    with understood(place):
        data = io.new_input(place).data
        if data[:2] == b"\x1f\x8b":
            with gzip.open(BytesIO(data)) as packed:
                data = packed.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise MalformedFile(f"{place}: has more than {MAX_BYTES:,} bytes; the file is damaged")
        known = json.loads(data)
        if known.get("format-version") not in _FORMATS:
            raise UnsupportedFeature(
                f"{place}: version {known.get('format-version')!r} of Iceberg's format is not read; read it with Spark"
            )
        return TableMetadataUtil.parse_obj(known)


def _chosen(
    place: str, metadata: TableMetadata, version: int | None, timestamp: dt.datetime | int | str | None
) -> Snapshot | None:
    if version is not None and timestamp is not None:
        raise WrongUse("version, timestamp: give one of the two")
    if version is not None:
        found = metadata.snapshot_by_id(version)
        if found is None:
            raise WrongUse(f"{place}: has no snapshot {version}; prune inspect lists the last ones")
        return found
    if timestamp is None:
        return metadata.current_snapshot()
    moment = _milliseconds(timestamp)
    before = [entry for entry in metadata.snapshot_log if entry.timestamp_ms <= moment]
    found = metadata.snapshot_by_id(before[-1].snapshot_id) if before else None
    if found is None:
        raise WrongUse(f"{place}: has no snapshot as of {timestamp}; it began later, or the snapshot was expired")
    return found


def _milliseconds(timestamp: dt.datetime | int | str) -> int:
    if isinstance(timestamp, str):
        try:
            timestamp = dt.datetime.fromisoformat(timestamp)
        except ValueError:
            raise WrongUse(
                f"timestamp={timestamp!r}: not a valid time; write it as 2024-01-31T12:00:00+00:00"
            ) from None
    if isinstance(timestamp, int):
        return timestamp
    if timestamp.tzinfo is None:
        raise WrongUse(f"timestamp={timestamp}: has no zone; write it as 2024-01-31T12:00:00+00:00")
    return int(timestamp.timestamp() * 1000)


def _entries(snapshot: Snapshot | None, io: MetadataFiles) -> tuple[list[ManifestEntry], list[ManifestEntry]]:
    if snapshot is None:
        return [], []
    from pyiceberg.manifest import ManifestContent, read_manifest_list

    manifests = list(read_manifest_list(io.new_input(snapshot.manifest_list)))
    io.fetch([manifest.manifest_path for manifest in manifests])
    found: tuple[list[ManifestEntry], list[ManifestEntry]] = [], []
    for manifest in manifests:
        of_content = found[manifest.content != ManifestContent.DATA]
        of_content += manifest.fetch_manifest_entry(io)
    return found


def _check(file: DataFile, specs: Mapping[int, int], place: str) -> None:
    if str(file.file_format.value).upper() != "PARQUET":
        raise UnsupportedFeature(f"{place}: {file.file_path} is a file of {file.file_format}, and only Parquet is read")
    if file.file_size_in_bytes < 0 or not file.file_path:
        raise MalformedFile(f"{place}: a manifest has a file of {file.file_size_in_bytes} bytes; it is damaged")
    if specs.get(file.spec_id) != len(file.partition):
        raise MalformedFile(
            f"{place}: {file.file_path} has not the partition fields of its spec; a manifest is damaged"
        )
