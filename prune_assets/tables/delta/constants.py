"""What the log says of all rows of a file: values of partition columns, and its deletion vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prune_assets.tables.delta.reading import live_files, partition_names
from prune_assets.tables.table import FileConstants

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from deltalog.log.actions import DeletionVector
    from parquet_core.dataset.metadata_index import MetadataIndex
    from prune_assets.tables.delta.table import DeltaTable


class VectorOfFile(NamedTuple):
    """A deletion vector; `table`, `allow`: where the table lies and what its log may name."""

    vector: DeletionVector
    table: str
    allow: tuple[str, ...]

    def read(self) -> NDArray[np.int64]:
        """Return the numbers of the deleted rows, which ascend."""
        from deltalog.log.deletion_vectors import read_vector

        found = read_vector(self.vector, self.table, allow=self.allow)
        return np.sort(np.asarray(found.to_array()).astype(np.int64))


def constants_of(
    table: DeltaTable, index: MetadataIndex, files: Sequence[int], names: Collection[str]
) -> list[FileConstants]:
    """Return the constants that the log has for files, by their indices in ascending order."""
    from deltalog.stats.partition_values import partition_value

    snapshot = table.snapshot
    columns = {column.partition: column for column in snapshot.schema.columns if column.partition}
    keys = partition_names(table)
    known: dict[tuple[str, str | None], pa.Scalar | None] = {}
    constants = []
    for file in live_files(table, index, files):
        values, unknown = {}, {}
        for key, text in zip(keys, file.values, strict=True):
            name = columns[key].leaf.path[0]
            if name not in names:
                continue
            if (key, text) not in known:
                known[key, text] = partition_value(columns[key], text)
            value = known[key, text]
            if value is None:
                unknown[name] = f"the meaning of the partition value {text!r} depends on the session"
            else:
                values[name] = value
        deleted = None if file.vector is None else VectorOfFile(file.vector, snapshot.table, tuple(snapshot.allow))
        constants.append(FileConstants(values, unknown, deleted))
    return constants
