"""The list of manifests of a snapshot: where each is, and what it says of the files in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import MalformedFile
from prune_assets.tables.iceberg.manifests.manifest import Listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyiceberg.manifest import ManifestFile
    from pyiceberg.table.snapshots import Snapshot

    from prune_assets.tables.iceberg.metadata_files import MetadataFiles

# More files than this are not believed to be there before they are seen.
_MOST_FILES = 1 << 26
_MOST_ROWS = 1 << 60


def listed_manifests(snapshot: Snapshot | None, io: MetadataFiles) -> tuple[list[ManifestFile], list[ManifestFile]]:
    """Return the manifests of data and those of deletes."""
    if snapshot is None:
        return [], []
    from pyiceberg.manifest import ManifestContent, read_manifest_list

    manifests = list(read_manifest_list(io.new_input(snapshot.manifest_list)))
    data = [one for one in manifests if one.content == ManifestContent.DATA]
    return data, [one for one in manifests if one.content != ManifestContent.DATA]


def listing(one: ManifestFile, widths: Mapping[int, int], place: str) -> Listed:
    """Return what the list says of a manifest, as far as it can be."""
    if one.partition_spec_id not in widths:
        raise MalformedFile(f"{place}: {one.manifest_path} is of a partition spec that is not there; it is damaged")
    files = _sum(one.added_files_count, one.existing_files_count, _MOST_FILES)
    rows = _sum(one.added_rows_count, one.existing_rows_count, _MOST_ROWS)
    return Listed(one.manifest_path, one.partition_spec_id, one.sequence_number or 0, files, rows)


def with_believable_counts(listed: Sequence[Listed]) -> list[Listed]:
    """Believe no count where they are too many to be true."""
    if sum(one.files or 0 for one in listed) <= _MOST_FILES:
        return list(listed)
    return [one._replace(files=None, rows=None) for one in listed]


def _sum(added: int | None, existing: int | None, most: int) -> int | None:
    if added is None or existing is None or not (0 <= added <= most and 0 <= existing <= most):
        return None
    return added + existing
