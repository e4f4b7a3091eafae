"""Delete files as listed in manifests. A manifest of delete files is read whole, because there are few delete files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prune_assets.tables.iceberg.manifests import manifest as m
from prune_assets.tables.iceberg.manifests.avro_file import value_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prune_assets.tables.iceberg.manifests.manifest import Listed

POSITIONS, EQUALITY = 1, 2
_REFERENCED, _OFFSET, _LENGTH = 143, 144, 145


class DeleteFile(NamedTuple):
    """A delete file.

    `content`: POSITIONS or EQUALITY.
    `sequence`: sequence number of its commit.
    `referenced`: the only data file to which it applies. None if unknown.
    `offset`, `length`: position of a deletion vector in a Puffin file.
    """

    content: int
    file_path: str
    file_format: str
    spec_id: int
    partition: tuple[Any, ...]
    sequence: int
    lower_bounds: Mapping[int, bytes]
    upper_bounds: Mapping[int, bytes]
    record_count: int = 0
    referenced: str | None = None
    offset: int | None = None
    length: int | None = None

    @property
    def is_vector(self) -> bool:
        """True for a deletion vector (version 3 of the format)."""
        return self.file_format.upper() == "PUFFIN"


def delete_files(listed: Listed, packed: bytes, spec: Sequence[int]) -> list[DeleteFile]:
    """Read a manifest of delete files."""
    located = m.locate_fields(packed, listed, spec, [])
    rows, deletes, position = located.rows, [], 0
    partition = m.partition_columns(located, np.arange(rows.count), len(spec))
    for i in range(rows.count):
        entry, position = value_at(rows.schema, rows.data, position)
        if entry[m.STATUS] != m.DELETED:
            values = tuple(m.ABSENT if column is None else column[i] for column in partition)
            deletes.append(_delete(listed, entry[m.DATA_FILE], entry.get(m.SEQUENCE), values))
    return deletes


def _delete(listed: Listed, file: Mapping[int, Any], sequence: int | None, partition: tuple[Any, ...]) -> DeleteFile:
    return DeleteFile(
        content=int(file[m.CONTENT]),
        file_path=str(file[m.PATH]),
        file_format=str(file[m.FORMAT]),
        spec_id=listed.spec,
        partition=partition,
        sequence=listed.sequence if sequence is None else int(sequence),
        lower_bounds=file.get(m.LOWER) or {},
        upper_bounds=file.get(m.UPPER) or {},
        record_count=int(file[m.RECORDS]),
        referenced=file.get(_REFERENCED),
        offset=file.get(_OFFSET),
        length=file.get(_LENGTH),
    )


def only_file(delete: DeleteFile) -> str | None:
    """Return the only data file to which position deletes apply; None if their manifest entry does not state it."""
    if delete.referenced is not None:
        return delete.referenced
    low, high = delete.lower_bounds.get(_FILE_PATH), delete.upper_bounds.get(_FILE_PATH)
    return low.decode(errors="replace") if low is not None and low == high else None


# Field id of the `file_path` column in position delete files.
_FILE_PATH = 2147483546
