"""The actions of a commit, field names as in the protocol. What is absent stays None: an absent count is not 0.

Reading takes the fields that it needs and passes others over. What is written again must not lose them: `FullAdd`,
`FullRemove` and `FullLine` have all that the protocol has.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

# Numbers beyond these are damage: they are added up and kept as 64 bits.
_MAX_INT64 = (1 << 63) - 1
Count = Annotated[int, msgspec.Meta(ge=0, le=_MAX_INT64)]
Version = Annotated[int, msgspec.Meta(le=1 << 31)]
Path = Annotated[str, msgspec.Meta(min_length=1)]


class DeletionVector(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where the deleted rows of a file are listed; `storageType`: `u`, `i` or `p`."""

    storage_type: Literal["u", "p", "i"]
    path_or_inline_dv: str
    size_in_bytes: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
    cardinality: Count
    offset: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] | None = None

    @property
    def identity(self) -> str:
        """What tells two deletion vectors of one path apart."""
        location = self.storage_type + self.path_or_inline_dv
        return location if self.offset is None else f"{location}@{self.offset}"


class Add(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A file that is part of the table. `stats` is JSON in a string, and anything else where a writer errs."""

    path: Path
    size: Count
    partition_values: dict[str, str | None] | None = None
    modification_time: Annotated[int, msgspec.Meta(ge=-_MAX_INT64 - 1, le=_MAX_INT64)] = 0
    stats: object = None
    deletion_vector: DeletionVector | None = None


class RecordCount(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The one entry of statistics that row ids and deletion vectors need."""

    num_records: int


class Remove(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A file that is no longer part of the table; without a timestamp it expired long ago."""

    path: Path
    deletion_timestamp: int | None = None
    deletion_vector: DeletionVector | None = None


class Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The table itself; `schemaString` is JSON. `format` says how its files are encoded, and is handed on alone."""

    id: str = ""
    name: str | None = None
    description: str | None = None
    schema_string: str | None = None
    partition_columns: list[str] = []
    configuration: dict[str, str | None] | None = None
    created_time: int | None = None
    format: Any = None


class Protocol(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a reader and a writer must understand; the features are listed from versions 3 and 7 on."""

    min_reader_version: Version
    min_writer_version: Version
    reader_features: list[str] | None = None
    writer_features: list[str] | None = None


class Transaction(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How far an application has written, by its own count."""

    app_id: str
    version: int
    last_updated: int | None = None


class DomainMetadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Configuration of a feature, by its domain; `removed` is its tombstone."""

    domain: str
    configuration: str = ""
    removed: bool = False


class CheckpointMetadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The head of a v2 checkpoint."""

    version: int


class Sidecar(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A file of a v2 checkpoint that holds its file actions."""

    path: str
    size_in_bytes: int | None = None


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line of a commit: at most one of these is there; `cdc` and what is unknown say nothing about files."""

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
    """Tell whether a number is one of 64 bits that is not negative.

    >>> [fits(number) for number in (0, -1, 1 << 63)]
    [True, False, False]
    """
    return 0 <= number <= _MAX_INT64


class FullAdd(Add, frozen=True, gc=False, rename="camel"):
    """A file that is part of the table."""

    data_change: bool = True
    tags: dict[str, str | None] | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None


class FullRemove(Remove, frozen=True, gc=False, rename="camel"):
    """A file that is no longer part of the table."""

    data_change: bool = True
    extended_file_metadata: bool | None = None
    partition_values: dict[str, str | None] | None = None
    size: int | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None


class FullLine(Line, frozen=True, gc=False):
    """A line of a commit or of a checkpoint in JSON."""

    add: FullAdd | None = None
    remove: FullRemove | None = None
    meta_data: Metadata | None = msgspec.field(default=None, name="metaData")
    protocol: Protocol | None = None
    txn: Transaction | None = None
    domain_metadata: DomainMetadata | None = msgspec.field(default=None, name="domainMetadata")
    checkpoint_metadata: CheckpointMetadata | None = msgspec.field(default=None, name="checkpointMetadata")
    sidecar: Sidecar | None = None
