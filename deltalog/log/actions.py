"""Actions of a commit, with the field names of the protocol; absent fields are None.

An absent count is not 0. Reading decodes only the fields it needs. `FullAdd`, `FullRemove` and `FullLine` have all
fields of the protocol, because rewritten actions must not lose any.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

# Larger numbers are damage, and would overflow the 64-bit integers of sums and arrays.
_MAX_INT64 = (1 << 63) - 1
Count = Annotated[int, msgspec.Meta(ge=0, le=_MAX_INT64)]
Version = Annotated[int, msgspec.Meta(le=1 << 31)]
Path = Annotated[str, msgspec.Meta(min_length=1)]


class DeletionVector(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Location of a file's deletion vector.

    `storage_type`: `i` inline, `u` a file named by a UUID, `p` a file named by an absolute path.
    `cardinality`: number of deleted rows.
    `offset`: start in the file; None for an inline vector.
    """

    storage_type: Literal["u", "p", "i"]
    path_or_inline_dv: str
    size_in_bytes: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
    cardinality: Count
    offset: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] | None = None

    @property
    def identity(self) -> str:
        """Identity of the deletion vector within its file's path."""
        location = self.storage_type + self.path_or_inline_dv
        return location if self.offset is None else f"{location}@{self.offset}"


class Add(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A file of the table.

    `stats`: JSON as a string; faulty writers give other values.
    """

    path: Path
    size: Count
    partition_values: dict[str, str | None] | None = None
    modification_time: Annotated[int, msgspec.Meta(ge=-_MAX_INT64 - 1, le=_MAX_INT64)] = 0
    stats: object = None
    deletion_vector: DeletionVector | None = None


class RecordCount(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The record count of statistics, needed for row ids and deletion vectors."""

    num_records: int


class Remove(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A removed file; without a timestamp, its retention has ended."""

    path: Path
    deletion_timestamp: int | None = None
    deletion_vector: DeletionVector | None = None


class Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Metadata of the table.

    `schema_string`: the schema as JSON.
    `format`: encoding of the files; copied to new actions, but not interpreted.
    """

    id: str = ""
    name: str | None = None
    description: str | None = None
    schema_string: str | None = None
    partition_columns: list[str] = []
    configuration: dict[str, str | None] | None = None
    created_time: int | None = None
    format: Any = None


class Protocol(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Requirements for readers and writers.

    Reader version 3 and writer version 7 list their features; older versions imply them.
    """

    min_reader_version: Version
    min_writer_version: Version
    reader_features: list[str] | None = None
    writer_features: list[str] | None = None


class Transaction(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Latest version that an application has committed; the application numbers its versions itself."""

    app_id: str
    version: int
    last_updated: int | None = None


class DomainMetadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Configuration of one domain.

    `removed`: True if the domain was removed.
    """

    domain: str
    configuration: str = ""
    removed: bool = False


class CheckpointMetadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Header of a v2 checkpoint."""

    version: int


class Sidecar(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A file with file actions of a v2 checkpoint."""

    path: str
    size_in_bytes: int | None = None


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line of a commit, with at most one field set.

    Unknown actions are ignored. The `cdc` action is ignored too, because it does not change the live files.
    """

    add: Add | None = None
    remove: Remove | None = None
    meta_data: Metadata | None = msgspec.field(default=None, name="metaData")
    protocol: Protocol | None = None
    txn: Transaction | None = None
    domain_metadata: DomainMetadata | None = msgspec.field(default=None, name="domainMetadata")
    commit_info: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="commitInfo")
    checkpoint_metadata: CheckpointMetadata | None = msgspec.field(default=None, name="checkpointMetadata")
    sidecar: Sidecar | None = None


def fits(number: int) -> bool:
    """True if a number is a non-negative signed 64-bit integer.

    >>> [fits(number) for number in (0, -1, 1 << 63)]
    [True, False, False]
    """
    return 0 <= number <= _MAX_INT64


class FullAdd(Add, frozen=True, gc=False, rename="camel"):
    """A file of the table, with all fields of the protocol."""

    data_change: bool = True
    tags: dict[str, str | None] | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None


class FullRemove(Remove, frozen=True, gc=False, rename="camel"):
    """A removed file, with all fields of the protocol."""

    data_change: bool = True
    extended_file_metadata: bool | None = None
    partition_values: dict[str, str | None] | None = None
    size: int | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None


class FullLine(Line, frozen=True, gc=False):
    """A JSON line of a commit or checkpoint, with all protocol fields."""

    add: FullAdd | None = None
    remove: FullRemove | None = None
    meta_data: Metadata | None = msgspec.field(default=None, name="metaData")
    protocol: Protocol | None = None
    txn: Transaction | None = None
    domain_metadata: DomainMetadata | None = msgspec.field(default=None, name="domainMetadata")
    checkpoint_metadata: CheckpointMetadata | None = msgspec.field(default=None, name="checkpointMetadata")
    sidecar: Sidecar | None = None
