"""Write checkpoints in batches, so that a table of a million files needs the memory of a few thousand."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_core.errors import StorageFailure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

# Readers skip row groups, and hold one in memory at a time.
ROWS_OF_A_GROUP = 1 << 15
_CODECS = {"none": "none", "uncompressed": "none", "snappy": "snappy", "gzip": "gzip", "lz4_raw": "lz4", "zstd": "zstd"}
_CODEC = "delta.parquet.compression.codec"
# Columns with few distinct values; other columns have a new value in every row.
_REPEATED = ("key_value", "partitionValues_parsed", "storageType", "clusteringProvider", "dataChange", "tightBounds")
# Long texts that readers never filter by.
_WITHOUT_BOUNDS = frozenset({"add.stats", "metaData.schemaString", "domainMetadata.configuration"})


class CheckpointWriter:
    """Context manager that writes rows of actions to a local Parquet file."""

    def __init__(self, path: str, columns: Mapping[str, pa.DataType], properties: Mapping[str, str]) -> None:
        self.actions = self.adds = 0
        self._path = path
        self._schema = pa.schema([pa.field(name, arrow_type) for name, arrow_type in columns.items()])
        self._waiting: deque[pa.RecordBatch] = deque()
        self._rows = 0
        leaves = list(_leaf_paths(self._schema))
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression=_CODECS.get(properties.get(_CODEC, "zstd").lower(), "zstd"),
            use_dictionary=[leaf for leaf in leaves if any(part in leaf.split(".") for part in _REPEATED)],
            write_statistics=[leaf for leaf in leaves if leaf not in _WITHOUT_BOUNDS],
            store_schema=False,
            store_decimal_as_integer=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error_type is None:
            self.end_group()
        self.close()

    def close(self) -> None:
        """Close the file; discards rows that are not written yet."""
        self._writer.close()

    def write(self, name: str, actions: pa.StructArray) -> None:
        """Add rows of one kind of action; the columns of other kinds are null."""
        if len(actions) == 0:
            return
        columns = [actions if field.name == name else pa.nulls(len(actions), field.type) for field in self._schema]
        self._waiting.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._rows += len(actions)
        self.actions += len(actions)
        self.adds += len(actions) if name == "add" else 0
        if self._rows >= ROWS_OF_A_GROUP:
            self.end_group()

    def end_group(self) -> None:
        """Write the waiting rows as a row group."""
        if self._rows:
            table = pa.Table.from_batches(list(self._waiting), self._schema)
            self._writer.write_table(table, row_group_size=2 * ROWS_OF_A_GROUP)
            self._waiting.clear()
            self._rows = 0

    def check(self) -> None:
        """Raise StorageFailure if the closed file has fewer or more rows than were written."""
        rows = pq.read_metadata(self._path).num_rows
        if rows != self.actions:
            raise StorageFailure(f"{self._path}: {rows} rows instead of {self.actions}; check the disk")


def _leaf_paths(schema: pa.Schema) -> Any:
    for field in schema:
        yield from _below(field.name, field.type)


def _below(path: str, arrow_type: pa.DataType) -> Any:
    if pa.types.is_struct(arrow_type):
        for field in arrow_type:
            yield from _below(f"{path}.{field.name}", field.type)
    elif pa.types.is_map(arrow_type):
        yield f"{path}.key_value.key"
        yield f"{path}.key_value.value"
    elif pa.types.is_list(arrow_type):
        yield f"{path}.list.element"
    else:
        yield path
