"""A version of a table: its files, its metadata, and what reading it took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deltalog.errors import MalformedLog
from deltalog.log.path_fingerprints import fingerprints
from deltalog.log.replay import Tail
from deltalog.table.features import check_readable
from deltalog.table.schema import read_schema
from parquet_core.arrow_arrays import from_numpy

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from deltalog.log.actions import Metadata, Protocol, Transaction
    from deltalog.log.checkpoint_file import CheckpointFile
    from deltalog.log.file_block import FileBlock
    from deltalog.log.listing import LogListing, Segment
    from deltalog.log.path_fingerprints import Fingerprints
    from deltalog.snapshot.write_cache import CachedSnapshot
    from deltalog.table.schema import TableSchema
    from parquet_core.storage import DataFile, Traffic

_MAPPING = "delta.columnMapping.mode"
# What a table has whose metaData says nothing of its columns.
_NO_COLUMNS = '{"type":"struct","fields":[]}'


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of a table, as `open_snapshot` returns it.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> written = deltalog.write_table(table, pa.table({"id": [1, 2, 3]}))
    >>> snapshot = deltalog.open_snapshot(table)
    >>> snapshot.version, snapshot.file_count, len(snapshot.paths())
    (0, 1, 1)

    `blocks`: the live files; positions over all of them count from 0 in their order.
    `notes`: what was found wrong with the log on the way and did not matter for the files.
    `opened`: the files of the log that were read. `allow`: where files may lie other than below the table.
    """

    table: str
    version: int
    protocol: Protocol
    metadata: Metadata
    schema: TableSchema
    properties: dict[str, str]
    transactions: dict[str, Transaction]
    domains: dict[str, str]
    blocks: tuple[FileBlock, ...]
    listing: LogListing
    segment: Segment
    notes: tuple[str, ...]
    opened: tuple[DataFile, ...]
    traffic: Traffic
    seconds: float
    allow: tuple[str, ...] = ()
    _tail: Tail = field(default_factory=Tail)
    _marks: tuple[Fingerprints, ...] = ()
    _checkpoint: tuple[CheckpointFile, ...] = ()
    _cached: CachedSnapshot | None = None

    @property
    def file_count(self) -> int:
        """How many files are live."""
        return sum(map(len, self.blocks))

    @property
    def total_bytes(self) -> int:
        """How many bytes they have, as the log says."""
        return sum(int(block.size.sum()) for block in self.blocks)

    def paths(self, kept: NDArray[np.bool_] | None = None) -> list[str]:
        """Return canonical paths, of the files that are kept."""
        return [path for array in self._each_path(kept) for path in array.to_pylist()]

    def _each_path(self, kept: NDArray[np.bool_] | None) -> list[pa.Array]:
        if kept is None:
            return [block.path for block in self.blocks]
        ends = np.cumsum([len(block) for block in self.blocks])[:-1]
        parts = np.split(kept, ends) if self.blocks else []
        return [block.path.filter(from_numpy(part)) for block, part in zip(self.blocks, parts, strict=True)]

    def settle(self) -> None:
        """Let what was found of statistics be known to who asks next."""
        if self._cached is not None:
            self._cached.store.settle()

    def save(self) -> None:
        """Keep on disk what was read since the last time, where there is a cache."""
        if self._cached is not None:
            self._cached.save(self)

    def marks(self) -> tuple[Fingerprints, ...]:
        """Return the fingerprints of the paths, block by block."""
        if len(self._marks) == len(self.blocks):
            return self._marks
        return tuple(fingerprints(block.path) for block in self.blocks)


class SnapshotMetadata(NamedTuple):
    """What a log says of a table beside its files."""

    protocol: Protocol
    metadata: Metadata
    schema: TableSchema
    properties: dict[str, str]
    transactions: dict[str, Transaction]
    domains: dict[str, str]


def describe(tail: Tail, location: str) -> SnapshotMetadata:
    """Return the description of a table; raises UnsupportedTable, and MalformedLog if an action is missing."""
    if tail.protocol is None:
        raise MalformedLog(f"{location}: the log has no protocol action; it is not whole")
    check_readable(tail.protocol, location=location)
    if tail.metadata is None:
        raise MalformedLog(f"{location}: the log has no metaData action; it is not whole")
    properties = {key: value for key, value in (tail.metadata.configuration or {}).items() if value is not None}
    schema = read_schema(
        _NO_COLUMNS if tail.metadata.schema_string is None else tail.metadata.schema_string,
        partition_columns=tail.metadata.partition_columns,
        mapping=properties.get(_MAPPING, "none").lower(),
        location=location,
    )
    domains = {name: domain.configuration for name, domain in tail.domains.items() if not domain.removed}
    return SnapshotMetadata(tail.protocol, tail.metadata, schema, properties, tail.transactions, domains)
