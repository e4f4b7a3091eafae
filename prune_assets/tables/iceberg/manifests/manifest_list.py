"""Manifest list of a snapshot: location, partition spec, counts and partition summaries of each manifest.

Only the path and the partition spec are required, as in version 1 of the format. A list without field ids is read by
field names. Source: "Manifest Lists" in Iceberg's specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from parquet_core.errors import MalformedFile
from prune_assets.tables.iceberg.manifests.avro_file import avro_header, read_avro, value_at
from prune_assets.tables.iceberg.manifests.manifest import Listed
from prune_assets.tables.iceberg.metadata_files import wrapping_pyiceberg_errors

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from prune_assets.tables.iceberg.metadata_files import MetadataFiles

# Larger counts are not trusted before the files are seen.
_MOST_FILES = 1 << 26
_MOST_ROWS = 1 << 60
_DATA = 0
_SPEC_ID = "partition-spec-id"


class FieldSummary(NamedTuple):
    """Summary of a partition field in a manifest. None: unknown."""

    contains_null: bool | None
    contains_nan: bool | None
    lower_bound: bytes | None
    upper_bound: bytes | None


class ListedManifest(NamedTuple):
    """An entry of the manifest list. None: unknown."""

    manifest_path: str
    partition_spec_id: int
    content: int = _DATA
    sequence_number: int | None = None
    added_files_count: int | None = None
    existing_files_count: int | None = None
    added_rows_count: int | None = None
    existing_rows_count: int | None = None
    manifest_length: int | None = None
    partitions: Sequence[FieldSummary] = ()

    @property
    def is_data(self) -> bool:
        """True if the manifest lists data files, False if it lists delete files."""
        return self.content == _DATA


# Field id and names of each field in files: first the name of the specification, then older names.
_FIELDS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "manifest_path": (500, ("manifest_path",)),
    "partition_spec_id": (502, ("partition_spec_id",)),
    "content": (517, ("content",)),
    "sequence_number": (515, ("sequence_number",)),
    "added_files_count": (504, ("added_files_count", "added_data_files_count")),
    "existing_files_count": (505, ("existing_files_count", "existing_data_files_count")),
    "added_rows_count": (512, ("added_rows_count",)),
    "existing_rows_count": (513, ("existing_rows_count",)),
    "manifest_length": (501, ("manifest_length",)),
    "partitions": (507, ("partitions",)),
}
_SUMMARY: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "contains_null": (509, ("contains_null",)),
    "contains_nan": (518, ("contains_nan",)),
    "lower_bound": (510, ("lower_bound",)),
    "upper_bound": (511, ("upper_bound",)),
}


def read_manifest_list(location: str, io: MetadataFiles) -> list[ListedManifest]:
    """Read all entries of a manifest list."""
    with wrapping_pyiceberg_errors(location):
        rows = read_avro(io.new_input(location).data)
        entries, position = [], 0
        for _ in range(rows.count):
            entry, position = value_at(rows.schema, rows.data, position)
            entries.append(_entry(entry))
        return entries


def _entry(entry: Mapping[Any, Any]) -> ListedManifest:
    fields = {name: value for name, value in _fields_by_name(entry, _FIELDS).items() if value is not None}
    partitions = [FieldSummary(**_fields_by_name(summary, _SUMMARY)) for summary in fields.pop("partitions", ())]
    integers = {name: int(value) for name, value in fields.items() if name != "manifest_path"}
    return ListedManifest(manifest_path=str(fields["manifest_path"]), partitions=partitions, **integers)


def _fields_by_name(record: Mapping[Any, Any], fields: Mapping[str, tuple[int, tuple[str, ...]]]) -> dict[str, Any]:
    """Return the fields of a record by name; None for a missing field."""
    return {
        name: next((record[key] for key in (field_id, *names) if key in record), None)
        for name, (field_id, names) in fields.items()
    }


def manifests_without_list(locations: Collection[str], io: MetadataFiles) -> list[ListedManifest]:
    """Return the manifests that a version 1 snapshot lists itself; the partition spec is in each manifest's header."""
    io.fetch(list(locations))
    manifests = []
    for location in locations:
        with wrapping_pyiceberg_errors(location):
            header = avro_header(io.new_input(location).data)
            manifests.append(ListedManifest(location, int(header.get(_SPEC_ID, b"0"))))
    return manifests


def listing(manifest: ListedManifest, specs: Collection[int], metadata_path: str) -> Listed:
    """Return the trusted part of a manifest's entry in the list. Raises MalformedFile for an unknown partition spec."""
    if manifest.partition_spec_id not in specs:
        raise MalformedFile(
            f"{metadata_path}: {manifest.manifest_path} has a partition spec that does not exist; it is damaged"
        )
    files = _plausible_sum(manifest.added_files_count, manifest.existing_files_count, _MOST_FILES)
    rows = _plausible_sum(manifest.added_rows_count, manifest.existing_rows_count, _MOST_ROWS)
    return Listed(manifest.manifest_path, manifest.partition_spec_id, manifest.sequence_number or 0, files, rows)


def with_plausible_counts(listed: Sequence[Listed]) -> list[Listed]:
    """Drop file counts if their sum is implausible."""
    if sum(manifest.files or 0 for manifest in listed) <= _MOST_FILES:
        return list(listed)
    return [manifest._replace(files=None, rows=None) for manifest in listed]


def _plausible_sum(added: int | None, existing: int | None, most: int) -> int | None:
    if added is None or existing is None or not (0 <= added <= most and 0 <= existing <= most):
        return None
    return added + existing
